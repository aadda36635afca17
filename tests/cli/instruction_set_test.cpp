// FORESHARD_SIMD from outside: which kernels a run computes with, and how it names them.
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(InstructionSets, AUserMayForceOne) {
  const Workplace place;
  const auto train = job("train", 1, {"--steps", "1", "--trace", "t.fst"});
  const Outcome forced = place.run(train, {{"FORESHARD_SIMD", "baseline"}});
  ASSERT_EQ(forced.status, 0) << forced.err;
  EXPECT_TRUE(forced.err.starts_with("training on the CPU with baseline: 1 rank of")) << forced.err;
  EXPECT_FALSE(contains(forced.err, "no fast bf16"));
  std::ifstream file(place.path("t.fst"), std::ios::binary);
  const std::string trace(std::istreambuf_iterator<char>(file), {});
  EXPECT_TRUE(contains(trace, "instruction_setbaseline"));  // a row's texts follow each other

  place.write("plan.toml", "[batch]\nsequence = 16\n[precision]\nparam = \"bf16\"\n");
  const Outcome slow =
      place.run(job("train", 1, {"--steps", "1"}), {{"FORESHARD_SIMD", "baseline"}});
  ASSERT_EQ(slow.status, 0) << slow.err;
  EXPECT_TRUE(contains(slow.err, "no fast bf16 ")) << slow.err;
}

TEST(InstructionSets, OneThatIsNoneIsBadInput) {
  const Workplace place;
  const Outcome wrong =
      place.run(job("train", 1, {"--steps", "1"}), {{"FORESHARD_SIMD", "avx1024"}});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_TRUE(
      contains(wrong.err, "FORESHARD_SIMD: 'avx1024' is not an instruction set; expected one of"))
      << wrong.err;
  EXPECT_TRUE(contains(wrong.err, "baseline")) << wrong.err;
}

}  // namespace
}  // namespace foreshard::cli_tests
