// The plans in examples/: each is read without a warning and predicts.
#include <filesystem>
#include <fstream>
#include <string>

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

TEST(Examples, SearchTheSpaceWithThePrices) {
  const std::string folder = FORESHARD_SOURCE_DIR "/examples/";
  const auto answer = Workplace().run_json(
      {"search", "--model", "llama-3.2-1b", "--base", folder + "default.toml", "--space",
       folder + "search/space.toml", "--prices", folder + "search/prices.csv", "--machines",
       "h100-sxm,a100-sxm-80", "--gpus", "8", "--objective", "cost"});
  EXPECT_EQ(answer["plans_considered"], 3 * 2 * 2 * 3 * 2 * 2);
  EXPECT_GT(answer["best"]["cost_per_million_tokens"].get<double>(), 0);
}

// The fenced table of docs/adding-a-machine.md is a machine for every set of operators.
TEST(Examples, TheDocumentationsMachineAnswers) {
  std::ifstream page(FORESHARD_SOURCE_DIR "/docs/adding-a-machine.md");
  std::string table;
  for (std::string line; std::getline(page, line);) {
    if (table.empty() ? line.starts_with("id,") : !line.starts_with("```")) {
      table += line + "\n";
    } else if (!table.empty()) {
      break;
    }
  }
  const Workplace place;
  place.write("machines.csv", table);
  const std::string id = table.substr(table.find('\n') + 1, 6);
  for (const char* const operators : {"foreshard", "pytorch-eager", "pytorch-compile"}) {
    place.write("plan.toml", std::string("operators = \"") + operators +
                                 "\"\n[batch]\nmicro_batch = 1\nsequence = 1000\n");
    const auto answer = place.run_json({"predict", "--model", "llama-3.2-1b", "--plan", "plan.toml",
                                        "--ranks", "16", "--machine", "machines.csv:" + id});
    EXPECT_GT(answer["step_time_ns"].get<std::int64_t>(), 0) << operators;
  }
}

}  // namespace
}  // namespace foreshard::cli_tests
