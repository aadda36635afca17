// Which of the predicted candidates are answers: the best by an objective, and those that no other one
// beats in two respects at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/search/outcome.hpp"
#include "simulator/search/search.hpp"

namespace foreshard::simulator {

// US dollars for a million tokens on the target; nothing where its price is unknown.
std::optional<double> usd_per_million_tokens(const SearchTarget& target, double tokens_per_s);

// What the objective wants least of: seconds a token, nanoseconds a step, dollars a token. Infinite
// where it is unknown.
double loss_of(Objective objective, const SearchTarget& target, double tokens_per_s,
               Nanoseconds step_time);

// A point of a front: `gain` is better the higher it is, `price` the lower.
struct Point {
  double gain = 0, price = 0;
  std::size_t index = 0;  // of what it is a point
};

// The points that no other one beats: has at least the gain at no higher price, and is not equal. Of
// equal points the first. By falling gain.
std::vector<Point> pareto_front(std::vector<Point> points);

// A front that grows, for questions whether it beats a bound.
class Front {
 public:
  void add(double gain, double price);
  // Whether some point has more gain than `gain` at a price of at most `price`.
  bool beats(double gain, double price) const;

 private:
  std::vector<Point> points_;  // by falling gain, and so by falling price
};

}  // namespace foreshard::simulator
