// The longest common run, against one found by trying all places.
#include "profiler/replay/common_run.hpp"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace foreshard::profiler {
namespace {

using Values = std::vector<std::uint64_t>;

CommonRun tried(const Values& a, const Values& b) {
  CommonRun longest;
  for (std::size_t j = 0; j < b.size(); ++j) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      std::size_t length = 0;
      while (i + length < a.size() && j + length < b.size() && a[i + length] == b[j + length]) {
        ++length;
      }
      if (length > longest.length) longest = {i, j, length};
    }
  }
  return longest;
}

TEST(CommonRun, IsTheLongestOfAll) {
  std::mt19937_64 random(7);
  for (std::uint64_t draw = 0; draw < 2000; ++draw) {
    // Few different values, so that runs are many and overlap.
    const auto drawn = [&] {
      Values values(random() % 20);
      for (std::uint64_t& value : values) value = random() % (1 + draw % 4);
      return values;
    };
    const Values a = drawn(), b = drawn();
    const CommonRun found = longest_common_run(a, b), expected = tried(a, b);
    ASSERT_EQ(found.length, expected.length);
    if (found.length == 0) continue;
    ASSERT_EQ(found.a, expected.a);
    ASSERT_EQ(found.b, expected.b);
  }
}

}  // namespace
}  // namespace foreshard::profiler
