// A machine's rates from throughputs: from the option to the prediction.
#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

using nlohmann::json;

const std::vector<std::string> kModel{"--model", "llama-3.2-1b", "--ranks", "8"};

std::vector<std::string> with_model(std::vector<std::string> words) {
  words.insert(words.begin() + 1, kModel.begin(), kModel.end());
  return words;
}

TEST(FitObserved, PredictsTheThroughputThatItWasGiven) {
  const Workplace place;
  place.write("plan.toml",
              "operators = \"foreshard\"\n[batch]\nmicro_batch = 4\nsequence = 4096\n");
  const auto predict = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"predict", "--plan", "plan.toml"});
    return place.run_json(with_model(more));
  };
  const double catalogue = predict({"--machine", "h100-sxm"}).at("tokens_per_s").get<double>();
  const double observed = 0.9 * catalogue;
  for (const std::string& figure :
       {std::to_string(observed), std::to_string(observed / 8) + "/gpu"}) {
    const Outcome fitted =
        place.run(with_model({"fit", "--machine", "h100-sxm", "--observed", "plan.toml=" + figure,
                              "-o", "costs.json", "--report"}));
    ASSERT_EQ(fitted.status, 0) << fitted.err;
    EXPECT_NE(fitted.out.find("plan.toml"), std::string::npos) << fitted.out;
    const json predicted = predict({"--costs", "costs.json"});
    EXPECT_NEAR(predicted.at("tokens_per_s").get<double>(), observed, 0.04 * observed);
    EXPECT_LT(predicted.at("step_time_high_ns").get<double>() /
                  predicted.at("step_time_ns").get<double>(),
              1.15);
  }
}

// A figure of one GPU taken for that of all eight gets a warning and a wide band; one
// that no rates of the machine come near is refused.
TEST(FitObserved, WarnsOfAFigureThatTheMachineHardlyReaches) {
  const Workplace place;
  place.write("plan.toml",
              "operators = \"foreshard\"\n[batch]\nmicro_batch = 4\nsequence = 4096\n");
  const auto fit = [&](const std::string& figure) {
    return place.run({"fit", "--machine", "h100-sxm", "--observed",
                      "llama-3.2-1b@8x1:plan.toml=" + figure, "-o", "costs.json"});
  };
  const double of_all =
      place.run_json(with_model({"predict", "--plan", "plan.toml", "--machine", "h100-sxm"}))
          .at("tokens_per_s");
  const Outcome warned = fit(std::to_string(of_all / 8));
  EXPECT_EQ(warned.status, 0) << warned.err;
  EXPECT_NE(warned.err.find("/gpu"), std::string::npos) << warned.err;
  const json predicted =
      place.run_json(with_model({"predict", "--plan", "plan.toml", "--costs", "costs.json"}));
  const double low = predicted.at("step_time_low_ns"), time = predicted.at("step_time_ns");
  EXPECT_GT(time / low, 1.3);
  for (const double factor : {1e-6, 1e-4, 1e3}) {
    const Outcome refused = fit(std::to_string(factor * of_all));
    EXPECT_EQ(refused.status, 2) << factor;
    EXPECT_NE(refused.err.find("/gpu"), std::string::npos) << refused.err;
  }
}

TEST(FitObserved, SaysHowFarAFigureIsFromWhatTheMachineTakes) {
  const Workplace place;
  place.write("plan.toml",
              "operators = \"foreshard\"\n[batch]\nmicro_batch = 4\nsequence = 4096\n");
  const double of_all =
      place.run_json(with_model({"predict", "--plan", "plan.toml", "--machine", "h100-sxm"}))
          .at("tokens_per_s");
  const std::string run = "llama-3.2-1b@8x1:plan.toml=";
  const Outcome contradicting =
      place.run({"fit", "--machine", "h100-sxm", "--observed", run + std::to_string(of_all),
                 "--observed", run + std::to_string(of_all / 2), "-o", "costs.json", "--report"});
  ASSERT_EQ(contradicting.status, 0) << contradicting.err;
  EXPECT_NE(contradicting.err.find("times as long"), std::string::npos) << contradicting.err;
  EXPECT_NE(contradicting.out.find("llama-3.2-1b"), std::string::npos) << contradicting.out;
}

TEST(FitObserved, WarnsOfARunThatWouldNotHaveFitted) {
  const Workplace place;
  place.write("plan.toml",
              "operators = \"foreshard\"\n[batch]\nmicro_batch = 64\nsequence = 8192\n");
  const Outcome fitted = place.run({"fit", "--machine", "l4", "--observed",
                                    "llama-3.2-1b@8x1:plan.toml=20000", "-o", "costs.json"});
  EXPECT_NE(fitted.err.find("does not fit"), std::string::npos) << fitted.err;
}

TEST(FitObserved, SaysWhatIsWrong) {
  const Workplace place;
  place.write("plan.toml", "operators = \"foreshard\"\n[batch]\nmicro_batch = 4\n");
  const auto refused = [&](std::vector<std::string> words, const std::string& named) {
    words.insert(words.begin(), "fit");
    words.insert(words.end(), {"-o", "costs.json"});
    const Outcome outcome = place.run(words);
    EXPECT_EQ(outcome.status, 2) << outcome.out;
    EXPECT_NE(outcome.err.find(named), std::string::npos) << outcome.err;
  };
  refused({}, "--observed");
  refused({"--machine", "h100-sxm"}, "--observed");
  refused({"--observed", "plan.toml=1000"}, "--machine");
  refused({"--machine", "h100-sxm", "--observed", "plan.toml"}, "TOKENS_PER_S");
  refused({"--machine", "h100-sxm", "--observed", "plan.toml=fast"}, "fast");
  refused({"--machine", "h100-sxm", "--observed", "plan.toml=-5"}, "-5");
  refused({"--machine", "h100-sxm", "--observed", "plan.toml=1000"}, "--model");
  refused({"--machine", "h100-sxm", "--observed", "llama-3.2-1b@many:plan.toml=1000"}, "many");
  refused({"--machine", "h100-sxm", "--observed", "llama-3.2-1b@8:none.toml=1000"}, "none.toml");
  refused({"--machine", "h100-sxm", "--observed", "llama-3.2-1b@8:=1000"}, "no plan");
  refused({"--machine", "h100-sxm", "--model", "llama-3.2-1b", "--observed", "@8:plan.toml=1000"},
          "no model");
  refused({"--machine", "h100-sxm", "--observed", "llama-3.2-1b@8:plan.toml=inf"}, "inf");
}

}  // namespace
}  // namespace foreshard::cli_tests
