#include "models/base/moment.hpp"

#include <gtest/gtest.h>

namespace foreshard {
namespace {

TEST(Moment, HasAUnit) {
  EXPECT_EQ(parse_moment("1.2s"), 1'200'000'000);
  EXPECT_EQ(parse_moment("350ms"), 350'000'000);
  EXPECT_EQ(parse_moment("40us"), 40'000);
  EXPECT_EQ(parse_moment("7ns"), 7);
  EXPECT_EQ(parse_moment("7"), 7);
  EXPECT_EQ(parse_moment("-2ms"), -2'000'000);
  for (const char* none : {"", "s", "1 min", "1.2h", "nan", "inf", "1e30s"}) {
    EXPECT_FALSE(parse_moment(none)) << none;
  }
}

}  // namespace
}  // namespace foreshard
