#include "executor/run/keeper.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "executor/data/checkpoint_series.hpp"
#include "executor/device/start_thread.hpp"
#include "executor/run/checkpoint_saving.hpp"
#include "executor/run/finiteness.hpp"

namespace foreshard::executor {

Keeper::Keeper(RunShared& shared, std::size_t ranks, std::optional<StepLog> log)
    : shared_(shared), ranks_(ranks), log_(std::move(log)) {
  if (shared.options.save_every > 0) {
    writer_ = start_thread("the thread that writes checkpoints", [this] { write_copies(); });
  }
}

Keeper::~Keeper() {
  finish();
}

void Keeper::after_step(RankRun& rank, const StepReport& report) {
  log(rank, report);
  const std::int64_t every = shared_.options.save_every;
  if (every > 0 && report.is_sound() && report.step % every == 0) save(rank, report);
}

// The last rank to have done the step writes it down.
void Keeper::log(const RankRun& rank, const StepReport& report) {
  const std::lock_guard lock(log_mutex_);
  if (!log_) return;
  peaks_.push_back({rank.rank(), rank.memory_report().steps.back().peaks});
  if (rank.rank() == 0) logged_ = report;
  if (peaks_.size() < ranks_) return;
  std::ranges::sort(peaks_, {}, &RankPeaks::rank);
  const auto written = log_->append(step_line(shared_.job, shared_.options, logged_, peaks_));
  peaks_.clear();
  if (written) return;
  shared_.note(written);
  log_.reset();
}

void Keeper::after_last_step(RankRun& rank) {
  const std::int64_t every = shared_.options.save_every;
  if (every == 0 || !rank.last_step()) return;
  const StepReport last = *rank.last_step();
  if (last.step % every != 0) save(rank, last);
}

void Keeper::save(RankRun& rank, const StepReport& report) {
  wait_for_writer(rank);
  const bool is_written = rank.program().place[Group::replicate].index == 0;
  RankValues values = is_written ? rank.copied_values(report.step) : RankValues{&rank, {}};
  std::unique_lock lock(mutex_);
  saved_ = report;
  copied_.push_back(std::move(values));
  is_writing_ = copied_.size() == ranks_;
  const std::uint32_t before = complete_;
  if (is_writing_) {
    ++complete_;
    RunControl::wake(complete_);
    return changed_.notify_all();
  }
  lock.unlock();
  // A rank that went on could fail and take the others' copies with it.
  while (complete_ == before) shared_.run.wait(complete_, before);
}

// A slow disk is no rank that hangs.
void Keeper::wait_for_writer(const RankRun& rank) {
  constexpr Nanoseconds kBetweenLooks{1'000'000};
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (!is_writing_) return;
    }
    shared_.run.progress(rank.rank()).retire();
    shared_.run.sleep_for(kBetweenLooks);
  }
}

void Keeper::write_copies() {
  pthread_setname_np(pthread_self(), "checkpoints");
  // It takes what training leaves of the processor, and a tenth of it where other programs leave nothing.
  constexpr int kBehindTraining = 10;
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kBehindTraining);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_writing_ || is_ending_; });
    if (!is_writing_) return;
    // Ranks come one by one: those of a process in order of their numbers.
    std::ranges::sort(copied_, {}, [](const RankValues& values) { return values.run->rank(); });
    lock.unlock();
    write(saved_, copied_);
    lock.lock();
    copied_.clear();
    is_writing_ = false;
    changed_.notify_all();
  }
}

void Keeper::write(const StepReport& report, const std::vector<RankValues>& values) {
  const std::int64_t step = report.step;
  const TrainingOptions& options = shared_.options;
  const std::string path = step_path(options.save, step);
  try {
    auto bad = find_non_finite(shared_, step, values);
    if (bad) {
      const std::lock_guard lock(mutex_);
      if (!not_finite_) not_finite_ = std::move(bad);
      return shared_.agreements.last_step.ask();
    }
    const auto state = state_after(shared_, report);
    const auto saved = save_checkpoint(shared_, path, state, values);
    shared_.note(saved);
    const bool leads = values.front().run->rank() == 0;
    if (saved && leads) shared_.note(advance_series(options.save, step, options.keep));
  } catch (const Aborted&) {
    // Another process is gone, and with it the run.
  } catch (const std::exception& error) {
    shared_.note(fail(path, "", error.what()));
  }
}

void Keeper::finish() {
  if (!writer_.joinable()) return;
  {
    std::unique_lock lock(mutex_);
    is_ending_ = true;
    changed_.notify_all();
    const auto is_done = [this] { return !is_writing_; };
    if (shared_.run.failure() && !changed_.wait_for(lock, shared_.options.hang_timeout, is_done)) {
      shared_.closing.end("the run has failed");
    }
  }
  writer_.join();
}

}  // namespace foreshard::executor
