// The plans in examples/: each is read without a warning and predicts. The commands in README.md name
// files that are shipped or that an earlier command writes.
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

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

// The commands of the fenced blocks, in order; a line that ends with a backslash goes on.
std::vector<std::vector<std::string>> readme_commands() {
  std::ifstream readme(FORESHARD_SOURCE_DIR "/README.md");
  std::vector<std::vector<std::string>> commands;
  bool is_fenced = false, continues = false;
  for (std::string line; std::getline(readme, line);) {
    if (line.starts_with("```")) is_fenced = !is_fenced;
    if (!is_fenced || !(continues || line.starts_with("foreshard "))) continue;
    std::istringstream words(line.substr(0, line.find('#')));
    if (!continues) commands.emplace_back();
    continues = false;
    for (std::string word; words >> word;) {
      continues = word == "\\";
      if (!continues) commands.back().push_back(word);
    }
  }
  return commands;
}

TEST(Examples, ReadmeCommandsNameShippedOrWrittenFiles) {
  const std::set<std::string> kWrites{"-o",    "--trace",    "--save",          "--csv",
                                      "--svg", "--perfetto", "--export-weights"};
  const std::set<std::string> kReads{"--plan", "--costs", "--init",  "--data",
                                     "--base", "--space", "--prices"};
  const std::set<std::string> kFirstIsFile{"inspect", "compare", "query",
                                           "export",  "replay",  "fit"};
  std::set<std::string> written;
  const auto exists = [&](const std::string& file) {
    return written.contains(file) ||
           std::filesystem::exists(std::filesystem::path(FORESHARD_SOURCE_DIR) / file);
  };
  std::size_t checked = 0;
  for (const auto& command : readme_commands()) {
    const bool takes_files = kFirstIsFile.contains(command.at(1));
    std::set<std::string> outputs;
    for (std::size_t i = 2; i < command.size(); ++i) {
      const std::string& word = command[i];
      if (kWrites.contains(command[i - 1])) {
        outputs.insert(word);
      } else if (kReads.contains(command[i - 1]) || word.starts_with("traces/") ||
                 (takes_files && word.ends_with(".fst"))) {
        EXPECT_TRUE(exists(word)) << "foreshard " << command[1] << ": " << word;
        ++checked;
      }
    }
    written.merge(outputs);
  }
  EXPECT_GE(checked, 15u);
}

}  // namespace
}  // namespace foreshard::cli_tests
