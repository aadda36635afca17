#include "models/program/streams.hpp"

namespace foreshard {

std::string_view name(StreamRole role) {
  static constexpr std::string_view kNames[] = {"compute", "communication", "copy"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(StreamRole::kCount));
  return kNames[static_cast<std::size_t>(role)];
}

std::span<const StreamInfo> fsdp2_streams() {
  using enum StreamRole;
  // FSDP2 creates those of the all-gather and the reduce-scatter with high priority.
  static const StreamInfo kStreams[] = {
      {"compute", compute, 0},           {"all_gather_copy_in", communication, -1},
      {"all_gather", communication, -1}, {"reduce_scatter", communication, -1},
      {"all_reduce", communication, 0},  {"host_to_device", copy, 0},
      {"device_to_host", copy, 0},
  };
  return kStreams;
}

}  // namespace foreshard
