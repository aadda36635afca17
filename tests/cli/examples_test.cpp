// The plans in examples/: each is understood without a warning and predicts.
#include <filesystem>

#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

TEST(Examples, ArePlansWithoutWarnings) {
  const Workplace place;
  int examples = 0;
  for (const auto& entry : std::filesystem::directory_iterator(FORESHARD_SOURCE_DIR "/examples")) {
    if (entry.path().extension() != ".toml") continue;
    SCOPED_TRACE(entry.path());
    ++examples;
    const Outcome program = place.run({"program", "--model", "llama-3.1-8b", "--plan",
                                       entry.path().string(), "--ranks", "16", "--nodes", "2"});
    EXPECT_EQ(program.status, 0);
    EXPECT_EQ(program.err, "");
    const auto answer =
        place.run_json({"predict", "--model", "llama-3.1-8b", "--plan", entry.path().string(),
                        "--ranks", "16", "--nodes", "2", "--machine", "h100-sxm"});
    EXPECT_TRUE(answer["fits"].get<bool>());
    EXPECT_GT(answer["step_time_ns"].get<std::int64_t>(), 0);
  }
  EXPECT_GE(examples, 5);
}

}  // namespace
}  // namespace foreshard::cli_tests
