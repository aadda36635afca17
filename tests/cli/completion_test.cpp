// What the completion script offers in bash, against what the program, the bundled models and the
// catalogue know. The script is written by hand; this keeps it whole.
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "models/llama/llama_config.hpp"
#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

using Words = std::set<std::string>;

// The words bash offers after `line`, whose last word is the one being typed.
Words offered(const std::string& line, int last_word) {
  const std::string script =
      std::string(FORESHARD_SOURCE_DIR) + "/scripts/completion/foreshard.bash";
  const std::string command = "cd / && bash -c 'compopt() { :; }; source \"" + script +
                              "\"; COMP_WORDS=(" + line +
                              "); COMP_CWORD=" + std::to_string(last_word) +
                              "; _foreshard; printf \"%s\\n\" \"${COMPREPLY[@]}\"'";
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  EXPECT_EQ(::pclose(pipe), 0);
  std::istringstream lines(text);
  Words words;
  for (std::string word; lines >> word;) words.insert(word);
  return words;
}

// The --flags a help text lists: the first words of its lines, "-h,--help" and the like.
Words flags_of(const std::string& help) {
  std::istringstream lines(help);
  Words flags;
  for (std::string line; std::getline(lines, line);) {
    const auto dashes = line.find("--");
    if (line.find_first_not_of(' ') == line.find('-') && dashes < 10) {
      flags.insert(line.substr(dashes, line.find(' ', dashes) - dashes));
    }
  }
  return flags;
}

TEST(Completion, OffersEveryFlagOfEveryCommand) {
  const Workplace place;
  const Words commands = offered("foreshard \"\"", 1);
  ASSERT_TRUE(commands.contains("train"));
  for (const auto& command : commands) {
    if (command.starts_with("-")) continue;
    const Words flags = flags_of(place.run({command, "--help"}).out);
    EXPECT_TRUE(flags.contains("--help")) << command;
    EXPECT_EQ(offered("foreshard " + command + " --", 2), flags) << command;
  }
}

TEST(Completion, OffersEveryBundledModel) {
  const Words words = offered("foreshard predict --model \"\"", 3);
  for (const auto& model : bundled_models()) EXPECT_TRUE(words.contains(model)) << model;
}

TEST(Completion, OffersEveryMachineOfTheCatalogue) {
  std::ifstream catalogue(std::string(FORESHARD_SOURCE_DIR) +
                          "/models/hardware/catalogue/hardware.csv");
  std::string row;
  std::getline(catalogue, row);
  Words machines;
  while (std::getline(catalogue, row)) machines.insert(row.substr(0, row.find(',')));
  EXPECT_EQ(offered("foreshard predict --machine \"\"", 3), machines);
}

}  // namespace
}  // namespace foreshard::cli_tests
