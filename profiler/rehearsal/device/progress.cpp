#include "profiler/rehearsal/device/progress.hpp"

#include <algorithm>

namespace foreshard::rehearsal {

void Progress::join(const Progress& other) {
  for (const auto& [stream, events] : other.events_) {
    std::int64_t& mine = events_[stream];
    mine = std::max(mine, events);
  }
}

bool Progress::includes(const Progress& other) const {
  return std::all_of(other.events_.begin(), other.events_.end(), [this](const auto& of) {
    const auto mine = events_.find(of.first);
    return mine != events_.end() && mine->second >= of.second;
  });
}

}  // namespace foreshard::rehearsal
