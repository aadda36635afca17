// One piece of work after another on as many threads as there are processors.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "traces/processors.hpp"

namespace foreshard::gui {

// Calls `work(n)` for each n below `count`, for several at the same time, so that it may write to
// nothing but what belongs to n alone. Returns when all are done; the calling thread is one of those
// that work, and the others are as urgent as it is.
template <class Work>
void in_parallel(std::size_t count, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto work_on = [&] {
    for (std::size_t n = next++; n < count; n = next++) work(n);
  };
  std::vector<std::jthread> others;
  const std::size_t threads = std::min(count, static_cast<std::size_t>(traces::cores()));
  for (std::size_t t = 1; t < threads; ++t) others.emplace_back(work_on);
  work_on();
}

}  // namespace foreshard::gui
