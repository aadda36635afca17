// The streams that a program issues work on: rows of a table that the program carries, so that a
// program recorded from somebody else's run has as many as that run had.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace foreshard {

// A row of RankProgram::streams. The named ones are the first rows of a table made by our own
// lowering, streams as in PyTorch FSDP2; in another program those rows may be anything.
enum class Stream : std::uint8_t {
  compute,
  all_gather_copy_in,
  all_gather,
  reduce_scatter,
  all_reduce,
  host_to_device,
  device_to_host
};

// What a stream is for. Kernels of a computing stream get all that a device has.
enum class StreamRole : std::uint8_t { compute, communication, copy, kCount };
std::string_view name(StreamRole role);

// Each stream has its own pool in the caching allocator.
struct StreamInfo {
  std::string name;
  StreamRole role = StreamRole::compute;
  int priority = 0;  // as CUDA counts: of work that is ready, a lower number's goes first

  bool operator==(const StreamInfo&) const = default;
};

// The table of FSDP2, in the order of Stream's names.
std::span<const StreamInfo> fsdp2_streams();

}  // namespace foreshard
