// Losses and gradient norms of `foreshard train` beside PyTorch's in double precision
// (training_reference.json, made by scripts/make_training_reference.py): the same samples of a step on one rank
// and on two, at once and in micro-steps, with and without recomputation.
#include <cmath>

#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

using nlohmann::json;

const json& reference() {
  static const json file =
      json::parse(tests::read_file(FORESHARD_SOURCE_DIR "/tests/cli/training_reference.json"));
  return file;
}

struct Cut {
  const char* name;
  int ranks, micro_batch, accumulation;
  const char* more;  // of the plan
};

class Parity : public testing::Test {
 protected:
  // The largest distance from PyTorch over all steps, relative to it: of the loss, and of the norm.
  std::pair<double, double> distance(const json& of, const Cut& cut, const std::string& precision) {
    const json& all = reference();
    const json& optimizer = all.at("optimizer");
    std::ostringstream plan;
    plan << "[batch]\nmicro_batch = " << cut.micro_batch << "\nsequence = " << all.at("sequence")
         << "\naccumulation = " << cut.accumulation << "\n[precision]\n"
         << precision << "\n[optimizer]\nbetas = [" << optimizer.at("beta1") << ", "
         << optimizer.at("beta2") << "]\n";
    for (const char* key : {"lr", "eps", "weight_decay", "clip_grad_norm"}) {
      plan << key << " = " << optimizer.at(key) << "\n";
    }
    plan << cut.more;
    place_.write("model/config.json", of.at("config").dump());
    place_.write("parity.toml", plan.str());
    const json& steps = of.at("steps");
    const json ours = place_.run_json(
        {"train", "--model", "model", "--plan", "parity.toml", "--ranks", std::to_string(cut.ranks),
         "--steps", std::to_string(steps.size()), "--seed", all.at("seed").dump()});
    std::pair<double, double> worst;
    const auto relative = [&](const char* field, std::size_t step) {
      const double truth = steps.at(step).at(field);
      return std::abs(ours.at("steps").at(step).at(field).get<double>() - truth) / truth;
    };
    for (std::size_t step = 0; step < steps.size(); ++step) {
      worst.first = std::max(worst.first, relative("loss", step));
      worst.second = std::max(worst.second, relative("grad_norm", step));
    }
    return worst;
  }

 private:
  const Workplace place_;
};

TEST_F(Parity, Fp32IsDoublePrecisionToRounding) {
  const Cut cuts[] = {{"one rank", 1, 4, 1, ""},
                      {"two ranks", 2, 2, 1, "[checkpointing]\nmode = \"full\"\n"},
                      {"two ranks, two micro-steps", 2, 1, 2, ""}};
  for (const json& of : reference().at("cases")) {
    for (const Cut& cut : cuts) {
      const auto [loss, norm] = distance(of, cut, "param = \"fp32\"");
      EXPECT_LT(loss, 1e-6) << of.at("name") << ", " << cut.name;
      EXPECT_LT(norm, 1e-5) << of.at("name") << ", " << cut.name;
    }
  }
}

// bf16 has three digits, and a curve of ten steps keeps two.
TEST_F(Parity, Bf16IsNearDoublePrecision) {
  for (const json& of : reference().at("cases")) {
    const auto [loss, norm] = distance(of, {"two ranks", 2, 2, 1, ""}, "param = \"bf16\"");
    EXPECT_LT(loss, 1e-2) << of.at("name");
    EXPECT_LT(norm, 5e-2) << of.at("name");
  }
}

}  // namespace
}  // namespace foreshard::cli_tests
