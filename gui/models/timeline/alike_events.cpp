#include "gui/models/timeline/alike_events.hpp"

#include <algorithm>
#include <unordered_map>

#include "gui/models/base/in_parallel.hpp"
#include "gui/models/timeline/lane_events.hpp"

namespace foreshard::gui {
namespace {

struct TraitHash {
  std::size_t operator()(const AlikeEvents::Trait& trait) const {
    auto hash = static_cast<std::uint64_t>(static_cast<std::uint32_t>(trait.step));
    hash = (hash << 32) | static_cast<std::uint32_t>(trait.name);
    hash ^= static_cast<std::uint64_t>(trait.kind) << 27;
    hash *= 0x9E3779B97F4A7C15U;  // the golden ratio: spreads neighbours
    return static_cast<std::size_t>(hash ^ (hash >> 29));
  }
};

}  // namespace

AlikeEvents::AlikeEvents(const traces::Trace& trace)
    : order_(trace.events.size()), of_lane_(trace.lanes.size()) {
  in_parallel(trace.lanes.size(), [&](std::size_t lane) { add_lane(trace, lane); });
}

// Counts the events of each trait, and then puts every event into its trait's place.
void AlikeEvents::add_lane(const traces::Trace& trace, std::size_t lane) {
  const LaneEvents events = events_of(trace, static_cast<std::int32_t>(lane));
  std::unordered_map<Trait, std::size_t, TraitHash> known;
  std::vector<Group>& groups = of_lane_[lane];
  for (std::size_t n = events.first; n < events.end; ++n) {
    const Trait trait = trait_of(trace.events[n]);
    const auto [place, is_new] = known.try_emplace(trait, groups.size());
    if (is_new) groups.push_back({trait, 0, 0});
    ++groups[place->second].end;  // the count, until places are known
  }
  std::sort(groups.begin(), groups.end(),
            [](const Group& a, const Group& b) { return a.trait < b.trait; });
  std::size_t next = events.first;
  for (std::size_t n = 0; n < groups.size(); ++n) {
    Group& group = groups[n];
    known[group.trait] = n;
    const std::size_t count = group.end;
    group.first = group.end = next;
    next += count;
  }
  for (std::size_t n = events.first; n < events.end; ++n) {
    Group& group = groups[known.find(trait_of(trace.events[n]))->second];
    order_[group.end++] = static_cast<std::int32_t>(n);
  }
}

std::span<const std::int32_t> AlikeEvents::of(std::int32_t lane, const Trait& trait) const {
  const std::vector<Group>& groups = of_lane_[static_cast<std::size_t>(lane)];
  const auto found = std::lower_bound(
      groups.begin(), groups.end(), trait,
      [](const Group& group, const Trait& wanted) { return group.trait < wanted; });
  if (found == groups.end() || found->trait != trait) return {};
  return std::span(order_).subspan(found->first, found->end - found->first);
}

std::vector<AlikeEvents::Trait> AlikeEvents::traits(std::int32_t lane, std::int32_t step) const {
  std::vector<Trait> traits;
  for (const Group& group : of_lane_[static_cast<std::size_t>(lane)]) {
    if (group.trait.step == step) traits.push_back(group.trait);
  }
  return traits;
}

}  // namespace foreshard::gui
