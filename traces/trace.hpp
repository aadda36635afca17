// A trace: what happened in a run, or what is predicted to happen. Measured and predicted traces are
// the same type in the same file format (`.fst`, see fst_file.hpp).
//
// Lists of plain records; text is interned in `strings`, records hold indices into it. Times are
// nanoseconds on one clock for all ranks, counted from the start of the run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/counter.hpp"
#include "traces/event_list.hpp"

namespace foreshard::traces {

// Interned text: equal strings have equal ids, id 0 is the empty string.
class Strings {
 public:
  StringId intern(std::string_view text);
  const std::string& operator[](StringId id) const { return table_[static_cast<std::size_t>(id)]; }
  std::size_t size() const { return table_.size(); }

 private:
  std::vector<std::string> table_{""};
  std::unordered_map<std::string, StringId> index_{{"", 0}};
};

// Where work runs: a host thread or a device stream of one rank.
struct Lane {
  std::int32_t rank = 0;
  bool device = false;  // a stream; otherwise a host thread
  StringId name = 0;    // "host", "compute", "all_gather", ...
};

// Start and end of one step on one rank, with what the step reported. Steps count from 1.
struct Step {
  std::int32_t rank = 0;
  std::int32_t step = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  double loss = 0, gradient_norm = 0;
  StringId label = 0;  // what the recording calls it, where it has a name for it
  // When the rank's device was done with the step before, where the trace is a part without that step.
  std::optional<std::int64_t> device_start_ns = {};
};

// A range of time in which records were dropped, as far as it is known. Start and end are equal where
// only the moment of the recorder's report is known.
struct DroppedRange {
  std::int32_t rank = kNone;  // kNone: of any
  bool of_memory = false;     // the allocator's records; otherwise events
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t records = 0;  // at least
  bool operator==(const DroppedRange&) const = default;
};

struct Trace {
  Strings strings;
  std::vector<Lane> lanes;
  EventList events;                             // by lane, then by start
  MemoryEventList memory;                       // by rank, in the order they happened
  std::vector<Step> steps;                      // by rank, then by step
  std::map<std::string, std::string> metadata;  // metadata.hpp has the keys that are always there
  std::map<std::string, std::int64_t> dropped;  // records lost or left out, by reason
  std::vector<DroppedRange> dropped_ranges;     // by start
  std::vector<Counter> counters;                // by rank, in the order of the recording
  bool complete = true;
  std::int64_t complete_until_ns = 0;  // nothing that ended before this moment is missing
};

// Puts the arrays into the order that Trace promises; records of equal time keep theirs.
void sort(Trace& trace);

// One trace of the recordings several processes made of one run. Lanes and text are renumbered, and
// times counted from the first's origin where the parts share a clock. The metadata is the first's;
// it is complete if all are, until the earliest of their moments.
Trace merge(std::vector<Trace> parts);

}  // namespace foreshard::traces
