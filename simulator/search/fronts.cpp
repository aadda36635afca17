#include "simulator/search/fronts.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace foreshard::simulator {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

std::optional<double> usd_per_million_tokens(const SearchTarget& target, double tokens_per_s) {
  if (target.rent.usd_per_hour <= 0 || tokens_per_s <= 0) return {};
  constexpr double kSecondsPerHour = 3600, kMillion = 1e6;
  return target.rent.usd_per_hour / kSecondsPerHour / tokens_per_s * kMillion;
}

double loss_of(Objective objective, const SearchTarget& target, double tokens_per_s,
               Nanoseconds step_time) {
  switch (objective) {
    case Objective::tokens_per_s: return tokens_per_s > 0 ? 1 / tokens_per_s : kNever;
    case Objective::time: return static_cast<double>(step_time.count());
    case Objective::cost: return usd_per_million_tokens(target, tokens_per_s).value_or(kNever);
  }
  return kNever;
}

std::vector<Point> pareto_front(std::vector<Point> points) {
  std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
    return std::pair(-a.gain, a.price) < std::pair(-b.gain, b.price);
  });
  std::vector<Point> front;
  for (const Point& point : points) {
    if (front.empty() || point.price < front.back().price) front.push_back(point);
  }
  return front;
}

void Front::add(double gain, double price) {
  points_.push_back({gain, price});
  points_ = pareto_front(std::move(points_));
}

// The cheapest of those with more gain is the last of them.
bool Front::beats(double gain, double price) const {
  const auto end = std::partition_point(points_.begin(), points_.end(),
                                        [&](const Point& point) { return point.gain > gain; });
  return end != points_.begin() && (end - 1)->price <= price;
}

}  // namespace foreshard::simulator
