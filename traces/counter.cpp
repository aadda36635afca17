#include "traces/counter.hpp"

#include <algorithm>
#include <iterator>

namespace foreshard::traces {

void sort(Counter& counter) {
  std::ranges::stable_sort(counter.samples, {}, &CounterSample::time_ns);
  const auto repeats = [](const CounterSample& before, const CounterSample& sample) {
    return before.value == sample.value;
  };
  counter.samples.erase(std::unique(counter.samples.begin(), counter.samples.end(), repeats),
                        counter.samples.end());
}

void cut(Counter& counter, Interval stretch) {
  auto& samples = counter.samples;
  samples.erase(std::ranges::upper_bound(samples, stretch.end_ns, {}, &CounterSample::time_ns),
                samples.end());
  const auto after =
      std::ranges::upper_bound(samples, stretch.start_ns, {}, &CounterSample::time_ns);
  if (after == samples.begin()) return;
  std::prev(after)->time_ns = stretch.start_ns;
  samples.erase(samples.begin(), std::prev(after));
}

}  // namespace foreshard::traces
