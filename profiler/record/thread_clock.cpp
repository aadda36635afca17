#include "profiler/record/thread_clock.hpp"

#include <time.h>

namespace foreshard::profiler {
namespace {

std::int64_t read_clock(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

std::int64_t clock_now() {
  return read_clock(CLOCK_MONOTONIC);
}

std::int64_t thread_time_now() {
  return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

double thread_time_reading_ns() {
  static const double cost = best_ns(64, [](int) { static_cast<void>(thread_time_now()); });
  return cost;
}

}  // namespace foreshard::profiler
