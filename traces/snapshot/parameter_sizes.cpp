#include "traces/snapshot/parameter_sizes.hpp"

#include <algorithm>

namespace foreshard::traces {
ParameterSizes::ParameterSizes(const Snapshot& snapshot, int device, const StartState& start,
                               AllocationCauses& attributions) {
  Counts blocks, gathered, states;
  for (const SnapshotSegment& segment : start.segments) {
    for (const SnapshotBlock& block : segment.blocks) {
      if (block.use == SegmentState::Use::allocated && block.stack < 0) ++blocks[block.requested];
    }
  }
  const auto index = static_cast<std::size_t>(device);
  if (index >= snapshot.devices.size() || blocks.empty()) return;
  for (const SnapshotEvent& event : snapshot.devices[index]) {
    if (event.action != AllocatorAction::alloc || event.stack < 0) continue;
    const std::string_view category = attributions.of(event.stack).category;
    if (category == "optimizer_states") ++states[event.bytes];
    if (category != "unsharded_parameters") continue;
    if (attributions.gathers_first(event.stack)) ++gathered[event.bytes];
  }
  for (const auto& [bytes, count] : states) {
    const auto found = blocks.find(bytes);
    const bool are_parameters = found != blocks.end() && found->second <= count;
    if (are_parameters) kinds_[bytes] = {"parameters", "parameters with optimizer states"};
  }
  match_shards(gathered, blocks);
}

void ParameterSizes::match_shards(const Counts& gathered, const Counts& blocks) {
  if (gathered.empty() || gathered.rbegin()->first <= 0) return;
  const std::int64_t largest = gathered.rbegin()->first;
  for (auto shard = blocks.rbegin(); shard != blocks.rend(); ++shard) {
    if (shard->first <= 0 || largest % shard->first != 0) continue;
    const std::int64_t k = largest / shard->first;
    const bool fits = std::all_of(gathered.begin(), gathered.end(), [&](const auto& entry) {
      const auto found = entry.first % k == 0 ? blocks.find(entry.first / k) : blocks.end();
      return found != blocks.end() && found->second >= entry.second;
    });
    if (!fits) continue;
    for (const auto& [bytes, count] : gathered) {
      const bool are_parameters = blocks.at(bytes / k) == count;
      kinds_[bytes / k] =
          are_parameters ? Kind{"parameters", "sharded parameters"}
                         : Kind{"sharded state", "parameters, with gradients or optimizer states"};
    }
    return;
  }
}

std::string_view ParameterSizes::category(std::int64_t requested) const {
  const auto kind = kinds_.find(requested);
  return kind == kinds_.end() ? kBeforeRecording : kind->second.category;
}

std::string_view ParameterSizes::owner(std::int64_t requested) const {
  const auto kind = kinds_.find(requested);
  return kind == kinds_.end() ? std::string_view() : kind->second.owner;
}

}  // namespace foreshard::traces
