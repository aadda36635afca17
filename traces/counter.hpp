// A quantity of one rank that a tool sampled while the rank ran: how busy the multiprocessors of its
// device were, its clock, the bytes that crossed a link.
//
// A value holds from its sample to the next one, the last until the trace ends.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/event.hpp"
#include "traces/intervals.hpp"

namespace foreshard::traces {

struct CounterSample {
  std::int64_t time_ns = 0;
  double value = 0;  // finite
  bool operator==(const CounterSample&) const = default;
};

struct Counter {
  std::int32_t rank = 0;
  StringId name = 0;                   // "SMs Active"
  StringId unit = 0;                   // "%", "MHz"; "" where the recording does not say
  std::vector<CounterSample> samples;  // by time
};

// Puts samples into the order of time and leaves out those that repeat the value before them.
void sort(Counter& counter);

// Keeps what holds within a stretch of time: its first value then begins where the stretch does.
void cut(Counter& counter, Interval stretch);

}  // namespace foreshard::traces
