// How many bytes all tasks of a recording read and wrote between two moments: the integral of their
// rates, as a broken line.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace foreshard::simulator {

class MemoryTraffic {
 public:
  // A task moved so many bytes per nanosecond from one moment to the other.
  void add(std::int64_t start_ns, std::int64_t end_ns, double bytes_per_ns);

  // Call once all tasks are added, before any question.
  void finish();

  // Bytes moved from `start_ns` to `end_ns`.
  double between(std::int64_t start_ns, std::int64_t end_ns) const {
    return until(end_ns) - until(start_ns);
  }

 private:
  double until(std::int64_t at) const;

  std::vector<std::pair<std::int64_t, double>> changes_;  // of the rate
  std::vector<std::int64_t> times_;
  std::vector<double> moved_;  // by each of the times
};

}  // namespace foreshard::simulator
