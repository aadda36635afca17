// Which events of different ranks are one collective. Where a recording names process groups, ranks of one group
// meet: in the collective of the same number, or without numbers in the one that comes as late. Where it names
// none, all ranks meet in collectives of one name or key, in order within a step.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "traces/trace.hpp"

namespace foreshard::traces {

// A process group as an event has it: "NAME [0, 1]", the ranks as text, which may be shortened.
struct ProcessGroup {
  std::string name;
  std::vector<std::int32_t> ranks;  // empty: not known whole
};
ProcessGroup process_group(const std::string& text);

// On how many nodes these ranks are, where each but the last is filled with so many; 0 of no ranks.
std::int64_t nodes_holding(const std::vector<std::int32_t>& ranks, std::int64_t ranks_per_node);

struct Collective {
  StringId group = 0;                           // 0: none is named
  std::map<std::int32_t, std::int32_t> events;  // of each rank, by index into Trace::events
};

// By group, then in order. One event a rank: more of one number are numbered on.
std::vector<Collective> collectives(const Trace& trace);

}  // namespace foreshard::traces
