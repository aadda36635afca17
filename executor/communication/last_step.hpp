// Where the processes of a run agree after which step it ends once it is to end early (Ctrl-C,
// a launcher's SIGTERM): all do the same steps, so that a checkpoint is of one step.
//
// Ranks are in different steps when the wish arrives, and one that begins a step needs all others in
// it. So each process promises, as soon as it hears of the wish, not to begin a step beyond the last
// one it has begun unless another has; promises travel with the heartbeats. The last step is the
// greatest promise: whoever has a further step to begin waits until all promises are known.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "executor/device/run_control.hpp"
#include "executor/device/watchdog.hpp"

namespace foreshard::executor {

class LastStepAgreement {
 public:
  static constexpr std::int64_t kNoPromise = -1;

  // `process` is one of `processes`, counted from 0.
  LastStepAgreement(int process, int processes);

  // The run is to end. Any thread.
  void ask();
  bool is_asked() const;
  // A rank's host thread, before each step: whether to begin it. Waits for promises; throws Aborted.
  bool may_begin(std::int64_t step, RunControl& run);

  // This process' promise, the number of a step; kNoPromise while nobody has asked.
  std::int64_t promise() const;
  void hear(int process, std::int64_t promise);
  // For whom a rank of this process waits in may_begin. Processes that have several are alone.
  void add_waits(std::vector<Wait>& waits) const;

 private:
  std::int64_t& own() { return promises_[static_cast<std::size_t>(process_)]; }
  void ask_locked();

  const int process_;
  mutable std::mutex mutex_;
  std::vector<std::int64_t> promises_;
  std::int64_t last_begun_ = 0;
  bool is_waiting_ = false;
};

}  // namespace foreshard::executor
