#include "executor/device/run_control.hpp"

#include <algorithm>
#include <chrono>

#include "executor/device/futex.hpp"
#include "executor/device/start_thread.hpp"

namespace foreshard::executor {
namespace {

std::atomic<std::uint64_t> next_run_id{1};

}  // namespace

std::string Failure::text() const {
  return rank == kNoRank ? message : "rank " + std::to_string(rank) + ": " + message;
}

Aborted::Aborted(const Failure& cause) : std::runtime_error(cause.text()) {}

RunControl::RunControl(int ranks)
    : id_(next_run_id.fetch_add(1)),
      progress_(static_cast<std::size_t>(ranks)),
      waker_(start_thread("the thread that ends waits", [this] { keep_waking(); })) {}

RunControl::~RunControl() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  waker_.join();
}

void RunControl::fail(int rank, std::string message) {
  abort({rank, std::move(message)}, true);
}

void RunControl::end(std::string reason) {
  abort({kNoRank, std::move(reason)}, false);
}

void RunControl::warn(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(warnings_, text) == warnings_.end()) warnings_.push_back(text);
}

std::vector<std::string> RunControl::warnings() const {
  const std::lock_guard lock(mutex_);
  return warnings_;
}

void RunControl::abort(Failure cause, bool is_failure) {
  const std::lock_guard lock(mutex_);
  if (is_aborted()) return;
  cause_ = std::move(cause);
  has_failed_ = is_failure;
  aborted_.store(true, std::memory_order_seq_cst);
  changed_.notify_all();
}

std::optional<Failure> RunControl::failure() const {
  const std::lock_guard lock(mutex_);
  return has_failed_ ? std::optional(cause_) : std::nullopt;
}

void RunControl::throw_aborted() const {
  const std::lock_guard lock(mutex_);
  throw Aborted(cause_);
}

RunControl::WaitSlot& RunControl::slot_of_this_thread() {
  thread_local struct {
    std::uint64_t run = 0;
    WaitSlot* slot = nullptr;
  } mine;
  if (mine.run != id_) {
    const std::lock_guard lock(mutex_);
    mine = {id_, &slots_.emplace_back()};
  }
  return *mine.slot;
}

// The thread names its word before it looks at the abort flag, and the flag is set before words are
// looked for: one of the two sees the other. What remains is a thread that has named its word but is
// not asleep yet; it is woken by a later round.
void RunControl::wait(const std::atomic<std::uint32_t>& word, std::uint32_t value) {
  WaitSlot& slot = slot_of_this_thread();
  slot.word.store(&word, std::memory_order_seq_cst);
  if (!is_aborted()) futex_wait(word, value);
  slot.word.store(nullptr, std::memory_order_release);
  throw_if_aborted();
}

void RunControl::sleep_for(Nanoseconds time) {
  WaitSlot& slot = slot_of_this_thread();
  slot.word.store(&slot.own, std::memory_order_seq_cst);
  const timespec timeout{time.count() / 1'000'000'000, time.count() % 1'000'000'000};
  if (!is_aborted()) futex_wait(slot.own, 0, &timeout);
  slot.word.store(nullptr, std::memory_order_release);
  throw_if_aborted();
}

void RunControl::wait_until_aborted() {
  try {
    for (;;) sleep_for(Nanoseconds{1'000'000'000});
  } catch (const Aborted&) {
  }
}

void RunControl::wake(const std::atomic<std::uint32_t>& word) {
  futex_wake(word);
}

void RunControl::keep_waking() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_aborted() || ending_; });
  while (!ending_) {
    for (const WaitSlot& slot : slots_) {
      if (const auto* word = slot.word.load(std::memory_order_seq_cst)) futex_wake(*word);
    }
    changed_.wait_for(lock, std::chrono::milliseconds(1));
  }
}

}  // namespace foreshard::executor
