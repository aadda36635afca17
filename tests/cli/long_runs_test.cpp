// A run of training as many hours of work: what it leaves on its way, and how another one goes on from that,
// with what it had or with what is asked otherwise.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"
#include "tests/cli/torchrun.hpp"

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
  // The checkpoints by their names, in order of their steps.
  std::vector<int> steps_in(const std::string& folder) const {
    std::vector<int> steps;
    for (const auto& entry : std::filesystem::directory_iterator(place.path(folder))) {
      const std::string name = entry.path().filename().string();
      int step = 0, end = 0;
      if (std::sscanf(name.c_str(), "step-%d%n", &step, &end) == 1 &&
          static_cast<std::size_t>(end) == name.size()) {
        steps.push_back(step);
      }
    }
    std::ranges::sort(steps);
    return steps;
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

// Bit by bit on as many ranks, and on others from the same bits, whatever the format.
TEST_F(LongRun, GoesOnFromEveryFormat) {
  for (const std::string storage : {"fp32", "bf16"}) {
    place.write("plan.toml", "[batch]\nmicro_batch = 1\nsequence = 16\n[precision]\nstorage = \"" +
                                 storage + "\"\nparam = \"" + storage + "\"\noptimizer_state = \"" +
                                 storage + "\"\n");
    const json whole = place.run_json(first({"--steps", "6"}));
    json on_three;
    for (const std::string format : {"native", "dcp", "hf", "torchtitan"}) {
      std::filesystem::remove_all(place.path("saved"));
      place.run_json(first({"--steps", "5", "--save", "saved", "--save-every", "2", "--keep", "2",
                            "--save-format", format}));
      EXPECT_EQ(steps_in("saved"), (std::vector{4, 5})) << format;
      expect_equal(place.run_json(resumed({"--steps", "6"})), whole);
      json rest = place.run_json(resumed({"--steps", "6"}, 3));
      if (on_three.is_null()) on_three = rest;
      expect_equal(rest, on_three);
    }
  }
  std::filesystem::rename(place.path("saved/step-5/index.json"), place.path("index.json"));
  const Outcome foreign = place.run({"train", "--model", "model", "--ranks", "2", "--resume",
                                     "saved/step-5", "--steps", "6", "--data", "tokens.bin"});
  EXPECT_EQ(foreign.status, 2);
  EXPECT_NE(foreign.err.find("--plan"), std::string::npos) << foreign.err;
  // The step is AdamW's, and the position in the data that of as many steps of the plan.
  const Outcome known =
      place.run(first({"--resume", "saved/step-5", "--steps", "6", "--json", "rest.json"}));
  EXPECT_EQ(known.status, 0) << known.err;
  expect_equal(json::parse(place.read("rest.json")), place.run_json(first({"--steps", "6"})));
}

TEST_F(LongRun, NamesWhatAFormatCannotHold) {
  auto model = small_llama();
  model["attention_bias"] = true;
  place.write("model/config.json", model.dump());
  const auto save = [](const std::string& format) {
    return Arguments{"--steps", "1", "--save", "saved", "--save-format", format};
  };
  const Outcome refused = place.run(first(save("torchtitan")));
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("q_proj.bias"), std::string::npos) << refused.err;
  EXPECT_EQ(place.run(first(save("dcp"))).status, 0);
  const Outcome said = place.run(resumed({"--steps", "2", "--resume-step", "1"}));
  EXPECT_EQ(said.status, 2);
  EXPECT_NE(said.err.find("--resume-step"), std::string::npos) << said.err;
  place.run_json(first({"--steps", "1", "--export-weights", "exported"}));
  const Outcome weights = place.run(first({"--steps", "2", "--resume", "exported"}));
  EXPECT_EQ(weights.status, 2);
  EXPECT_NE(weights.err.find("--init"), std::string::npos) << weights.err;
}

// Two samples of 16 a rank and step: 32 tokens a step, so that 96 are read after three.
TEST_F(LongRun, GoesOnInTheOrderOfItsCheckpoint) {
  const json whole = place.run_json(first({"--steps", "6", "--shuffle"}));
  const json in_order = place.run_json(first({"--steps", "6", "--save", "saved"}));
  EXPECT_NE(whole["steps"][0]["loss"], in_order["steps"][0]["loss"]);
  const Outcome other = place.run(resumed({"--steps", "7", "--shuffle"}));
  EXPECT_NE(other.err.find("not as in the checkpoint: shuffle off -> on\n"), std::string::npos)
      << other.err;
  std::filesystem::remove_all(place.path("saved"));
  place.run_json(first({"--steps", "3", "--shuffle", "--save", "saved"}));
  expect_equal(place.run_json(resumed({"--steps", "6"})), whole);
}

// The first update is so large that no later loss is finite.
TEST_F(LongRun, SkipsAsManyStepsAsAreAllowed) {
  place.write("plan.toml", place.read("plan.toml") + "[optimizer]\nlr = 1e5\nweight_decay = 1e6\n");
  const Outcome ended = place.run(first(
      {"--steps", "9", "--skip-non-finite", "2", "--log", "log.jsonl", "--json", "out.json"}));
  EXPECT_EQ(ended.status, 1) << ended.err;
  std::istringstream lines(place.read("log.jsonl"));
  const json steps = json::parse(place.read("out.json"))["steps"];
  std::vector<bool> skipped;
  for (std::string line; std::getline(lines, line);) {
    skipped.push_back(json::parse(line)["skipped"].get<bool>());
    EXPECT_EQ(steps[skipped.size() - 1]["skipped"].get<bool>(), skipped.back());
    EXPECT_EQ(steps[skipped.size() - 1]["loss"].is_null(), skipped.size() > 1);
  }
  EXPECT_EQ(skipped, (std::vector<bool>{false, true, true, false})) << ended.err;
  EXPECT_NE(ended.err.find("step 2 updates nothing"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("skipped so far: 2 of at most 2"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("step 4, rank 0: the loss is not finite"), std::string::npos)
      << ended.err;
}

TEST_F(LongRun, GoesOnAtTheLeastRateBehindItsSchedule) {
  place.write("plan.toml", place.read("plan.toml") +
                               "[optimizer]\nschedule = \"cosine\"\nlr = 1e-3\nmin_lr = 2e-4\n");
  place.run_json(first({"--steps", "3", "--save", "saved"}));
  const Outcome rest = place.run(resumed({"--steps", "5", "--log", "log.jsonl"}));
  EXPECT_EQ(rest.status, 0) << rest.err;
  EXPECT_NE(rest.err.find("schedule ends at step 3"), std::string::npos) << rest.err;
  std::istringstream lines(place.read("log.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_DOUBLE_EQ(json::parse(line)["lr"].get<double>(), 2e-4);
  }
}

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

TEST_F(LongRun, SaysWhereItsDataBeginAgain) {
  write_tokens(place, "short.bin", 0, 6 * 16 + 1);  // three steps of two samples
  const auto said = [&](const std::string& steps) {
    const Outcome outcome =
        place.run(job("train", 2, {"--data", "short.bin", "--steps", steps, "--save", "saved"}));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.err;
  };
  EXPECT_EQ(said("2").find("epoch"), std::string::npos);
  const std::string all = said("6");
  EXPECT_NE(all.find("epoch 1 of the data ends in step 3"), std::string::npos) << all;
  EXPECT_NE(all.find("epoch 2 of the data ends in step 6"), std::string::npos) << all;
  const Outcome rest = place.run(resumed({"--steps", "9"}));
  EXPECT_NE(rest.err.find("epoch 3 of the data ends in step 9"), std::string::npos) << rest.err;
  const Outcome few = place.run(job("train", 8, {"--data", "short.bin", "--steps", "1"}));
  EXPECT_NE(few.err.find("short.bin: has 6 samples of 16 tokens, fewer than the 8 of a step"),
            std::string::npos)
      << few.err;
}

TEST_F(LongRun, GoesOnWithTheWidthOfItsTokens) {
  const std::string narrow = place.read("tokens.bin");
  std::string wide;
  for (std::size_t i = 0; i < narrow.size(); i += 2) wide += {narrow[i], '\0', '\0', '\0'};
  place.write("wide.bin", wide);
  const Arguments said = {"--seed",   "5",           "--steps", "2",      "--data",
                          "wide.bin", "--data-type", "uint32",  "--save", "saved"};
  expect_equal(place.run_json(job("train", 2, said)), place.run_json(first({"--steps", "2"})));
  EXPECT_EQ(place.run(resumed({"--steps", "3"})).status, 0);
}

TEST_F(LongRun, KeepsTheNewestCheckpointsOnItsWay) {
  const json whole = place.run_json(first({"--steps", "10"}));
  expect_equal(place.run_json(first({"--steps", "8", "--save", "saved", "--save-every", "3"})),
               json{{"steps", json(whole["steps"].begin(), whole["steps"].begin() + 8)}});
  EXPECT_EQ(steps_in("saved"), (std::vector{6, 8}));
  EXPECT_EQ(std::filesystem::read_symlink(place.path("saved/latest")), "step-8");
  for (const std::string& file : place.files()) {
    EXPECT_EQ(file.find(".foreshard-"), std::string::npos) << file;
  }
  expect_equal(place.run_json(resumed({"--steps", "10"})), whole);
  Arguments older = resumed({"--steps", "10"});
  *std::ranges::find(older, "saved") = "saved/step-6";
  expect_equal(place.run_json(older), whole);
  std::filesystem::resize_file(place.path("saved/step-8/shard-00001-of-00002.safetensors"), 999);
  const Outcome damaged = place.run(resumed({"--steps", "10"}));
  EXPECT_EQ(damaged.status, 0) << damaged.err;
  EXPECT_NE(damaged.err.find("goes on from saved/step-6"), std::string::npos) << damaged.err;
  EXPECT_NE(damaged.err.find("saved/step-8"), std::string::npos) << damaged.err;
}

TEST_F(LongRun, MixesNoCheckpointsWithThoseOfAnotherRun) {
  const auto complaint = [&](const Arguments& more) {
    const Outcome outcome = place.run(first(more));
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    return outcome.err;
  };
  place.run_json(first({"--steps", "4", "--save", "saved", "--save-every", "2"}));
  EXPECT_NE(complaint({"--steps", "4", "--save", "saved", "--save-every", "2"})
                .find("is of a later step than 0"),
            std::string::npos);
  EXPECT_NE(complaint({"--steps", "4", "--save", "saved"}).find("is not a checkpoint"),
            std::string::npos);
  EXPECT_NE(complaint({"--steps", "4", "--save", "model", "--save-every", "2"})
                .find("is no folder of checkpoints"),
            std::string::npos);
  EXPECT_NE(complaint({"--steps", "4", "--save-every", "2"}).find("--save"), std::string::npos);
  EXPECT_NE(complaint({"--steps", "4", "--save", "new", "--keep", "2"}).find("--save-every"),
            std::string::npos);
}

// One checkpoint has no room for its name; those before and after it are written.
TEST_F(LongRun, LosesOneCheckpointAlone) {
  place.write("saved/step-4", "in the way");
  const Outcome outcome =
      place.run(first({"--steps", "6", "--save", "saved", "--save-every", "2", "--keep", "9"}));
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("error: saved/step-4: "), std::string::npos) << outcome.err;
  EXPECT_EQ(steps_in("saved"), (std::vector{2, 4, 6}));
  EXPECT_EQ(place.run(resumed({"--steps", "7"})).status, 0);
}

TEST_F(LongRun, GoesOnAsThoughItHadNeverBeenKilled) {
  const std::string train =
      "\"$FORESHARD\" train --model model --plan plan.toml --data tokens.bin --seed 5 --ranks 2 "
      "--threads-per-rank 1 --quiet ";
  for (int kill = 0; kill < 6; ++kill) {
    place.shell("[ -e saved/latest ] && set -- --resume saved; " + train +
                "--steps 1000000 --save saved --save-every 3 \"$@\" & run=$!; sleep 0.3" +
                std::to_string(kill * 17 % 10) +
                "; until [ -e saved/latest ]; do sleep 0.1; done; kill -9 $run; wait $run");
  }
  ASSERT_FALSE(steps_in("saved").empty());
  const int newest = steps_in("saved").back();
  EXPECT_GE(newest, 3);
  EXPECT_EQ(newest % 3, 0);
  const std::string steps = "--steps " + std::to_string(newest + 2) + " --export-weights ";
  ASSERT_EQ(place.shell(train + steps + "whole.safetensors").status, 0);
  ASSERT_EQ(place.shell(train + steps + "parts.safetensors --resume saved").status, 0);
  EXPECT_TRUE(place.read("whole.safetensors") == place.read("parts.safetensors"));
}

// What the report says, of each step as it ends; a cut line and those behind the checkpoint go.
TEST_F(LongRun, LogsEachStep) {
  place.write("plan.toml", place.read("plan.toml") + "[optimizer]\nschedule = \"linear\"\n");
  const auto lines = [&] {
    std::vector<json> steps;
    std::istringstream text(place.read("log"));
    for (std::string line; std::getline(text, line);) steps.push_back(json::parse(line));
    return steps;
  };
  place.write("log", "of another run");
  const Arguments logged = first({"--steps", "6", "--total-steps", "8", "--log", "log"});
  const json whole = place.run_json(logged);
  const auto all = lines();
  ASSERT_EQ(all.size(), 6U);
  for (std::size_t s = 0; s < all.size(); ++s) {
    for (const char* field : {"step", "loss", "grad_norm", "tokens", "time_ns"}) {
      EXPECT_EQ(all[s].at(field), whole["steps"][s].at(field)) << s << field;
    }
    EXPECT_DOUBLE_EQ(all[s].at("lr").get<double>(), 1e-3 * (1 - static_cast<double>(s) / 8));
    for (std::size_t rank = 0; rank < 2; ++rank) {
      json expected = whole["steps_memory"][2 * s + rank];
      expected.erase("step");
      EXPECT_EQ(all[s].at("ranks_memory").at(rank), expected);
    }
  }
  place.run_json(first({"--steps", "3", "--total-steps", "8", "--save", "saved"}));
  place.write("log", place.read("log") + "{\"step\": 7, \"lo");
  place.run_json(resumed({"--steps", "7", "--log", "log"}));
  const auto resumed_lines = lines();
  ASSERT_EQ(resumed_lines.size(), 7U);
  for (std::size_t s = 0; s < 6; ++s) {
    EXPECT_EQ(resumed_lines[s].at("step"), s + 1);
    EXPECT_EQ(resumed_lines[s].at("loss"), all[s].at("loss"));
  }
  place.write("log", "of another run\n");
  const Outcome refused = place.run(resumed({"--steps", "7", "--log", "log"}));
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("log: line 1: is no step of a log"), std::string::npos) << refused.err;
  EXPECT_EQ(place.read("log"), "of another run\n");
  const Outcome full = place.run(first({"--steps", "4", "--log", "/dev/full", "--save", "last"}));
  EXPECT_EQ(full.status, 1);
  EXPECT_NE(full.err.find("error: /dev/full: cannot be written"), std::string::npos) << full.err;
  EXPECT_TRUE(std::filesystem::exists(place.path("last/index.json")));
}

// Of what a rank that fails has left, and of what processes have written together.
TEST_F(LongRun, LeavesWhatWasSavedBeforeItFailed) {
  const json whole = place.run_json(first({"--steps", "9"}));
  const Arguments failing = first({"--steps", "9", "--save", "saved", "--save-every", "2"});
  const std::map<std::string, std::string> fault = {
      {"FORESHARD_FAULT", "rank:1,step:7,kind:throw"}};
  EXPECT_EQ(place.run(failing, fault).status, 1);
  EXPECT_EQ(steps_in("saved"), (std::vector{4, 6}));
  expect_equal(place.run_json(resumed({"--steps", "9"})), whole);
  std::filesystem::remove_all(place.path("saved"));
  const int port = free_port();
  std::vector<Variables> ranks = {torchrun(0, 2, port), torchrun(1, 2, port)};
  for (const Outcome& process : place.run_together(failing, ranks)) {
    EXPECT_EQ(process.status, 0) << process.err;
  }
  EXPECT_EQ(steps_in("saved"), (std::vector{8, 9}));
  std::filesystem::remove_all(place.path("saved/step-9"));
  expect_equal(place.run_json(resumed({"--steps", "9"})), whole);
}

}  // namespace
}  // namespace foreshard::cli_tests
