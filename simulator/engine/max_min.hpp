// Max-min fair sharing of resources by tasks that run at the same time.
//
// Every task would run at rate 1 and then uses `amount` of each resource it names; at rate x it
// uses x times that. The fair rates are found by progressive filling: all rates rise together until
// a resource is full, which fixes the tasks that use it; the others go on rising, up to 1.
//
//   one core, two tasks that need one core each        -> rates 1/2, 1/2
//   two cores, a task of two threads and one of one    -> 3 x = 2: rates 2/3, 2/3
//   two cores, three tasks of one thread, of which one
//   is held to rate 1/4 by a full memory bus            -> 1/4, then 2 x + 1/4 = 2: rates 7/8, 7/8
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace foreshard::simulator {

struct Use {
  std::int32_t resource = 0;
  double amount = 0;
};

constexpr int kMaxUses = 4;

struct Consumer {
  std::array<Use, kMaxUses> uses{};
  int count = 0;

  void use(std::int32_t resource, double amount) {
    if (amount > 0) uses[static_cast<std::size_t>(count++)] = {resource, amount};
  }
};

// Reuses its storage between calls; a capacity of 0 means unlimited.
class MaxMinSolver {
 public:
  explicit MaxMinSolver(std::vector<double> capacities);

  // rates[i] receives the rate of consumers[i], in (0, 1].
  void solve(std::span<const Consumer> consumers, std::span<double> rates);

 private:
  struct Load {
    double left = 0;    // capacity not taken by tasks with a fixed rate
    double wanted = 0;  // use per unit of rate of the tasks whose rate still rises
  };
  std::vector<double> capacities_;
  std::vector<Load> loads_;
  std::vector<char> fixed_;
};

}  // namespace foreshard::simulator
