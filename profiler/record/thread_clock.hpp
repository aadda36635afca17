// What time it is and how much of the processor a thread has used, for the records of its work.
//
// The processor time is a system call, some hundred nanoseconds, and it differs from the time of day only
// where the thread has slept or another one has had its processor. So it is read after each sleep, and every
// so often; between two readings it goes on with the time of day. A piece of work is wrong by less than
// such an interval, and only where the thread lost its processor and got it back within it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace foreshard::profiler {

// The clock of recordings: monotonic, the same for all processes of a machine. Nanoseconds.
std::int64_t clock_now();

// Processor time of the calling thread, nanoseconds.
std::int64_t thread_time_now();

// What reading it costs, nanoseconds: measured once.
double thread_time_reading_ns();

// What something costs that is done so many times in a row, nanoseconds each: in the best of some rounds, for
// the worse ones measure who else is running.
template <typename Do>
double best_ns(int times, const Do& something) {
  constexpr int kRounds = 5;
  std::int64_t best = INT64_MAX;
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t begin = clock_now();
    for (int i = 0; i < times; ++i) something(i);
    best = std::min(best, clock_now() - begin);
  }
  return static_cast<double>(best) / times;
}

// Of one thread.
class ThreadClock {
 public:
  // Readings take at most a fiftieth of the thread's time.
  static constexpr double kReadingsApart = 50;

  explicit ThreadClock(std::int64_t interval_ns =
                           static_cast<std::int64_t>(kReadingsApart * thread_time_reading_ns()))
      : interval_(interval_ns) {}

  struct Moment {
    std::int64_t ns = 0;      // clock_now()
    std::int64_t cpu_ns = 0;  // used until then
  };

  // A piece of work begins: what reading costs lies before it. `has_slept`: the thread, since the call
  // before.
  Moment begin(bool has_slept) {
    const std::int64_t now = clock_now();
    if (!has_slept && now - read_ <= interval_) return carried(now);
    read(now);
    return carried(read_ = clock_now());
  }
  // It ends: what reading costs lies behind it.
  Moment end(bool has_slept) {
    const std::int64_t now = clock_now();
    if (has_slept || now - read_ > interval_) read(now);
    return carried(now);
  }

  std::int64_t readings() const { return readings_; }

 private:
  Moment carried(std::int64_t now) const { return {now, used_ + now - read_}; }
  void read(std::int64_t now) {
    used_ = thread_time_now();
    read_ = now;
    ++readings_;
  }

  const std::int64_t interval_;
  std::int64_t read_ = INT64_MIN / 2;  // when it was read
  std::int64_t used_ = 0;              // what it was
  std::int64_t readings_ = 0;
};

// What a piece of work used of the processor, at most what it took.
inline std::int64_t cpu_between(const ThreadClock::Moment& begin, const ThreadClock::Moment& end) {
  return std::clamp<std::int64_t>(end.cpu_ns - begin.cpu_ns, 0, end.ns - begin.ns);
}

}  // namespace foreshard::profiler
