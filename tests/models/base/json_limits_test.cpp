#include "models/base/json_limits.hpp"

#include <gtest/gtest.h>

namespace foreshard {
namespace {

TEST(JsonLimits, DepthIsThatOfArraysAndObjects) {
  EXPECT_EQ(json_excess("[[1]]", 2), "");
  EXPECT_EQ(json_excess("[[[1]]]", 2), "nests deeper than 2 levels");
  EXPECT_EQ(json_excess("{\"a\":{\"b\":[]}}", 2), "nests deeper than 2 levels");
  EXPECT_EQ(json_excess("[[],[],[[]]]", 3), "");
  EXPECT_EQ(json_excess("[][][][]", 1), "");
  EXPECT_EQ(json_excess(std::string(1 << 20, '['), 16), "nests deeper than 16 levels");
  EXPECT_EQ(json_excess("SQLite [[[[", 2), "") << "a parser stops at its first byte";
}

TEST(JsonLimits, BracketsInTextAreNone) {
  EXPECT_EQ(json_excess(R"(["[[[[", "\"[[[", "\\"])", 1), "");
  EXPECT_EQ(json_excess(R"(["\\", [[]]])", 2), "nests deeper than 2 levels");
}

TEST(JsonLimits, ValuesAreCounted) {
  EXPECT_EQ(json_excess("[1,2,3]", 4, 4), "");
  EXPECT_EQ(json_excess("[1,2,3,4]", 4, 4), "holds more than 4 values");
  EXPECT_EQ(json_excess("[\"1,2,3,4,5,6,7\"]", 4, 4), "");
}

}  // namespace
}  // namespace foreshard
