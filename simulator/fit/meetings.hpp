// Matches the collectives of different ranks, and computes how long each took.
//
// Ranks arrive at a collective at different times and the early ones wait inside it, so that what
// their recordings show is mostly waiting. The last to arrive does not wait: its time is the
// collective's own.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "traces/trace.hpp"

namespace foreshard::simulator {

struct Meeting {
  std::vector<const traces::Event*> members;  // of different ranks
  bool is_complete = false;                   // the whole group, of which the recording is proof
};

// The collectives from `first_step` on, which are those of the trace's events of which `group_size` is positive: the
// ranks that take part. Ranks meet at the same instruction of the same step; where a recording has
// none, at the same number in their process group, or at the same occurrence of equal work in the step. Where more ranks were recorded than the group
// has, groups are taken to be of consecutive ranks or of every so manieth, whichever makes their
// members end closer together. Members that did not run at the same time did not meet. Where not all
// `ranks` of the run were recorded, whoever met those that were may be missing: no group is complete.
std::vector<Meeting> meetings_of(
    const traces::Trace& trace, std::span<const traces::Event> events, std::int64_t ranks,
    std::int32_t first_step, const std::function<std::int64_t(const traces::Event&)>& group_size);

}  // namespace foreshard::simulator
