// Sleeping in the kernel on a word of this process until another thread wakes it (Linux's futex), and
// whether a thread has done so.
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace foreshard::executor {

// Since whoever observes the thread has looked last, and cleared it.
inline thread_local bool this_thread_has_slept = false;

// Sleeps while the word has this value; may return early.
inline void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                       const timespec* timeout = nullptr) {
  static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
  this_thread_has_slept = true;
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, timeout, nullptr, 0);
}

inline void futex_wake(const std::atomic<std::uint32_t>& word, int sleepers = INT_MAX) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, sleepers, nullptr, nullptr, 0);
}

}  // namespace foreshard::executor
