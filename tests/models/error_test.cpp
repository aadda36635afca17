#include "models/error.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace foreshard {
namespace {

TEST(Error, TextNamesFileThenFieldThenWhatIsWrong) {
  EXPECT_EQ((Error{"a.toml", "batch.micro_batch", "is 0"}.text()),
            "a.toml: batch.micro_batch: is 0");
  EXPECT_EQ((Error{"", "--ranks", "is 0"}.text()), "--ranks: is 0");
  EXPECT_EQ((Error{"a.toml", "", "no such file"}.text()), "a.toml: no such file");
}

TEST(Error, EditDistanceCountsASwapOfNeighboursAsOne) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("trasformer", "transformer"), 1);
  EXPECT_EQ(edit_distance("lamda", "lambda"), 1);
  EXPECT_EQ(edit_distance("pre", "per"), 1);
}

TEST(Error, NearestSuggestsOnlyWhatIsNear) {
  const std::vector<std::string> words = {"micro_batch", "sequence", "accumulation"};
  EXPECT_EQ(nearest("microbatch", words), "micro_batch");
  EXPECT_EQ(nearest("secuence", words), "sequence");
  EXPECT_EQ(nearest("potatoes", words), "");
}

}  // namespace
}  // namespace foreshard
