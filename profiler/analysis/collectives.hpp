// Costs of collectives: exposed time, bandwidth, and time that ranks lose waiting for each other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/program/operators.hpp"
#include "traces/trace.hpp"

namespace foreshard::profiler {

// The collectives of one name and size for one FSDP unit and process group, over all ranks. Where two collectives of a rank run
// at once, the exposed time they share counts for the one that began first, so that the exposed times
// of a rank add up to its exposed communication (analysis.hpp).
struct CollectiveCost {
  std::string name;
  std::string unit;
  std::string group;  // process group and its ranks, as recorded; empty: none is named
  CostKey key;        // operation, bytes of the whole buffer and ranks; kCount: not recorded
  std::int64_t count = 0;
  std::int64_t bytes = 0;  // of all of them, where the trace has it
  std::int64_t total_ns = 0;
  std::int64_t exposed_ns = 0;
  // Of those that all ranks of their group have: the rank that came last waited for nobody, so its time is that of
  // the transfer.
  std::int64_t matched = 0;
  std::int64_t transfer_ns = 0;
};

// As models/program/bus_bandwidth.hpp has them, from the time of the transfers where any is known and otherwise from
// the whole time, in which waits are.
struct CollectiveBandwidth {
  double algorithm_gb_s = 0, bus_gb_s = 0;
};

// None where the size is not recorded, or one rank sends nothing.
std::optional<CollectiveBandwidth> bandwidth(const CollectiveCost& cost);

// Sums of the collectives that are alike in operation, group and size, those of the longest total time first. Those
// of unknown size are left out.
std::vector<CollectiveCost> by_size(const std::vector<CollectiveCost>& costs);

// Sums by name and unit, the most exposed first.
std::vector<CollectiveCost> by_unit(const std::vector<CollectiveCost>& costs);

// The most exposed first.
std::vector<CollectiveCost> collective_costs(const traces::Trace& trace);

// A collective ends on all ranks together, so who stands in it longest came first and who leaves it
// soonest after coming kept the others waiting. Ranks' clocks need not agree for this.
struct RankWaits {
  std::int32_t rank = 0;
  std::int64_t collectives = 0;    // that could be matched on all ranks of their group
  std::int64_t waited_ns = 0;      // longer in them than the rank that came last
  std::int64_t arrived_last = 0;   // collectives
  std::int64_t median_lag_ns = 0;  // how much later than the first rank it typically came
};

// Of the collectives that the ranks of one process group have in common; without names, of all ranks.
struct GroupWaits {
  std::string name;
  std::vector<std::int32_t> ranks;  // empty: not known whole, and then taken to be all
  std::int64_t collectives = 0;     // matched or not
  std::map<std::int32_t, RankWaits> waits;
};

// How collectives match: traces/meaning/collectives.hpp. Those of ranks that the trace has not match none.
std::vector<GroupWaits> group_waits(const traces::Trace& trace);

// Sums over groups, by rank; the lag is that of the group in which the rank met others most.
std::vector<RankWaits> rank_waits(const std::vector<GroupWaits>& groups);

}  // namespace foreshard::profiler
