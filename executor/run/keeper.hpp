// What a run leaves on its way: a line of its log for each step, and checkpoints every so many. A rank that
// has done such a step copies its state to the host and goes on with the next once all of its process have;
// a thread of the process' own writes the copies, behind training in priority and together with the other
// processes. A step whose turn it is waits for the checkpoint before.
//
// A checkpoint that cannot be written is noted and costs no other. One whose values are not finite replaces
// none: the run ends then.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "executor/run/rank_run.hpp"
#include "executor/run/step_log.hpp"

namespace foreshard::executor {

class Keeper {
 public:
  // `ranks`: of this process, whose memory the log tells of.
  Keeper(RunShared& shared, std::size_t ranks, std::optional<StepLog> log);
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  // By each rank's host thread, behind a step, and behind the last one; throws Aborted.
  void after_step(RankRun& rank, const StepReport& report);
  void after_last_step(RankRun& rank);
  // After the ranks have ended: what they have copied is written. Where the run has failed and another process
  // does not answer it is given up after the time in which a rank counts as hanging.
  void finish();
  // Why a checkpoint was not written for not being finite. After finish().
  const std::optional<std::string>& not_finite() const { return not_finite_; }

 private:
  void log(const RankRun& rank, const StepReport& report);
  void save(RankRun& rank, const StepReport& report);
  void wait_for_writer(const RankRun& rank);
  void write_copies();
  void write(const StepReport& report, const std::vector<RankValues>& values);

  RunShared& shared_;
  const std::size_t ranks_;
  std::optional<StepLog> log_;
  std::mutex log_mutex_;
  // Of the step at hand, which all ranks have done before any has done the next.
  std::vector<RankPeaks> peaks_;
  StepReport logged_;  // rank 0's
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<RankValues> copied_;          // of the step, so far
  StepReport saved_;                        // the step whose state that is
  bool is_writing_ = false;                 // all have copied
  std::atomic<std::uint32_t> complete_{0};  // how often that was so
  bool is_ending_ = false;
  std::optional<std::string> not_finite_;
  std::thread writer_;
};

}  // namespace foreshard::executor
