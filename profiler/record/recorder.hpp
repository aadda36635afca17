// Records a run: what the ranks' threads and streams did, when, and what their allocators did, into
// one `.fst` file. It must not change what it measures, so a thread that records only reads clocks
// (thread_clock.hpp) and appends 40 bytes to a buffer of its own; what an instruction is called, which
// unit it belongs to and so on is worked out once per program. One thread of the lowest priority carries the buffers
// to the file five times a second, so that a run killed at any moment leaves all but its last
// moments.
//
//   auto recorder = Recorder::create(path, run).value();
//   RankRecorder& rank = recorder->add_rank(0, rank_program, tree);
//   LaneRecorder& host = rank.host();              // used by one thread at a time, as is each lane
//   const auto start = recorder->now();
//   ... instruction 17 of the rank's program 2 is issued ...
//   host.event(2, 17, step, start, recorder->now());
//   rank.lane(Stream::compute).event(2, 17, step, began, ended);
//   rank.step(step, began, ended, loss, gradient_norm);
//   recorder->close();
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/program/step_program.hpp"
#include "profiler/record/cupti/activity_recorder.hpp"
#include "profiler/record/device_work.hpp"
#include "profiler/record/record_buffer.hpp"
#include "profiler/record/thread_clock.hpp"
#include "traces/fst/fst_file.hpp"

namespace foreshard::profiler {

using traces::MemoryAction;

// Records what happens on one lane: a rank's host thread or one of its streams.
class LaneRecorder {
 public:
  // Something an instruction of the rank's program of that number caused has ended. `cpu_ns`: processor
  // time, where it was measured, by clock(). Of a range both the beginning and the end are recorded; they
  // become one event.
  void event(std::size_t program, std::int32_t instruction, std::int64_t step,
             std::int64_t start_ns, std::int64_t end_ns, std::int64_t cpu_ns = -1) {
    buffer_.push({start_ns, end_ns, cpu_ns, first_attributes_[program] + instruction, lane_,
                  static_cast<std::int32_t>(step)});
  }

  // The allocator did something on behalf of an instruction (host lane only).
  void memory(MemoryAction action, std::size_t program, std::int32_t instruction, std::int64_t step,
              std::int64_t time_ns, std::int64_t address, std::int64_t bytes) {
    buffer_.push({time_ns, address, bytes, first_memory_[program] + instruction, lane_,
                  static_cast<std::int32_t>(step), static_cast<std::int32_t>(action)});
  }

  // Of the thread that does the lane's work.
  ThreadClock& clock() { return clock_; }

 private:
  friend class Recorder;
  RecordBuffer<traces::PackedRecord, 1024> buffer_;  // chunks of 40 KiB
  ThreadClock clock_;
  std::int32_t lane_ = 0;
  std::vector<std::int32_t> first_attributes_;  // by program; numbers the recorder gave them
  std::vector<std::int32_t> first_memory_;
  std::vector<std::int64_t> open_ranges_;  // their starts; the writing thread's
};

class RankRecorder {
 public:
  LaneRecorder& host() { return host_; }
  LaneRecorder& lane(Stream stream) { return streams_[static_cast<std::size_t>(stream)]; }
  std::size_t streams() const { return streams_.size(); }

  // What this thread asks of a device that is recorded, from here to end_issue(), is done for that
  // instruction.
  void begin_issue(std::size_t program, std::int32_t instruction, std::int64_t step) {
    if (activities_ == nullptr) return;
    activities_->push_id(pack({number_, static_cast<std::uint32_t>(program), step, instruction}));
  }
  void end_issue() {
    if (activities_ != nullptr) activities_->pop_id();
  }

  // A step of this rank has ended. By one thread at a time.
  void step(std::int64_t step, std::int64_t start_ns, std::int64_t end_ns, double loss,
            double gradient_norm) {
    steps_.push({rank_, static_cast<std::int32_t>(step), start_ns, end_ns, loss, gradient_norm});
  }

 private:
  friend class Recorder;
  int rank_ = 0;
  std::uint32_t number_ = 0;  // among those of this process
  ActivityRecorder* activities_ = nullptr;
  LaneRecorder host_;
  std::deque<LaneRecorder> streams_;
  RecordBuffer<traces::Step, 64> steps_;
};

// What threads do in order to record: how often, or what it costs each time in nanoseconds.
template <typename Number>
struct ByKind {
  Number events = 0;    // two moments and a record
  Number works = 0;     // the same of work whose processor time is told
  Number memory = 0;    // one moment and a record
  Number readings = 0;  // of processor time

  bool operator==(const ByKind&) const = default;
};

// What recording cost the run.
struct RecordingCost {
  ByKind<std::int64_t> done;
  ByKind<double> ns;         // measured by recording into a buffer that is thrown away
  std::int64_t records = 0;  // in the file, where a range's two are one
  double ns_per_record = 0;  // of what the threads did
  double fraction = 0;       // of the ranks' step time, as if none of it had been hidden
};

class Recorder {
 public:
  // Times count from now on. A missing folder is an error here. Where several processes run the job,
  // `run.more` contains "processes" and "process"; each records into part_path(path, process), and
  // merge_parts() brings their times together where they share a clock.
  static Result<std::unique_ptr<Recorder>> create(const std::string& path,
                                                  const traces::RunDescription& run);
  ~Recorder();  // without close() the file is marked incomplete

  // Devices are recorded too, from now on: what they do for instructions (RankRecorder::begin_issue)
  // becomes events on the lanes of the instructions' streams. Before the first rank is added;
  // `activities` outlives this object. The error says why it cannot be.
  Result<void> record_devices(ActivityRecorder& activities);

  // The recorder of a rank, for as long as this object lives. From any thread, once per rank.
  RankRecorder& add_rank(int rank, const RankProgram& program, const ModuleTree& tree);

  // Called at once, from the thread that writes, when the file cannot be written any further: the run goes on, and what
  // is recorded from then on is thrown away. close() returns the error, too.
  void on_failure(std::function<void(const Error&)> tell);

  // Nanoseconds since the trace's origin.
  std::int64_t now() const;

  // Something that a reader of the trace needs: sets or replaces a key of its metadata. May wait
  // for a write to the file.
  void set(const std::string& key, const std::string& value);

  // Once all ranks have stopped recording: writes what is left, measures the cost and finishes the
  // file as complete, with the reason where the run ended before its last step.
  Result<RecordingCost> close(const std::string& end_reason = "");

 private:
  struct State;
  explicit Recorder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace foreshard::profiler
