#include "executor/watchdog.hpp"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

#include <time.h>

namespace foreshard::executor {
namespace {

Nanoseconds monotonic_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return Nanoseconds{std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec};
}

std::string seconds_text(Nanoseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", static_cast<double>(time.count()) * 1e-9);
  return text;
}

}  // namespace

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
  RunControl& run;
  std::vector<const WaitSource*> sources;
  WatchdogOptions options;
  std::mutex mutex;
  std::condition_variable changed;
  bool is_ending = false;
  std::thread thread;

  void watch();
};

void Watchdog::State::watch() {
  const Nanoseconds interval =
      std::clamp(options.hang_timeout / 10, Nanoseconds{2'000'000}, Nanoseconds{250'000'000});
  std::vector<RankStatus> ranks(static_cast<std::size_t>(run.ranks()));
  for (RankStatus& status : ranks) status.last_progress = monotonic_now();
  const int first = options.heartbeat != nullptr ? options.heartbeat->rank() : 0;
  const int last = options.heartbeat != nullptr ? first + 1 : run.ranks();
  std::vector<Wait> waits;
  std::unique_lock lock(mutex);
  while (!is_ending && !run.is_aborted()) {
    const Nanoseconds now = monotonic_now();
    for (int rank = first; rank < last; ++rank) {
      RankStatus& status = ranks[static_cast<std::size_t>(rank)];
      const RankProgress& progress = run.progress(rank);
      const std::uint64_t retired = progress.retired.load(std::memory_order_relaxed);
      if (retired != status.retired) status.last_progress = now;
      status.retired = retired;
      status.last_instruction = progress.last_instruction.load(std::memory_order_relaxed);
    }
    waits.clear();
    for (const WaitSource* source : sources) source->add_waits(waits);
    std::optional<Failure> failure;
    if (options.heartbeat != nullptr) {
      options.heartbeat->exchange(ranks, waits, now);
      failure = options.heartbeat->check_peers();
    }
    if (!failure) failure = judge(ranks, waits, now, options.hang_timeout, options.describe);
    if (failure) {
      run.fail(failure->rank, failure->message);
    } else {
      changed.wait_for(lock, interval);
    }
  }
  if (!options.on_overdue || !run.is_aborted()) return;
  changed.wait_for(lock, std::chrono::nanoseconds(options.grace), [this] { return is_ending; });
  if (!is_ending) options.on_overdue(*run.failure());
}

Watchdog::Watchdog(RunControl& run, std::vector<const WaitSource*> sources, WatchdogOptions options)
    : state_(new State{run, std::move(sources), std::move(options), {}, {}, false, {}}) {
  state_->thread = std::thread([state = state_.get()] { state->watch(); });
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
