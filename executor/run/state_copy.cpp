#include "executor/run/state_copy.hpp"

#include <algorithm>
#include <limits>

#include "executor/device/tags.hpp"

namespace foreshard::executor {
namespace {

std::int64_t bytes_of(const RankState::Value& value) {
  return value.shard->local * item_size(value.type);
}

}  // namespace

StateCopy::StateCopy(Device& device, const RankState& state) : device_(device), state_(state) {
  for (const RankState::Value& value : state.values()) {
    bytes_ += round_up(Bytes{bytes_of(value)}, Bytes{kHostAlignment});
  }
  if (bytes_.count > 0) memory_ = device.allocate_host(bytes_);
  const std::byte* at = memory_;
  for (const RankState::Value& value : state.values()) {
    const std::int64_t bytes = bytes_of(value);
    values_.push_back(
        {*value.shard, value.role, value.type, {at, static_cast<std::size_t>(bytes)}});
    at += round_up(bytes, kHostAlignment);
  }
}

StateCopy::~StateCopy() {
  if (memory_ != nullptr) device_.free_host(memory_, bytes_);
}

void StateCopy::take(const RankMemory& memory, std::int64_t step) {
  // Behind all of the step's instructions.
  const Tag tag = unreported(tag_of(step, std::numeric_limits<std::int32_t>::max()));
  std::byte* to = memory_;
  for (const RankState::Value& value : state_.values()) {
    const std::int64_t bytes = bytes_of(value);
    const std::span<std::byte> target(to, static_cast<std::size_t>(bytes));
    const std::byte* const from = memory.bytes(value.buffer).data();
    if (memory.buffer(value.buffer).on_host) {
      std::copy_n(from, bytes, to);
    } else if (bytes > 0) {
      device_.copy(Stream::compute, tag, target, from);
    }
    to += round_up(bytes, kHostAlignment);
  }
  device_.synchronize();
}

}  // namespace foreshard::executor
