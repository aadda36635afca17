// The completion scripts that `foreshard completion` prints, run by their shells: what they offer is
// what the program takes. Shells that are not installed are skipped.
#include <cstdio>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "models/hardware/hardware.hpp"
#include "models/llama/llama_config.hpp"
#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

using Words = std::set<std::string>;

Words words_in(const std::string& text) {
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) words.insert(word);
  return words;
}

// The words bash offers after `line`, whose last word is the one being typed.
Words bash_offers(const Workplace& place, const std::string& line, int last_word) {
  place.write("complete",
              "compopt() { :; }\nsource <(\"$FORESHARD\" completion bash)\nCOMP_WORDS=(" + line +
                  ")\nCOMP_CWORD=" + std::to_string(last_word) +
                  "\n_foreshard\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n");
  const Outcome outcome = place.shell("bash complete");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  return words_in(outcome.out);
}

// The --options a help text lists.
Words options_of(const std::string& help) {
  std::istringstream lines(help);
  Words options;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ") || line.find('-') > 6) continue;  // a sentence, or the rest of one
    std::istringstream words(line);
    for (std::string word; words >> word && word.starts_with("-");) {
      if (word.back() == ',') word.pop_back();
      if (word.starts_with("--")) options.insert(word);
    }
  }
  return options;
}

Words commands_of(const Workplace& place) {
  Words commands = bash_offers(place, "foreshard \"\"", 1);
  for (const char* word : {"help", "--help", "--version"}) EXPECT_EQ(commands.erase(word), 1u);
  EXPECT_TRUE(commands.contains("train"));
  return commands;
}

bool has_shell(const Workplace& place, const std::string& shell) {
  return place.shell("command -v " + shell).status == 0;
}

Words all_machines() {
  Words machines;
  for (const Machine& machine : bundled_machines()) machines.insert(machine.id);
  return machines;
}

TEST(Completion, BashOffersEveryOptionOfEveryCommand) {
  const Workplace place;
  for (const auto& command : commands_of(place)) {
    const Words options = options_of(place.run({command, "--help"}).out);
    EXPECT_TRUE(options.contains("--help")) << command;
    EXPECT_EQ(bash_offers(place, "foreshard " + command + " --", 2), options) << command;
  }
}

TEST(Completion, BashOffersModelsMachinesAndChoices) {
  const Workplace place;
  const Words models = bash_offers(place, "foreshard predict --model \"\"", 3);
  for (const auto& model : bundled_models()) EXPECT_TRUE(models.contains(model)) << model;
  EXPECT_TRUE(models.contains("plan.toml"));  // a path may be a model too
  EXPECT_EQ(bash_offers(place, "foreshard predict --machine \"\"", 3), all_machines());
  EXPECT_EQ(bash_offers(place, "foreshard train --comm = t", 4), Words{"tcp"});
  EXPECT_EQ(bash_offers(place, "foreshard train --comm =", 3),
            (Words{"auto", "local", "tcp", "mpi", "nccl"}));
  EXPECT_EQ(bash_offers(place, "foreshard train --ranks \"\"", 3), Words{});
}

TEST(Completion, BashOffersArgumentsByTheirPlace) {
  const Workplace place;
  const Words sources = {"kineto", "nsys", "snapshot"};
  EXPECT_EQ(bash_offers(place, "foreshard import \"\"", 2), sources);
  EXPECT_EQ(bash_offers(place, "foreshard import -o a.fst \"\"", 4), sources);
  EXPECT_TRUE(bash_offers(place, "foreshard import kineto \"\"", 3).contains("plan.toml"));
  EXPECT_TRUE(bash_offers(place, "foreshard import kineto a b \"\"", 5).contains("plan.toml"));
  EXPECT_TRUE(bash_offers(place, "foreshard inspect pl", 2).contains("plan.toml"));
  EXPECT_EQ(bash_offers(place, "foreshard query run.fst opera", 3), Words{"operators"});
  EXPECT_EQ(bash_offers(place, "foreshard manual pred", 2), Words{"predict"});
  EXPECT_EQ(bash_offers(place, "foreshard list \"\"", 2), (Words{"models", "machines"}));
}

// What zsh's own function for options is given, with its other functions left out.
TEST(Completion, ZshDescribesEveryOption) {
  const Workplace place;
  if (!has_shell(place, "zsh")) GTEST_SKIP() << "needs zsh (package zsh of Debian)";
  for (const auto& command : commands_of(place)) {
    place.write("complete",
                "compdef() { :; }\n_arguments() { print -rl -- \"$@\" }\nsource <(\"$FORESHARD\" "
                "completion zsh)\nwords=(foreshard " +
                    command + " '')\nCURRENT=3\n_foreshard\n");
    const Outcome outcome = place.shell("zsh -f complete");
    EXPECT_EQ(outcome.status, 0) << command << outcome.err;
    EXPECT_EQ(outcome.err, "") << command;
    for (const auto& option : options_of(place.run({command, "--help"}).out)) {
      EXPECT_NE(outcome.out.find(option + "["), std::string::npos) << command << " " << option;
    }
  }
}

TEST(Completion, FishOffersEveryOptionAndValue) {
  const Workplace place;
  if (!has_shell(place, "fish")) GTEST_SKIP() << "needs fish (package fish of Debian)";
  const auto offers = [&](const std::string& line) {
    place.write("complete.fish",
                "$FORESHARD completion fish | source\ncomplete -C '" + line + "'\n");
    const Outcome outcome = place.shell("HOME=\"$PWD\" fish --no-config complete.fish");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    std::istringstream lines(outcome.out);
    Words words;
    for (std::string each; std::getline(lines, each);)
      words.insert(each.substr(0, each.find('\t')));
    return words;
  };
  for (const auto& command : commands_of(place)) {
    const Words options = options_of(place.run({command, "--help"}).out);
    EXPECT_EQ(offers("foreshard " + command + " --"), options) << command;
  }
  EXPECT_EQ(offers("foreshard predict --machine "), all_machines());
  EXPECT_TRUE(offers("foreshard predict --model ").contains("llama-3.1-8b"));
  EXPECT_TRUE(offers("foreshard inspect pl").contains("plan.toml"));
}

}  // namespace
}  // namespace foreshard::cli_tests
