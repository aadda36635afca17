// Networks of a dozen moments, against every path through them.
#include "simulator/whatif/activity_network.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace foreshard::simulator {
namespace {

constexpr ActivityId kActivities = 3;

ActivityNetwork random_network() {
  ActivityNetwork network;
  const auto moments = *rc::gen::inRange<Moment>(1, 9);
  for (Moment m = 1; m <= moments; ++m) {
    std::vector<Arrow> arrows;
    for (auto n = *rc::gen::inRange(0, 4); n > 0; --n) {
      arrows.push_back({*rc::gen::inRange<Moment>(0, m),
                        *rc::gen::inRange<ActivityId>(0, kActivities),
                        *rc::gen::inRange<std::int64_t>(0, 20)});
    }
    network.add(arrows);
  }
  return network;
}

std::vector<double> random_factors() {
  std::vector<double> factors;
  for (ActivityId a = 0; a < kActivities; ++a) factors.push_back(*rc::gen::inRange(0, 9) / 4.0);
  return factors;
}

// The longest of all paths that end at `to`, each walked by itself.
std::int64_t longest_path(const ActivityNetwork& network, const std::vector<double>& factors,
                          Moment to) {
  std::int64_t longest = 0;
  for (const Arrow& arrow : network.arrows_to(to)) {
    const std::int64_t ns = scaled(arrow.ns, factors[arrow.activity]);
    longest = std::max(longest, longest_path(network, factors, arrow.from) + ns);
  }
  return longest;
}

RC_GTEST_PROP(ActivityNetwork, TimesAreTheLongestOfAllPaths, ()) {
  const ActivityNetwork network = random_network();
  const std::vector<double> factors = random_factors();
  const std::vector<std::int64_t> times = network.times(factors);
  for (Moment m = 0; m < network.size(); ++m) {
    RC_ASSERT(times[m] == longest_path(network, factors, m));
  }
}

RC_GTEST_PROP(ActivityNetwork, TheCriticalPathIsOneOfThemWithoutAGap, ()) {
  const ActivityNetwork network = random_network();
  const std::vector<double> factors = random_factors();
  const std::vector<std::int64_t> times = network.times(factors);
  const auto last =
      static_cast<Moment>(std::max_element(times.begin(), times.end()) - times.begin());
  std::int64_t at = 0;
  for (const Arrow& arrow : network.critical_path(factors, times, last)) {
    RC_ASSERT(times[arrow.from] == at);
    at += arrow.ns;
  }
  RC_ASSERT(at == times[last]);
}

// A moment that comes later by its slack delays nothing beyond the end, and by one more it does.
RC_GTEST_PROP(ActivityNetwork, SlackIsHowMuchLaterAMomentMayCome, ()) {
  const ActivityNetwork network = random_network();
  const std::vector<double> factors = random_factors();
  const std::vector<std::int64_t> times = network.times(factors);
  const std::int64_t end = *std::max_element(times.begin(), times.end());
  const std::vector<std::int64_t> slack = network.slack(factors, times, end);
  const auto end_if_later = [&](Moment moment, std::int64_t by) {
    std::vector<std::int64_t> later(network.size());
    for (Moment m = 0; m < network.size(); ++m) {
      for (const Arrow& arrow : network.arrows_to(m)) {
        const std::int64_t ns = scaled(arrow.ns, factors[arrow.activity]);
        later[m] = std::max(later[m], later[arrow.from] + ns);
      }
      if (m == moment) later[m] += by;
    }
    return *std::max_element(later.begin(), later.end());
  };
  for (Moment m = 0; m < network.size(); ++m) {
    RC_ASSERT(end_if_later(m, slack[m]) == end);
    RC_ASSERT(end_if_later(m, slack[m] + 1) == end + 1);
  }
}

RC_GTEST_PROP(ActivityNetwork, NothingComesSoonerWhenAnActivityTakesLonger, ()) {
  const ActivityNetwork network = random_network();
  const std::vector<double> factors = random_factors();
  std::vector<double> longer = factors;
  longer[*rc::gen::inRange<std::size_t>(0, kActivities)] += 0.7;
  const std::vector<std::int64_t> before = network.times(factors), after = network.times(longer);
  for (Moment m = 0; m < network.size(); ++m) RC_ASSERT(after[m] >= before[m]);
}

TEST(ActivityNetwork, FactorsThatCancelOutChangeNothing) {
  EXPECT_EQ(scaled(12345678901234567, 4 * 0.25), 12345678901234567);
  EXPECT_EQ(scaled(3, 0.5), 2);
  EXPECT_EQ(scaled(1000, 0), 0);
  EXPECT_GT(scaled(INT64_MAX / 2, 1e6), 0) << "bounded, not overflown";
}

}  // namespace
}  // namespace foreshard::simulator
