// A trace: what happened in a run, or what is predicted to happen. Measured and predicted traces are
// the same type in the same file format (`.fst`, see fst_file.hpp).
//
// Flat arrays of plain records; text is interned in `strings`, records hold indices into it. Times
// are nanoseconds on one clock for all ranks, counted from the start of the run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/program/cost_source.hpp"

namespace foreshard::traces {

using StringId = std::int32_t;
constexpr std::int32_t kNone = -1;

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

// What an event is; the categories of Holistic Trace Analysis plus those of a host.
enum class EventKind : std::uint8_t {
  range,          // a named range: an annotation, a step of the profiler
  host,           // host work: issuing an instruction, an operator of the framework
  host_wait,      // the host blocked
  compute,        // device: a kernel
  communication,  // device: a collective
  memory,         // device: a copy or a fill
  wait,           // device: a stream waits for an event
  host_compute,   // the host's own arithmetic, such as an offloaded optimizer
  runtime,        // a call of the device's runtime or driver
  stack,          // a function of the program itself, such as one of Python's
  kCount
};
std::string_view name(EventKind kind);

// Whether the device does something, rather than waits: what busy and idle time are made of.
constexpr bool is_device_work(EventKind kind) {
  return kind == EventKind::compute || kind == EventKind::communication ||
         kind == EventKind::memory;
}

struct Event {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t cpu_ns = -1;  // processor time of the executing thread(s), -1 where unknown
  std::int32_t lane = 0;
  std::int32_t step = 0;
  EventKind kind = EventKind::host;
  CostSource cost_source = CostSource::none;  // of a prediction: where its time comes from
  std::int16_t micro_step = 0;
  StringId name = 0;  // operator, range or kernel
  StringId phase = 0;
  StringId unit = 0;
  StringId stable_key = 0;
  StringId cost_key = 0;             // text of a models CostKey, 0 when there is none
  std::int32_t instruction = kNone;  // comparable only between traces of equal program hash
  float cost_error = 0;              // relative standard deviation of that cost; 0: none is known
  std::int64_t bytes = 0;
  // Joins what was launched with the call that launched it, within a rank; 0: nothing to join. Our
  // own recordings join by step and instruction.
  std::int64_t correlation = 0;
};

enum class MemoryAction : std::uint8_t {
  alloc,
  free_requested,  // the block no longer counts as allocated
  free_completed,  // nor as active: every stream that used it has passed
  segment_alloc,   // reserved from the device
  segment_free,
  out_of_memory,  // `bytes` could not be had
  kCount
};
std::string_view name(MemoryAction action);

struct MemoryEvent {
  std::int64_t time_ns = 0;
  std::int32_t rank = 0;
  MemoryAction action = MemoryAction::alloc;
  bool on_host = false;
  std::int32_t step = 0;
  std::int64_t address = 0;
  std::int64_t bytes = 0;      // of the block or segment, as the allocator's statistics count it
  std::int64_t requested = 0;  // bytes requested
  std::int32_t lane = kNone;   // stream whose pool it is
  StringId category = 0;
  StringId owner = 0;  // "module path: role"
  StringId phase = 0;
  std::int32_t instruction = kNone;
  StringId stack = 0;  // the code that allocated, one frame a line, innermost first
};

// Start and end of one step on one rank, with what the step reported.
struct Step {
  std::int32_t rank = 0;
  std::int32_t step = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  double loss = 0, gradient_norm = 0;
};

struct Trace {
  Strings strings;
  std::vector<Lane> lanes;
  std::vector<Event> events;                    // by lane, then by start
  std::vector<MemoryEvent> memory;              // by rank, in the order they happened
  std::vector<Step> steps;                      // by rank, then by step
  std::map<std::string, std::string> metadata;  // metadata.hpp has the keys that are always there
  std::map<std::string, std::int64_t> dropped;  // records lost or left out, by reason
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
