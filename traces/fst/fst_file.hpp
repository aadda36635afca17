// The `.fst` file: a trace as one SQLite database. Tables, with times in nanoseconds:
//
//   META_DATA_EXPORT (name, value)               metadata.hpp lists the names
//   StringIds        (id, value)
//   LANES            (id, rank, device, nameId)  device: 1 a stream, 0 a host thread
//   EVENT_RECORDS    (start, "end", laneId, step, factsId, cpu, correlation)
//   EVENT_FACTS      (id, kind, microStep, nameId, phaseId, unitId, stableKeyId, costKeyId,
//                     instruction, bytes, costSource, costError, groupId, sequence)
//                                              what events of one instruction have in common
//   MEMORY_RECORDS   (start, rank, action, step, address, bytes, factsId)
//   MEMORY_FACTS     (id, onHost, requested, laneId, categoryId, ownerId, phaseId, instruction,
//                     stackId)
//   STEPS            (rank, step, start, "end", loss, gradientNorm, labelId)
//   DROPPED          (reason, records)
//   DROPPED_RANGES   (rank, memory, start, "end", records)
//                                              when records were dropped, where that is known; rank -1: any
//   COUNTERS         (id, rank, nameId, unitId)
//   COUNTER_SAMPLES  (counterId, start, value)   the value holds until the counter's next sample
//   PACKED_RECORDS   (id, records)               see below; empty once a recording is finished
//   ENUM_EVENT_KIND, ENUM_MEMORY_ACTION, ENUM_COST_SOURCE (id, name)
//
// and views for plain SQL, with all ids spelt out: EVENTS (start, "end", duration, rank, lane,
// device, step, microStep, kind, name, phase, unit, stableKey, costKey, instruction, bytes, cpu,
// correlation, costSource, costError, processGroup, sequence) and MEMORY_EVENTS (start, rank, action, onHost, step, address,
// bytes, requested, pool, category, owner, phase, instruction, stack, id: the order in which they
// happened on a rank) and COUNTER_VALUES (start, "end": null of a counter's last, rank, counter, unit,
// value). QUERIES.md has examples. Queries written for Nsight Systems' export find their
// tables as views too: CUPTI_ACTIVITY_KIND_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
// CUPTI_ACTIVITY_KIND_RUNTIME, NVTX_EVENTS, CUDA_GPU_MEMORY_USAGE_EVENTS; there deviceId is the rank,
// streamId the lane.
//
// While a run is recorded, records stand in blobs of PACKED_RECORDS, some 10 bytes each: inserting
// rows would cost the run ten times as much. Closing turns them into rows. The file exists under its
// name from the moment its schema is committed; it is in WAL mode until it is closed, and then one
// portable file. read_fst reads both states, so a killed run loses only what was not yet committed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "models/base/error.hpp"
#include "traces/fst/packed_records.hpp"
#include "traces/import_options.hpp"
#include "traces/metadata.hpp"
#include "traces/program_attributes.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {

// Stands in the file's metadata as "format_version" (not in those of a trace that was read) and in its
// header as SQLite's user_version.
constexpr int kFormatVersion = 2;
// SQLite's application_id of every file that is written, "FShT": by it `file` and others can tell a
// trace from any other database. Files from before it was set have 0, and are read as well.
constexpr std::int32_t kApplicationId = 0x46536854;

// Writes a trace as it comes. Not for several threads at once. What fails in an append is remembered
// and returned by the next commit or close; appends after a failure are counted as dropped.
class FstWriter {
 public:
  // Fails before anything runs where the folder is missing or cannot be written.
  static Result<FstWriter> create(const std::string& path, const Metadata& metadata);
  FstWriter(FstWriter&&) noexcept;
  FstWriter& operator=(FstWriter&&) noexcept;
  ~FstWriter();  // without close(): the file stays as of the last commit, incomplete

  // Records' text and lanes are numbered by these.
  Strings& strings();
  std::int32_t add(const Lane& lane);
  std::int32_t add(const EventAttributes& attributes);  // equal attributes have one number
  std::int32_t add(const MemoryAttributes& attributes);

  void append(std::span<const Event> events);
  void append(std::span<const MemoryEvent> events);
  void append(std::span<const Step> steps);
  void append(std::span<const PackedRecord> records);
  void append(std::span<const DroppedRange> ranges);
  void append(std::span<const Counter> counters);              // all there will be
  void drop(const std::string& reason, std::int64_t records);  // adds to that reason's count
  void set(const std::string& key, const std::string& value);

  // Makes everything so far safe against the death of this process.
  Result<void> commit(std::int64_t complete_until_ns);

  // Marks the trace complete, unless it is not, and leaves one portable file. Turning packed records
  // into rows takes about a microsecond each.
  Result<void> close(std::int64_t complete_until_ns, bool is_complete = true);

 private:
  friend Result<void> write_fst(const std::string& path, const Trace& trace);

  struct State;
  explicit FstWriter(std::unique_ptr<State> state);
  // Goes on with the empty trace in `file`; `path` is the name under which it will be known.
  static Result<FstWriter> open(const std::string& file, const char* settings,
                                const std::string& path);
  std::unique_ptr<State> state_;
};

// The whole trace at once; the file appears when it is whole.
Result<void> write_fst(const std::string& path, const Trace& trace);

// Reads a trace, finished or not, and never writes to it or beside it unless SQLite needs its shared
// memory file there. Damaged rows are left out and counted in `dropped`; the trace is then incomplete.
Result<Trace> read_fst(const std::string& path, const ImportOptions& options = {});

// The first and the last step that a trace has, without reading what happened in them; nothing where it
// has no steps.
Result<std::optional<StepRange>> fst_steps(const std::string& path);

// A run of several processes writes one file each: the first under the run's name, the others here.
std::string part_path(const std::string& path, int process);

// Joins the closed parts of a run under its name and removes them. Needs all of them in memory.
Result<void> merge_parts(const std::string& path, int processes);

}  // namespace foreshard::traces
