// Checkpoints that PyTorch, transformers and torchtitan write and read: their own FSDP2 goes on from ours, and we
// from theirs. It needs a Python with PyTorch, transformers and torchtitan, named by FORESHARD_TORCH_PYTHON.
#include <cmath>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"
#include "tests/cli/torchrun.hpp"

namespace foreshard::cli_tests {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Two samples of 16 tokens, of which each of two ranks takes its own in each step.
constexpr int kSample = 16, kSamples = 2;

class TorchCheckpoints : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const char* named = std::getenv("FORESHARD_TORCH_PYTHON");
    if (named == nullptr) GTEST_SKIP() << "needs FORESHARD_TORCH_PYTHON, a Python with PyTorch";
    python_ = named;
    const Outcome there =
        place_.shell("'" + python_ + "' -c 'import torch, " + std::string(GetParam()) + "'");
    if (there.status != 0) GTEST_SKIP() << "that Python has no " << GetParam();
    place_.write("plan.toml",
                 "[batch]\nmicro_batch = 1\nsequence = 16\n[precision]\nparam = \"fp32\"\n"
                 "[optimizer]\nlr = 1e-3\nbetas = [0.9, 0.95]\nweight_decay = 0.1\n"
                 "clip_grad_norm = 0.0\n");
    std::string bytes;
    for (int token = 0; token < kSample * kSamples + 1; ++token) bytes += static_cast<char>(token);
    place_.write("tokens.txt", bytes);
  }

  // What the Python program prints as JSON, or null where it prints none.
  json python(const std::string& arguments) const {
    const Outcome outcome = place_.shell(
        "OMP_NUM_THREADS=1 FORESHARD_PORT=" + std::to_string(free_port()) + " '" + python_ +
        "' -B '" FORESHARD_SOURCE_DIR "/tests/cli/torch_checkpoints.py' " + arguments);
    EXPECT_EQ(outcome.status, 0) << arguments << "\n" << outcome.err;
    return json::parse(outcome.out, nullptr, false);
  }

  static std::vector<std::string> train(int ranks, const std::vector<std::string>& more) {
    auto arguments = job("train", ranks, {"--data", "tokens.txt"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  std::string names() const { return GetParam(); }
  std::string format() const { return names() == "torchtitan" ? "torchtitan" : "dcp"; }

  std::string python_;
  Workplace place_;
};

INSTANTIATE_TEST_SUITE_P(Of, TorchCheckpoints, testing::Values("transformers", "torchtitan"),
                         [](const auto& names) { return std::string(names.param); });

TEST_P(TorchCheckpoints, PyTorchGoesOnFromOurs) {
  for (const int ranks : {1, 3}) {
    const std::string saved = "ours" + std::to_string(ranks);
    place_.run_json(train(ranks, {"--steps", "3", "--save", saved, "--save-format", format(),
                                  "--export-weights", saved + ".safetensors"}));
    const json said =
        python("read " + names() + " " + saved + " model/config.json " + saved + ".safetensors");
    ASSERT_TRUE(said.is_object());
    EXPECT_EQ(said.at("step"), 3);
    EXPECT_EQ(said.at("missing"), json::array());
    EXPECT_EQ(said.at("worst"), 0.0);
  }
}

// The losses are those of a run of our own from the same weights, so that the moments are PyTorch's too.
TEST_P(TorchCheckpoints, WeGoOnFromPyTorchs) {
  place_.run_json(train(2, {"--steps", "1", "--export-weights", "w.safetensors"}));
  python("write " + names() + " theirs model/config.json w.safetensors 2");
  const json whole = place_.run_json(train(2, {"--init", "w.safetensors", "--steps", "5"}));
  const json rest = place_.run_json(train(2, {"--resume", "theirs", "--steps", "5"}));
  ASSERT_EQ(rest.at("steps").size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rest["steps"][i].at("step"), i + 3);
    for (const char* figure : {"loss", "grad_norm"}) {
      const double expected = whole["steps"][i + 2].at(figure);
      EXPECT_NEAR(rest["steps"][i].at(figure), expected, 2e-5 * std::abs(expected)) << figure;
    }
  }
  // What they do not say is asked for, by its option.
  const auto complaint = [&](const std::vector<std::string>& arguments) {
    const Outcome outcome = place_.run(arguments);
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    return outcome.err;
  };
  EXPECT_THAT(complaint({"train", "--model", "model", "--ranks", "2", "--steps", "5", "--data",
                         "tokens.txt", "--resume", "theirs"}),
              HasSubstr("--plan"));
  EXPECT_THAT(complaint(job("train", 2, {"--steps", "5", "--resume", "theirs"})),
              HasSubstr("--data"));
  EXPECT_THAT(complaint(train(2, {"--steps", "5", "--resume", "theirs", "--resume-step", "4"})),
              HasSubstr("step 2"));
  // From theirs to ours and on to other ranks.
  place_.run_json(train(
      2, {"--resume", "theirs", "--steps", "3", "--save", "both", "--save-format", format()}));
  const json last = place_.run_json(train(2, {"--resume", "both", "--steps", "5"}));
  EXPECT_EQ(last["steps"][1].at("loss"), rest["steps"][2].at("loss"));
}

}  // namespace
}  // namespace foreshard::cli_tests
