// Records what this process does with CUDA, through CUPTI's activity interface. CUPTI fills buffers from
// a pool that is allocated before the first call is recorded, and hands them back on a thread of its own
// or within flush(); what does not fit is dropped and counted, so that recording never takes more memory
// and never delays a launch for it.
//
//   auto recorder = load_activity_recorder(executor::module_directory()).value();
//   recorder->start({clock_now}, listener);
//   recorder->push_id(17);  // what this thread calls now is of instruction 17
//   ...
//   recorder->pop_id();
//   recorder->stop();
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/base/error.hpp"
#include "profiler/record/cupti/activity.hpp"

namespace foreshard::profiler {

// Told of activities, by one thread at a time, in no order. It must not call CUDA or CUPTI. What names
// point to is valid during the call; kernels' names for as long as the process.
class ActivityListener {
 public:
  virtual ~ActivityListener() = default;
  virtual void take(std::span<const Activity> activities) = 0;
  // So many records found no room in the buffers since the last time.
  virtual void dropped(std::int64_t records) = 0;
};

struct ActivitySettings {
  std::int64_t (*clock)() = nullptr;  // nanoseconds; what all times are counted on
  // NVTX ranges, where NVTX is directed to CUPTI; waits; what recording itself costs: all that is of no
  // instruction.
  bool whole_program = false;
};

class ActivityRecorder {
 public:
  virtual ~ActivityRecorder() = default;  // as stop()

  // Once in a process. The error says why there is no recording: another profiler, no permission.
  virtual Result<void> start(const ActivitySettings& settings, ActivityListener& listener) = 0;
  // After start(): a sentence on each thing that CUPTI refuses to record here.
  virtual std::vector<std::string> missing() const = 0;
  // Around what the calling thread asks of CUDA: its records of kind external_id have this id.
  virtual void push_id(std::uint64_t id) = 0;
  virtual void pop_id() = 0;
  // Hands over what has finished. Not while holding a lock that the listener takes.
  virtual void flush() = 0;
  // Hands over everything. The same holds.
  virtual void stop() = 0;

  // CUPTI itself: 130001 is that of CUDA 13.0 Update 1, CUDA 12's are below 100.
  virtual std::uint32_t version() const = 0;
  virtual std::string library() const = 0;  // the path of its file
};

// From libforeshard_cupti.so or libforeshard_cupti12.so, which nothing links to. The error names what is missing.
Result<std::unique_ptr<ActivityRecorder>> load_activity_recorder(const std::string& directory);

}  // namespace foreshard::profiler
