// What a memory curve is made of, each against a plain list, with counts around the check points.
#include "gui/models/memory/level_history.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "gui/models/memory/held_values.hpp"
#include "gui/models/memory/host_times.hpp"

namespace foreshard::gui {
namespace {

class OfCount : public testing::TestWithParam<std::size_t> {
 protected:
  std::size_t count() const { return GetParam(); }
  std::size_t below(std::size_t limit) { return random_() % limit; }
  // Two places, the first before the second.
  std::pair<std::size_t, std::size_t> stretch() {
    const std::size_t a = below(count()), b = below(count());
    return {std::min(a, b), std::max(a, b) + 1};
  }

  std::mt19937 random_{5};
};
INSTANTIATE_TEST_SUITE_P(AroundCheckPoints, OfCount,
                         testing::Values(1u, 2u, 63u, 64u, 65u, 127u, 128u, 129u, 1023u, 1024u,
                                         1025u, 1089u, 2500u));

TEST_P(OfCount, LevelsAreTheSumOfTheirChanges) {
  constexpr std::size_t kLayers = 3;
  LevelHistory history(kLayers, count());
  std::vector<std::vector<std::int64_t>> expected;  // of each event, of each layer
  std::vector<std::int64_t> now(kLayers), totals;
  for (std::size_t n = 0; n < count(); ++n) {
    LevelHistory::Change change;
    for (auto& part : change) {
      if (below(3) == 0) continue;
      // Few different ones, or many, so that their numbers get wider.
      const std::size_t choices = n < 300 ? 9 : 100'000;
      part = {static_cast<std::uint8_t>(below(kLayers)),
              static_cast<std::int64_t>(below(choices)) - static_cast<std::int64_t>(choices / 2)};
      now[part.layer] += part.bytes;
    }
    history.add(change);
    expected.push_back(now);
    totals.push_back(now[0] + now[1] + now[2]);
  }
  history.finish();
  ASSERT_EQ(history.size(), count());
  for (std::size_t n = 0; n < count(); ++n) {
    ASSERT_EQ(history.total(n), totals[n]) << n;
    ASSERT_EQ(history.levels(n), expected[n]) << n;
  }
  for (int round = 0; round < 500; ++round) {
    const auto [first, last] = stretch();
    const auto begin = totals.begin();
    const auto highest = std::max_element(begin + static_cast<std::ptrdiff_t>(first),
                                          begin + static_cast<std::ptrdiff_t>(last));
    ASSERT_EQ(history.highest(first, last), static_cast<std::size_t>(highest - begin))
        << first << " to " << last;
    auto levels = expected[first];
    history.advance(first, last - 1, levels);
    ASSERT_EQ(levels, expected[last - 1]);
  }
}

TEST_P(OfCount, HeldValuesAreThoseThatWereAdded) {
  for (const std::size_t seldom : {1u, 3u, 40u, 400u}) {
    HeldValues held;
    std::vector<std::int64_t> expected;
    std::int64_t now = 10;
    for (std::size_t n = 0; n < count(); ++n) {
      if (below(seldom) == 0) now += static_cast<std::int64_t>(below(4));
      held.push_back(now);
      expected.push_back(now);
    }
    held.finish();
    ASSERT_EQ(held.size(), count());
    for (std::size_t n = 0; n < count(); ++n) ASSERT_EQ(held[n], expected[n]) << n;
    for (int round = 0; round < 200; ++round) {
      const auto [first, last] = stretch();
      ASSERT_EQ(held.highest(first, last), expected[last - 1]);
      const std::int64_t limit = 5 + static_cast<std::int64_t>(below(count() * 4));
      const auto found = std::lower_bound(expected.begin(), expected.end(), limit);
      const auto answer = static_cast<std::size_t>(found - expected.begin());
      ASSERT_EQ(held.first_not_below(limit, below(answer + 1)), answer) << limit;
    }
  }
}

TEST_P(OfCount, HostTimesNeverDecrease) {
  traces::MemoryEventList events;
  std::vector<std::int64_t> expected;
  for (std::size_t n = 0; n < count(); ++n) {
    traces::MemoryEvent event;
    event.time_ns = static_cast<std::int64_t>(2 * n + below(100));  // partly out of order
    expected.push_back(std::max(expected.empty() ? 0 : expected.back(), event.time_ns));
    events.push_back(event);
  }
  const HostTimes times(events);
  ASSERT_EQ(times.size(), count());
  for (std::size_t n = 0; n < count(); ++n) ASSERT_EQ(times[n], expected[n]) << n;
  for (int round = 0; round < 500; ++round) {
    const auto limit = static_cast<std::int64_t>(below(2 * count() + 120));
    const auto found = std::lower_bound(expected.begin(), expected.end(), limit);
    const auto answer = static_cast<std::size_t>(found - expected.begin());
    ASSERT_EQ(times.first_not_below(limit, below(answer + 1)), answer) << limit;
  }
}

TEST(NarrowNumbers, WidenWithTheLargest) {
  NarrowNumbers numbers;
  std::vector<std::uint32_t> expected;
  for (const std::uint32_t number : {0u, 255u, 256u, 7u, 65'535u, 65'536u, UINT32_MAX, 1u}) {
    numbers.push_back(number);
    expected.push_back(number);
    ASSERT_EQ(numbers.size(), expected.size());
    for (std::size_t n = 0; n < expected.size(); ++n) ASSERT_EQ(numbers[n], expected[n]);
  }
}

}  // namespace
}  // namespace foreshard::gui
