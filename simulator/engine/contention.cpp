#include "simulator/engine/contention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace foreshard::simulator {
namespace {

constexpr Part kShared[] = {Part::links, Part::cards, Part::from_host, Part::to_host};
// Of a part that transfers take, a kernel keeps at least half: its own blocks are at work when theirs come.
constexpr double kMostTaken = 0.5;
constexpr double kLeast = 1e-6;  // of a part; less is none

constexpr std::size_t index(Part part) {
  return static_cast<std::size_t>(part);
}

double kernel_speed(const Demand& taken, Part lacks) {
  return 1 - std::min<double>(kMostTaken, taken[index(lacks)]);
}

double transfer_speed(const Demand& taken, const Demand& takes) {
  double speed = 1;
  for (const Part part : kShared) {
    const double wanted = takes[index(part)];
    if (wanted > kLeast) speed = std::min(speed, (1 - taken[index(part)]) / wanted);
  }
  return speed > kLeast ? speed : 0;
}

// When work of `ns` is done that starts then and goes on at speed(what all under way take); `visit` gets each
// stretch of one speed.
//
// Times are taken from the start, so that a task that starts later by some nanoseconds, among
// collectives that do so too, ends later by as many.
template <typename Speed, typename Visit>
std::int64_t end_of(std::int64_t start, std::int64_t ns, const std::vector<UnderWay>& all,
                    const Speed& speed, const Visit& visit) {
  double left = static_cast<double>(ns);
  std::int64_t now = start;
  for (;;) {
    Demand taken{};
    std::int64_t until = std::numeric_limits<std::int64_t>::max();  // none begins or ends before
    for (const UnderWay& one : all) {
      if (one.end <= now) continue;
      until = std::min(until, one.start > now ? one.start : one.end);
      if (one.start > now) break;
      for (std::size_t part = 0; part < taken.size(); ++part) taken[part] += one.takes[part];
    }
    const double at = speed(taken);
    if (until == std::numeric_limits<std::int64_t>::max() ||
        left <= at * static_cast<double>(until - now)) {
      const double more = at > 0 ? left / at : left;
      const std::int64_t end = now + std::llround(more);
      visit(now, end, at);
      return end;
    }
    visit(now, until, at);
    left -= at * static_cast<double>(until - now);
    now = until;
  }
}

}  // namespace

void TransfersUnderWay::add(std::int64_t start, std::int64_t end, const TaskCost& cost) {
  std::vector<UnderWay> stretches;
  end_of_transfer(start, cost, [&](std::int64_t from, std::int64_t to, double speed) {
    UnderWay& one = stretches.emplace_back(UnderWay{from, to, cost.takes});
    one.takes[index(Part::memory)] *= static_cast<float>(speed);
    for (const Part part : kShared) {
      one.takes[index(part)] *= static_cast<float>(speed);
    }
  });
  if (stretches.back().end < end) {  // other ranks are not done
    Demand waiting{};
    waiting[index(Part::multiprocessors)] = cost.takes[index(Part::multiprocessors)];
    stretches.push_back({stretches.back().end, end, waiting});
  }
  const auto later = [](const UnderWay& a, const UnderWay& b) { return a.start < b.start; };
  for (const UnderWay& one : stretches) {
    all_.insert(std::upper_bound(all_.begin(), all_.end(), one, later), one);
  }
}

void TransfersUnderWay::forget_before(std::int64_t time) {
  std::erase_if(all_, [&](const UnderWay& one) { return one.end <= time; });
}

std::int64_t TransfersUnderWay::end_of_kernel(std::int64_t start, const TaskCost& cost) const {
  if (all_.empty()) return start + cost.ns;
  return end_of(
      start, cost.ns, all_, [&](const Demand& taken) { return kernel_speed(taken, cost.lacks); },
      [](std::int64_t, std::int64_t, double) {});
}

template <typename Visit>
std::int64_t TransfersUnderWay::end_of_transfer(std::int64_t start, const TaskCost& cost,
                                                const Visit& visit) const {
  return end_of(
      start, cost.ns, all_, [&](const Demand& taken) { return transfer_speed(taken, cost.takes); },
      visit);
}

std::int64_t TransfersUnderWay::end_of_transfer(std::int64_t start, const TaskCost& cost) const {
  return end_of_transfer(start, cost, [](std::int64_t, std::int64_t, double) {});
}

void TransfersUnderWay::shift(std::int64_t ns) {
  for (UnderWay& one : all_) {
    one.start += ns;
    one.end += ns;
  }
}

}  // namespace foreshard::simulator
