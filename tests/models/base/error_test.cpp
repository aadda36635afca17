#include "models/base/error.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "models/base/nearest_names.hpp"

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

TEST(NearestNames, AreSimilarOrHoldTheWord) {
  const std::vector<std::string> words = {"h100-sxm", "H100-pcie", "h200", "a100", "gpu_8x_h100"};
  EXPECT_EQ(nearest_names("h100-sxn", words), std::vector<std::string>{"h100-sxm"});
  EXPECT_EQ(nearest_names("h100", words),
            (std::vector<std::string>{"h100-sxm", "H100-pcie", "gpu_8x_h100"}));
  EXPECT_EQ(nearest_names("h100", words, 1), std::vector<std::string>{"h100-sxm"});
  EXPECT_TRUE(nearest_names("potatoes", words).empty());
  EXPECT_TRUE(nearest_names("", words).empty());
}

TEST(NearestNames, AreSaidAsAQuestion) {
  EXPECT_EQ(did_you_mean({}), "");
  EXPECT_EQ(did_you_mean({"a"}), "; did you mean 'a'?");
  EXPECT_EQ(did_you_mean({"a", "b", "c"}), "; did you mean 'a', 'b' or 'c'?");
}

TEST(Error, TextShowsNoControlCharacterAndNoEndlessName) {
  EXPECT_EQ((Error{"a\x1b]0;b\x07.toml", "k\xff", "is \xc2\x9b"}.text()),
            "a\uFFFD]0;b\uFFFD.toml: k\uFFFD: is \uFFFD");
  const std::string text =
      Error{std::string(1 << 20, 'f'), "", "is \"" + std::string(1 << 20, 'x') + "\"; expected y"}
          .text();
  EXPECT_LT(text.size(), 2100u);
  EXPECT_TRUE(text.ends_with("xxx\"; expected y")) << text;
}

// The words of a hostile file may have gigabytes, and the distance's table their square.
TEST(Error, EndlessWordsAreNearNothing) {
  const std::vector<std::string> words = {"alloc", std::string(100'000, 'a')};
  EXPECT_EQ(nearest(std::string(std::size_t{1} << 26, 'a'), words), "");
}

}  // namespace
}  // namespace foreshard
