// Actions of a caching allocator, named as in PyTorch's recordings.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace foreshard::traces {

enum class AllocatorAction : std::uint8_t {
  // As PyTorch's memory snapshot has them.
  alloc,
  free_requested,
  free_completed,
  segment_alloc,
  segment_free,
  segment_map,
  segment_unmap,
  oom,
  // From outside the allocator, which recordings do not contain.
  empty_cache,   // the program requested it
  device_full,   // the driver refused the next segment
  release_pool,  // the last user of a private pool is gone
};

constexpr std::array<std::string_view, 11> kAllocatorActions{
    "alloc",        "free_requested", "free_completed", "segment_alloc",
    "segment_free", "segment_map",    "segment_unmap",  "oom",
    "empty_cache",  "device_full",    "release_pool"};

constexpr std::optional<AllocatorAction> allocator_action(std::string_view word) {
  const auto found = std::find(kAllocatorActions.begin(), kAllocatorActions.end(), word);
  if (found == kAllocatorActions.end()) return std::nullopt;
  return static_cast<AllocatorAction>(found - kAllocatorActions.begin());
}

constexpr bool is_external_event(AllocatorAction action) {
  return action >= AllocatorAction::empty_cache;
}
constexpr bool reserves(AllocatorAction action) {
  return action == AllocatorAction::segment_alloc || action == AllocatorAction::segment_map;
}
constexpr bool releases(AllocatorAction action) {
  return action == AllocatorAction::segment_free || action == AllocatorAction::segment_unmap;
}

}  // namespace foreshard::traces
