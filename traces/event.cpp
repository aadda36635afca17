#include "traces/event.hpp"

#include <array>

namespace foreshard::traces {

std::string_view name(EventKind kind) {
  static constexpr std::array<std::string_view, static_cast<std::size_t>(EventKind::kCount)> kNames{
      "range",  "host", "host_wait",    "compute", "communication",
      "memory", "wait", "host_compute", "runtime", "stack"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name(MemoryAction action) {
  static constexpr std::array<std::string_view, static_cast<std::size_t>(MemoryAction::kCount)>
      kNames{"alloc",        "free_requested", "free_completed", "segment_alloc",
             "segment_free", "out_of_memory",  "outside_alloc",  "outside_free"};
  return kNames[static_cast<std::size_t>(action)];
}

}  // namespace foreshard::traces
