// A run of training that goes on from what another one has left: with what it had, and with what is asked
// otherwise.
#include <fstream>

#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

using nlohmann::json;
using Arguments = std::vector<std::string>;

// Tokens that no two places of the file have in common for long; `first` tells files apart.
void write_tokens(const Workplace& place, const std::string& name, int first, int count = 4001) {
  std::string bytes;
  for (int i = 0; i < count; ++i) {
    bytes += static_cast<char>((first + i * i / 7 + i) % 251);
    bytes += '\0';
  }
  place.write(name, bytes);
}

class LongRun : public testing::Test {
 protected:
  // Of plan.toml, tokens.bin and seed 5, as long as nothing else is said.
  Arguments first(const Arguments& more) const {
    auto arguments = job("train", 2, {"--data", "tokens.bin", "--seed", "5"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  Arguments resumed(const Arguments& more, int ranks = 2) const {
    Arguments arguments = {"train",    "--model", "model", "--ranks", std::to_string(ranks),
                           "--resume", "saved"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  void expect_equal(const json& rest, const json& whole) const {
    const std::size_t skipped = whole["steps"].size() - rest["steps"].size();
    for (std::size_t i = 0; i < rest["steps"].size(); ++i) {
      for (const char* field : {"step", "loss", "grad_norm"}) {
        EXPECT_EQ(rest["steps"][i].at(field), whole["steps"][skipped + i].at(field)) << i << field;
      }
    }
  }
  void SetUp() override { write_tokens(place, "tokens.bin", 0); }

  const Workplace place;
};

TEST_F(LongRun, TakesPlanDataAndSeedOfItsCheckpoint) {
  place.write("plan.toml", place.read("plan.toml") + "[optimizer]\nlr = 0.003\n");
  const json whole = place.run_json(first({"--steps", "6"}));
  place.run_json(first({"--steps", "3", "--save", "saved"}));
  expect_equal(place.run_json(resumed({"--steps", "6"})), whole);
  const Outcome same = place.run(first({"--steps", "4", "--resume", "saved"}));
  EXPECT_EQ(same.status, 0);
  EXPECT_EQ(same.err.find("not as in the checkpoint"), std::string::npos) << same.err;
  place.write("elsewhere.bin", place.read("tokens.bin"));
  const Outcome moved = place.run(resumed({"--steps", "4", "--data", "elsewhere.bin"}));
  EXPECT_EQ(moved.status, 0);
  EXPECT_EQ(moved.err.find("not as in the checkpoint"), std::string::npos) << moved.err;
}

TEST_F(LongRun, SaysWhatIsOtherwise) {
  place.run_json(first({"--steps", "3", "--save", "saved"}));
  write_tokens(place, "other.bin", 100);
  place.write("other.toml",
              place.read("plan.toml") + "[optimizer]\nlr = 0.5\nweight_decay = 0.25\n");
  const Outcome outcome = place.run(resumed({"--steps", "4", "--plan", "other.toml", "--data",
                                             "other.bin", "--seed", "6", "--total-steps", "9"},
                                            1));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  std::size_t lines = 0;
  for (const char* line : {"ranks 2 -> 1", "seed 5 -> 6", "total steps 3 -> 9",
                           "optimizer.lr 0.001 -> 0.5", "optimizer.weight_decay 0.1 -> 0.25"}) {
    EXPECT_NE(outcome.err.find("not as in the checkpoint: " + std::string(line) + "\n"),
              std::string::npos)
        << line << '\n'
        << outcome.err;
  }
  for (std::size_t at = 0; (at = outcome.err.find("not as", at)) != std::string::npos; ++at) {
    ++lines;
  }
  EXPECT_EQ(lines, 6U) << outcome.err;
  EXPECT_NE(outcome.err.find("tokens.bin -> "), std::string::npos) << outcome.err;
}

TEST_F(LongRun, RefusesWhatCannotBeContinued) {
  place.run_json(first({"--steps", "3", "--save", "saved", "--export-weights", "w.safetensors"}));
  const auto complaint = [&](const Arguments& more) {
    const Outcome outcome = place.run(resumed(more));
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    return outcome.err;
  };
  EXPECT_NE(complaint({"--steps", "4", "--init", "w.safetensors"}).find("--init"),
            std::string::npos);
  place.write("sgd.toml", "[optimizer]\nname = \"sgd\"\n");
  EXPECT_NE(complaint({"--steps", "4", "--plan", "sgd.toml"}).find("sgd"), std::string::npos);
  write_tokens(place, "tokens.bin", 1);
  EXPECT_NE(complaint({"--steps", "4"}).find("tokens.bin: has other tokens"), std::string::npos);
  write_tokens(place, "tokens.bin", 0, 2001);
  EXPECT_NE(complaint({"--steps", "4"}).find("(2001, then 4001)"), std::string::npos);
}

// Two samples of 16 a rank and step: 32 tokens a step, so that 96 are read after three.
TEST_F(LongRun, CountsTokensWhereSamplesGetAnotherLength) {
  place.run_json(first({"--steps", "3", "--save", "saved", "--export-weights", "w.safetensors"}));
  place.write("rest.bin", place.read("tokens.bin").substr(2 * 96));
  for (const int sequence : {8, 24, 32}) {
    place.write("longer.toml", "[batch]\nmicro_batch = 1\nsequence = " + std::to_string(sequence) +
                                   "\n[precision]\nparam = \"fp32\"\n");
    const json rest = place.run_json(resumed({"--steps", "4", "--plan", "longer.toml"}));
    const json truth =
        place.run_json({"train", "--model", "model", "--plan", "longer.toml", "--ranks", "2",
                        "--data", "rest.bin", "--init", "w.safetensors", "--steps", "1"});
    EXPECT_EQ(rest["steps"][0].at("loss"), truth["steps"][0].at("loss")) << sequence;
  }
}

}  // namespace
}  // namespace foreshard::cli_tests
