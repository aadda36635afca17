#include "simulator/fit/memory_traffic.hpp"

#include <algorithm>

namespace foreshard::simulator {

void MemoryTraffic::add(std::int64_t start_ns, std::int64_t end_ns, double bytes_per_ns) {
  if (end_ns <= start_ns) return;
  changes_.emplace_back(start_ns, bytes_per_ns);
  changes_.emplace_back(end_ns, -bytes_per_ns);
}

void MemoryTraffic::finish() {
  std::sort(changes_.begin(), changes_.end());
  double rate = 0, sum = 0;
  for (const auto& [at, change] : changes_) {
    if (!times_.empty()) sum += rate * static_cast<double>(at - times_.back());
    rate += change;
    if (!times_.empty() && times_.back() == at) continue;
    times_.push_back(at);
    moved_.push_back(sum);
  }
}

double MemoryTraffic::until(std::int64_t at) const {
  const auto next = std::upper_bound(times_.begin(), times_.end(), at) - times_.begin();
  if (next == 0) return 0;
  const auto i = static_cast<std::size_t>(next) - 1;
  if (i + 1 == times_.size()) return moved_[i];
  const double share =
      static_cast<double>(at - times_[i]) / static_cast<double>(times_[i + 1] - times_[i]);
  return moved_[i] + share * (moved_[i + 1] - moved_[i]);
}

}  // namespace foreshard::simulator
