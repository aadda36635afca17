// What the ranks of one run in one process share: the first failure, the abort that follows it, and
// every blocking wait.
//
// A rank that fails calls `fail` once; from then on every wait in the process, present and
// future, throws `Aborted` within a few milliseconds, so that no rank is left hanging. Waits sleep
// in the kernel on a 32-bit word (a futex) and never spin; as long as nobody sleeps, changing such
// a word costs no system call.
//
// Warnings, likewise, are the run's and not a rank's.
//
// A run may also have to end although nobody failed: `end` wakes the same waits, without blame.
//
// Each rank counts here what it has done (progress.hpp); the watchdog (watchdog.hpp) reads it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "executor/device/progress.hpp"
#include "models/base/units.hpp"

namespace foreshard::executor {

constexpr int kNoRank = -1;

struct Failure {
  int rank = kNoRank;  // kNoRank: the run as a whole, such as an interrupt
  std::string message;

  std::string text() const;  // "rank 2: message"
};

// Thrown by every wait once the run has been aborted; `what` has the reason.
class Aborted : public std::runtime_error {
 public:
  explicit Aborted(const Failure& cause);
};

class RunControl {
 public:
  explicit RunControl(int ranks);  // throws std::runtime_error where it gets no thread
  ~RunControl();                   // after every thread that waits through it has ended
  RunControl(const RunControl&) = delete;
  RunControl& operator=(const RunControl&) = delete;

  int ranks() const { return static_cast<int>(progress_.size()); }
  RankProgress& progress(int rank) { return progress_[static_cast<std::size_t>(rank)]; }

  // Records the failure if it is the first, and aborts the run. May be called from any thread.
  void fail(int rank, std::string message);
  // Aborts the run although nothing failed: it cannot go on, as its ranks have agreed.
  void end(std::string reason);
  std::optional<Failure> failure() const;  // nothing where the run was ended
  // What the user is to know of a run that goes on: told once, whoever says it. From any thread.
  void warn(const std::string& text);
  std::vector<std::string> warnings() const;  // in the order in which they came
  bool is_aborted() const { return aborted_.load(std::memory_order_seq_cst); }
  void throw_if_aborted() const {
    if (is_aborted()) throw_aborted();
  }

  // Sleeps while word == value; may also return early, so callers loop over their own condition.
  // Throws Aborted.
  void wait(const std::atomic<std::uint32_t>& word, std::uint32_t value);
  // Sleeps for a time; throws Aborted as soon as the run is aborted.
  void sleep_for(Nanoseconds time);
  void wait_until_aborted();
  // Wakes every thread that sleeps on the word. To be called after changing it.
  static void wake(const std::atomic<std::uint32_t>& word);

 private:
  // Where a thread registers what it is about to sleep on, so that an abort can wake it.
  struct WaitSlot {
    std::atomic<const std::atomic<std::uint32_t>*> word{nullptr};
    std::atomic<std::uint32_t> own{0};
  };
  void abort(Failure cause, bool is_failure);
  WaitSlot& slot_of_this_thread();
  void keep_waking();
  [[noreturn]] void throw_aborted() const;

  const std::uint64_t id_;  // distinguishes runs of one process, also when an address is used again
  std::atomic<bool> aborted_{false};
  std::vector<RankProgress> progress_;
  mutable std::mutex mutex_;
  Failure cause_;  // of the abort
  bool has_failed_ = false;
  std::vector<std::string> warnings_;
  std::deque<WaitSlot> slots_;
  std::condition_variable changed_;  // aborted_ or ending_
  bool ending_ = false;
  // Wakes sleepers from the abort on until the run's end. It is there from the beginning: an abort
  // may have come about because there is no room for one more thread.
  std::thread waker_;
};

}  // namespace foreshard::executor
