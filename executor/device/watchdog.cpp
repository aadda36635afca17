#include "executor/device/watchdog.hpp"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "executor/device/clock.hpp"
#include "executor/device/start_thread.hpp"

namespace foreshard::executor {
std::optional<Failure> judge(const std::vector<RankStatus>& ranks, const std::vector<Wait>& waits,
                             Nanoseconds now, Nanoseconds hang_timeout,
                             const std::function<std::string(std::uint64_t tag)>& describe) {
  const auto has_stalled = [&](int rank) {
    return now - ranks[static_cast<std::size_t>(rank)].last_progress >= hang_timeout;
  };
  const auto waits_itself = [&](int rank) {
    return std::any_of(waits.begin(), waits.end(),
                       [&](const Wait& wait) { return wait.waiter == rank; });
  };
  const Wait* worst = nullptr;
  for (const Wait& wait : waits) {
    if (!has_stalled(wait.awaited)) continue;
    const bool is_worse = worst == nullptr ||
                          (waits_itself(worst->awaited) && !waits_itself(wait.awaited)) ||
                          (waits_itself(worst->awaited) == waits_itself(wait.awaited) &&
                           wait.awaited < worst->awaited);
    if (is_worse) worst = &wait;
  }
  // A rank that waits for others is to blame only when they all wait: while the one it waits for
  // still works, everything is as it should be.
  if (worst == nullptr || (waits_itself(worst->awaited) &&
                           std::any_of(waits.begin(), waits.end(), [&](const Wait& wait) {
                             return !has_stalled(wait.awaited);
                           }))) {
    return std::nullopt;
  }
  const RankStatus& status = ranks[static_cast<std::size_t>(worst->awaited)];
  std::string message = "no progress for " + seconds_text(now - status.last_progress);
  if (describe) message += " (last instruction: " + describe(status.last_instruction) + ")";
  message +=
      " while rank " + std::to_string(worst->waiter) + " waits for it in " + worst->operation;
  return Failure{worst->awaited, message};
}

struct Watchdog::State {
  State(RunControl& of, std::vector<const WaitSource*> with, WatchdogOptions how)
      : run(of), sources(std::move(with)), options(std::move(how)) {}

  RunControl& run;
  std::vector<const WaitSource*> sources;
  WatchdogOptions options;
  std::mutex mutex;
  std::condition_variable changed;
  bool is_ending = false;
  std::thread thread;
  std::vector<RankStatus> ranks;
  std::vector<Wait> waits;
  Nanoseconds told{0};  // when the others were told last

  int first_rank() const { return options.heartbeat != nullptr ? options.heartbeat->rank() : 0; }
  int ranks_here() const { return options.heartbeat != nullptr ? 1 : run.ranks(); }
  std::optional<Failure> look(Nanoseconds now);
  std::optional<Failure> overdue(Nanoseconds now) const;
  void watch();
};

// Brings everything known up to date; returns the failure that is seen, if any.
std::optional<Failure> Watchdog::State::look(Nanoseconds now) {
  constexpr Nanoseconds kLongestSilence{250'000'000};
  for (int rank = first_rank(); rank < first_rank() + ranks_here(); ++rank) {
    RankStatus& status = ranks[static_cast<std::size_t>(rank)];
    const Progress progress = options.progress ? options.progress(rank) : run.progress(rank).now();
    if (progress.retired != status.retired) status.last_progress = now;
    status.retired = progress.retired;
    status.last_instruction = progress.last_instruction;
  }
  waits.clear();
  for (const WaitSource* source : sources) source->add_waits(waits);
  std::optional<Failure> failure;
  if (options.heartbeat != nullptr) {
    const bool is_due = now - told >= std::min(options.hang_timeout / 10, kLongestSilence);
    if (is_due) told = now;
    options.heartbeat->update(ranks, waits, now, is_due);
    failure = options.heartbeat->check_peers();
  }
  if (options.at_look) options.at_look(waits);
  if (failure) return failure;
  return judge(ranks, waits, now, options.hang_timeout, options.describe);
}

// Of a run that was ended: the rank of this process that does not come to an end.
std::optional<Failure> Watchdog::State::overdue(Nanoseconds now) const {
  for (int rank = first_rank(); rank < first_rank() + ranks_here(); ++rank) {
    const Nanoseconds since = now - ranks[static_cast<std::size_t>(rank)].last_progress;
    if (since < options.hang_timeout) return std::nullopt;
  }
  return Failure{first_rank(),
                 "does not end: no progress for " + seconds_text(options.hang_timeout)};
}

void Watchdog::State::watch() {
  const Nanoseconds interval =
      std::clamp(options.hang_timeout / 10, Nanoseconds{2'000'000}, Nanoseconds{50'000'000});
  ranks.resize(static_cast<std::size_t>(run.ranks()));
  for (RankStatus& status : ranks) status.last_progress = monotonic_now();
  std::unique_lock lock(mutex);
  while (!is_ending && !run.failure()) {
    const Nanoseconds now = monotonic_now();
    const auto failure = look(now);
    if (failure && !run.is_aborted()) {
      run.fail(failure->rank, failure->message);
      break;
    }
    if (const auto late = run.is_aborted() ? overdue(now) : std::nullopt) {
      if (options.on_overdue) options.on_overdue(*late);
      return;
    }
    changed.wait_for(lock, interval);
  }
  if (!options.on_overdue || !run.failure()) return;
  changed.wait_for(lock, std::chrono::nanoseconds(options.grace), [this] { return is_ending; });
  if (!is_ending) options.on_overdue(*run.failure());
}

Watchdog::Watchdog(RunControl& run, std::vector<const WaitSource*> sources, WatchdogOptions options)
    : state_(std::make_unique<State>(run, std::move(sources), std::move(options))) {
  state_->thread = start_thread("the watchdog", [state = state_.get()] { state->watch(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_ending = true;
  }
  state_->changed.notify_all();
  state_->thread.join();
}

}  // namespace foreshard::executor
