#include "executor/device/stream.hpp"

#include <pthread.h>

#include "executor/device/start_thread.hpp"

namespace foreshard::executor {

void Event::fire(Epoch epoch) {
  std::uint32_t old = word_.load(std::memory_order_relaxed);
  while (old >> 1 < epoch) {
    if (!word_.compare_exchange_weak(old, epoch << 1, std::memory_order_acq_rel)) continue;
    if ((old & 1U) != 0) RunControl::wake(word_);
    return;
  }
}

void Event::wait(RunControl& run, Epoch epoch) {
  std::uint32_t word = word_.load(std::memory_order_acquire);
  while (word >> 1 < epoch) {
    const std::uint32_t marked = word | 1U;
    if (word == marked || word_.compare_exchange_weak(word, marked, std::memory_order_acquire)) {
      run.wait(word_, marked);
      word = word_.load(std::memory_order_acquire);
    }
  }
}

StreamWorker::StreamWorker(RunControl& run, int rank, std::string name)
    : run_(run), rank_(rank), name_(std::move(name)) {}

void StreamWorker::stop() {
  if (!thread_.joinable()) return;
  new (queue_.add(sizeof(Slot))) Slot{};
  publish();
  thread_.join();
}

StreamWorker::~StreamWorker() {
  stop();
}

// The worker announces that it falls asleep before it looks at the count a last time, and the count is
// raised before that word is looked at: either the worker sees the task or it is woken. It sleeps on
// that very word, so one that was cleared in between keeps it awake.
void StreamWorker::publish() {
  published_.store(++submitted_, std::memory_order_seq_cst);
  if (!thread_.joinable()) {
    thread_ = start_thread("the thread of stream " + name_, [this] {
      const std::string name = "r" + std::to_string(rank_) + " " + name_;
      pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
      work();
    });
  } else if (is_asleep_.load(std::memory_order_seq_cst) != 0) {
    is_asleep_.store(0, std::memory_order_seq_cst);  // one system call is enough
    RunControl::wake(is_asleep_);
  }
}

void StreamWorker::rethrow() {
  if (has_failed_.load(std::memory_order_acquire)) std::rethrow_exception(exception_);
}

bool StreamWorker::has_finished(Tag last) const {
  // In this order: a task that begins meanwhile is not taken for the end of those before it.
  const Tag begun = begun_.load(std::memory_order_acquire);
  return begun > last ||
         finished_.load(std::memory_order_acquire) == published_.load(std::memory_order_acquire);
}

void StreamWorker::check() {
  rethrow();
  run_.throw_if_aborted();
}

void StreamWorker::record(Event& event, Epoch epoch, Tag tag) {
  submit(tag, [&event, epoch] { event.fire(epoch); });
}

void StreamWorker::wait(Event& event, Epoch epoch, Tag tag) {
  if (event.has_fired(epoch)) return check();
  submit(tag, [&event, epoch, this] { event.wait(run_, epoch); });
}

void StreamWorker::synchronize() {
  check();
  if (submitted_ == 0) return;
  record(idle_, ++idle_epoch_);
  try {
    idle_.wait(run_, idle_epoch_);
  } catch (const Aborted&) {
    rethrow();
    throw;
  }
}

StreamWorker::Slot& StreamWorker::next_task() {
  if (taken_ == seen_) {
    seen_ = published_.load(std::memory_order_acquire);
    while (taken_ == seen_) {
      is_asleep_.store(1, std::memory_order_seq_cst);
      seen_ = published_.load(std::memory_order_seq_cst);
      if (taken_ == seen_) run_.wait(is_asleep_, 1);
    }
    is_asleep_.store(0, std::memory_order_relaxed);
  }
  ++taken_;
  return *std::launder(reinterpret_cast<Slot*>(queue_.next()));
}

void StreamWorker::execute(Slot& slot) {
  if (slot.tag != kNoTag) begun_.store(slot.tag & ~kUnreported, std::memory_order_release);
  if ((slot.tag & kUnreported) != 0) {
    slot.task();
    return;
  }
  progress().last_instruction.store(slot.tag, std::memory_order_relaxed);
  if (observer_ == nullptr) {
    slot.task();
  } else {
    observer_->task_begins();
    observer_of_this_task = observer_;
    slot.task();
    observer_of_this_task = nullptr;
    observer_->task_finished(slot.tag);
  }
  progress().retire();
}

void StreamWorker::work() {
  progress_of_this_thread = &progress();
  try {
    for (;;) {
      Slot& slot = next_task();
      if (!slot.task) return;
      run_.throw_if_aborted();
      execute(slot);
      finished_.store(taken_, std::memory_order_release);
    }
  } catch (const Aborted&) {
    // Another failure ended the run; it has been recorded.
  } catch (...) {
    exception_ = std::current_exception();
    has_failed_.store(true, std::memory_order_release);
    try {
      throw;
    } catch (const std::exception& error) {
      run_.fail(rank_, error.what());
    } catch (...) {
      run_.fail(rank_, "unknown exception on stream " + name_);
    }
  }
}

}  // namespace foreshard::executor
