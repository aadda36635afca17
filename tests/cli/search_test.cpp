// `foreshard search`: its answers agree with `predict`, its files with its answers; bad spaces, prices
// and sizes are named.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

using nlohmann::json;

constexpr const char* kSpace = R"("batch.micro_batch" = [1, 2]
"checkpointing.mode" = ["none", "full"]
)";

// Of the small Llama, on two H100 where `more` does not say otherwise.
std::vector<std::string> search(const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"search", "--model", "model", "--base", "plan.toml"};
  for (const auto& [option, value] : {std::pair{"--machines", "h100-sxm"}, {"--gpus", "2"}}) {
    if (std::find(more.begin(), more.end(), option) != more.end()) continue;
    arguments.insert(arguments.end(), {option, value});
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(Search, ItsPlanFilePredictsWhatItSays) {
  const Workplace place;
  place.write("space.toml", kSpace);
  const json answer = place.run_json(search({"--space", "space.toml", "--verify"}));
  EXPECT_EQ(answer["plans_considered"], 4);
  EXPECT_EQ(answer["plans_fitting"], 4);
  const json& best = answer["best"];
  EXPECT_EQ(best["values"]["checkpointing.mode"], "none");
  place.write("best.toml", best["plan"]);
  const json prediction = place.run_json({"predict", "--model", "model", "--plan", "best.toml",
                                          "--ranks", "2", "--nodes", "1", "--machine", "h100-sxm"});
  EXPECT_EQ(prediction["step_time_ns"], best["step_time_ns"]);
  EXPECT_EQ(prediction["tokens_per_s"], best["tokens_per_s"]);
  EXPECT_EQ(prediction["ranks_memory"][0]["peak_reserved_bytes"], best["peak_reserved_bytes"]);
}

// 11 are 8 and 3: no number of nodes but 1 and 11 divides them.
TEST(Search, FillsNodesAsAPredictionDoes) {
  const Workplace place;
  place.write("space.toml", kSpace);
  for (const char* gpus : {"11", "12", "20"}) {
    const json best =
        place.run_json(search({"--space", "space.toml", "--gpus", gpus, "--verify"}))["best"];
    place.write("best.toml", best["plan"]);
    const json prediction = place.run_json({"predict", "--model", "model", "--plan", "best.toml",
                                            "--ranks", gpus, "--machine", "h100-sxm"});
    EXPECT_EQ(prediction["step_time_ns"], best["step_time_ns"]) << gpus;
    EXPECT_EQ(prediction["question"]["nodes"], best["nodes"]) << gpus;
  }
}

TEST(Search, WritesATableAndAPicture) {
  const Workplace place;
  place.write("space.toml", kSpace);
  const json answer =
      place.run_json(search({"--space", "space.toml", "--csv", "f.csv", "--svg", "f.svg"}));
  const std::size_t plans =
      answer["top"].size() + answer["pareto"].size() + answer["pareto_cost"].size();
  const std::string table = place.read("f.csv"), picture = place.read("f.svg");
  EXPECT_EQ(lines_of(table), 1 + plans);
  EXPECT_NE(table.find("\"checkpointing.mode\""), std::string::npos);
  EXPECT_NE(table.find("top,1,\"h100-sxm\",2,1,"), std::string::npos) << table;
  EXPECT_TRUE(picture.starts_with("<svg "));
  EXPECT_NE(picture.find("checkpointing.mode = "), std::string::npos);
}

TEST(Search, PricesAreOnesOwnOrTheCatalogues) {
  const Workplace place;
  place.write("space.toml", kSpace);
  place.write("prices.csv", "machine,usd_per_hour\nh100-sxm,7.2\n");
  const std::vector<std::string> own{"--space",        "space.toml", "--prices",    "prices.csv",
                                     "--train-tokens", "1e9",        "--objective", "cost"};
  const json answer = place.run_json(search(own));
  const json& best = answer["best"];
  const double tokens_per_s = best["tokens_per_s"];
  const double usd = 2 * 7.2 / 3600 / tokens_per_s * 1e6;
  EXPECT_NEAR(best["cost_per_million_tokens"].get<double>(), usd, 1e-9 * usd);
  EXPECT_NEAR(answer["training"]["usd"].get<double>(), 1e3 * usd, 1e-6 * usd);
  EXPECT_NEAR(answer["training"]["hours"].get<double>(), 1e9 / tokens_per_s / 3600, 1e-9);

  std::vector<std::string> limited = own;
  limited.insert(limited.end(), {"--budget", std::to_string(1e3 * usd * 0.9)});
  const json nothing = place.run_json(search(limited));
  EXPECT_TRUE(nothing["best"].is_null());
  EXPECT_EQ(nothing["plans_over_budget"], 4);

  const json catalogue = place.run_json(search({"--space", "space.toml"}));
  EXPECT_TRUE(catalogue["best"]["cost_per_million_tokens"].is_number());
}

// For an option: `factor` times the hours.
std::string formatted_hours(const json& hours, double factor) {
  return std::to_string(factor * hours.get<double>()) + "h";
}

double usd_per_hour(const json& plan) {
  return plan["cost_per_million_tokens"].get<double>() * plan["tokens_per_s"].get<double>() * 3600 /
         1e6;
}

TEST(Search, InstancesArePaidWhole) {
  const Workplace place;
  place.write("space.toml", kSpace);
  const auto best = [&](const char* gpus) {
    return place.run_json(
        search({"--space", "space.toml", "--machines", "p5.48xlarge", "--gpus", gpus}))["best"];
  };
  const json one = best("8"), part = best("4"), more = best("12");
  EXPECT_EQ(one["rent"]["instances"], 1);
  EXPECT_EQ(one["rent"]["price_kind"], "on-demand");
  EXPECT_TRUE(one["rent"]["source"].is_string() && one["rent"]["date"].is_string());
  EXPECT_NEAR(usd_per_hour(one), one["rent"]["usd_per_hour"], 1e-6);
  EXPECT_NEAR(usd_per_hour(part), usd_per_hour(one), 1e-6);
  EXPECT_NEAR(usd_per_hour(more), 2 * usd_per_hour(one), 1e-6);
  EXPECT_LT(one["cost_per_million_tokens_low"], one["cost_per_million_tokens"]);
  EXPECT_GT(one["cost_per_million_tokens_high"], one["cost_per_million_tokens"]);
}

TEST(Search, PricesOfOneKindCount) {
  const Workplace place;
  place.write("space.toml", kSpace);
  const auto answer = [&](const char* machine, const char* kind) {
    return place.run_json(search(
        {"--space", "space.toml", "--machines", machine, "--gpus", "8", "--price-kind", kind}));
  };
  EXPECT_GT(usd_per_hour(answer("p5en.48xlarge", "on-demand")["best"]),
            usd_per_hour(answer("p5en.48xlarge", "spot")["best"]));
  EXPECT_TRUE(answer("p5en.48xlarge", "on-demand")["warnings"].empty());
  const json other = answer("p5e.48xlarge", "on-demand");
  EXPECT_EQ(other["best"]["rent"]["price_kind"], "capacity-block");
  EXPECT_NE(other["warnings"].dump().find("no on-demand price of p5e.48xlarge"), std::string::npos);
  const Outcome words =
      place.run(search({"--space", "space.toml", "--machines", "p5.48xlarge", "--gpus", "8"}));
  EXPECT_NE(words.out.find("p5.48xlarge at $55.04 an hour (on-demand us-east-1"), std::string::npos)
      << words.out;
}

TEST(Search, NodesWithoutAnInterconnectAreSaid) {
  const Workplace place;
  place.write("space.toml", kSpace);
  const std::string named = "gpu_8x_h100_sxm5 is rented without an interconnect";
  const auto warnings = [&](const char* gpus) {
    return place
        .run_json(search({"--space", "space.toml", "--machines", "gpu_8x_h100_sxm5", "--gpus",
                          gpus}))["warnings"]
        .dump();
  };
  EXPECT_NE(warnings("64").find(named), std::string::npos);
  EXPECT_EQ(warnings("8").find(named), std::string::npos);
  const json prediction = place.run_json(
      {"predict", "--model", "model", "--ranks", "64", "--machine", "gpu_8x_h100_sxm5"});
  EXPECT_NE(prediction["warnings"].dump().find(named), std::string::npos);
}

TEST(Search, NumbersOfNodesAreWholeNodesOfEachMachine) {
  const Workplace place;
  place.write("space.toml", kSpace);
  const json answer =
      place.run_json({"search", "--model", "model", "--base", "plan.toml", "--space", "space.toml",
                      "--machines", "h100-sxm,g5.12xlarge", "--nodes", "1,2", "--top", "99"});
  std::set<std::pair<int, int>> sizes;
  for (const json& plan : answer["top"])
    sizes.emplace(plan["nodes"].get<int>(), plan["gpus"].get<int>());
  EXPECT_EQ(sizes, (std::set<std::pair<int, int>>{{1, 4}, {1, 8}, {2, 8}, {2, 16}}));
}

TEST(Search, ATrainingHasADeadlineCheckpointsAndFailures) {
  const Workplace place;
  place.write("space.toml", kSpace);
  const std::vector<std::string> asked{
      "--space",        "space.toml", "--machines",          "p5.48xlarge", "--gpus",     "16",
      "--train-tokens", "1e12",       "--storage-bandwidth", "2",           "--gpu-mtbf", "2000h"};
  const json best = place.run_json(search(asked))["best"], training = best["training"];
  EXPECT_NEAR(training["hours_between_failures"], 2000.0 / 16, 1e-9);
  EXPECT_LT(training["goodput"], 1);
  EXPECT_NEAR(training["hours"].get<double>(),
              1e12 / best["tokens_per_s"].get<double>() / 3600 / training["goodput"].get<double>(),
              1e-6 * training["hours"].get<double>());
  EXPECT_LT(training["hours_low"], training["hours"]);
  EXPECT_GT(training["usd_high"], training["usd"]);

  std::vector<std::string> limited = asked;
  limited.insert(limited.end(), {"--deadline", formatted_hours(training["hours_high"], 1.001)});
  const json sure = place.run_json(search(limited));
  EXPECT_EQ(sure["best_sure"]["plan"], best["plan"]);
  limited.back() = formatted_hours(training["hours"], 1.001);
  const json unsure = place.run_json(search(limited));
  EXPECT_EQ(unsure["best"]["plan"], best["plan"]);
  EXPECT_TRUE(unsure["best_sure"].is_null());
  limited.back() = formatted_hours(training["hours"], 0.9);
  EXPECT_GT(place.run_json(search(limited))["plans_too_late"], 0);
  const Outcome words = place.run(search(asked));
  EXPECT_NE(words.out.find("of the time is training that is kept"), std::string::npos) << words.out;
}

// A plan file's own default of 512 tokens is for trying out.
TEST(Search, SequencesAreTheModelsUsualWhereNobodySaysTheirLength) {
  const Workplace place;
  place.write("space.toml", kSpace);
  const auto answer = [&](const std::vector<std::string>& more) {
    std::vector<std::string> asked{"search",     "--model",  "llama-3.2-1b",
                                   "--machines", "h100-sxm", "--operators",
                                   "foreshard",  "--space",  "space.toml"};
    asked.insert(asked.end(), more.begin(), more.end());
    return place.run_json(asked);
  };
  const json usual = answer({});
  EXPECT_EQ(usual["question"]["sequence"], 8192);
  EXPECT_EQ(usual["assumed"], json::array({"sequences of 8192 tokens"}));
  place.write("base.toml", "[batch]\nsequence = 2048\n");
  const json said = answer({"--base", "base.toml"});
  EXPECT_EQ(said["question"]["sequence"], 2048);
  EXPECT_TRUE(said["assumed"].empty());
  place.write("space.toml", "\"batch.sequence\" = [512, 1024]\n");
  EXPECT_TRUE(answer({})["assumed"].empty());
}

TEST(Search, GradientsAreReducedInBf16OnlyWhereItIsAskedFor) {
  const Workplace place;
  const json answer = place.run_json(search({}));
  EXPECT_EQ(answer["question"]["plan"]["precision"]["reduce"], "fp32");
}

TEST(Search, PricesThatCannotBeMeantAreRefused) {
  const Workplace place;
  place.write("space.toml", kSpace);
  const auto error_of = [&](const std::string& prices) {
    place.write("prices.csv", "machine,usd_per_hour\n" + prices);
    const Outcome outcome = place.run(search({"--space", "space.toml", "--prices", "prices.csv"}));
    EXPECT_EQ(outcome.status, 2) << outcome.out;
    return outcome.err;
  };
  EXPECT_NE(error_of("h100-sxm,2\nh100-sxm,3\n").find("prices.csv:3: machine: "),
            std::string::npos);
  EXPECT_NE(error_of("h100,2\n").find("'h100' is no machine"), std::string::npos);
}

TEST(Search, SaysWhichMachinesHaveNoPriceOfOnesOwn) {
  const Workplace place;
  place.write("space.toml", kSpace);
  place.write("prices.csv", "machine,usd_per_hour\nh100-sxm,2\n");
  const Outcome outcome = place.run(search(
      {"--space", "space.toml", "--machines", "h100-sxm,a100-sxm-80", "--prices", "prices.csv"}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("has no price of a100-sxm-80"), std::string::npos) << outcome.err;
}

TEST(Search, CostsOfRunsAnswerForTheirMachineAlone) {
  const Workplace place;
  place.write("space.toml", kSpace);
  const double tokens_per_s =
      place.run_json({"predict", "--model", "model", "--plan", "plan.toml", "--ranks", "2",
                      "--machine", "h100-sxm"})["tokens_per_s"];
  const Outcome fitted =
      place.run({"fit", "--machine", "h100-sxm", "--observed",
                 "model@2:plan.toml=" + std::to_string(0.9 * tokens_per_s), "-o", "costs.json"});
  ASSERT_EQ(fitted.status, 0) << fitted.err;
  const std::vector<std::string> with_costs{"--space", "space.toml", "--costs", "costs.json"};
  std::vector<std::string> others = with_costs;
  others.insert(others.end(), {"--machines", "h100-sxm,h200"});
  const Outcome refused = place.run(search(others));
  EXPECT_EQ(refused.status, 2) << refused.out;
  EXPECT_NE(refused.err.find("observed on h100-sxm"), std::string::npos) << refused.err;

  const json named = place.run_json(search(with_costs));
  const json unnamed =
      place.run_json({"search", "--model", "model", "--base", "plan.toml", "--space", "space.toml",
                      "--costs", "costs.json", "--gpus", "2"});
  EXPECT_EQ(unnamed["best"]["machine"], "h100-sxm");
  EXPECT_EQ(unnamed["best"]["step_time_ns"], named["best"]["step_time_ns"]);
}

TEST(Search, SaysWhereNoPlanIsACandidate) {
  const Workplace place;
  place.write("space.toml", "\"checkpointing.mode\" = [\"none\"]\n");
  const Outcome outcome = place.run(search(
      {"--space", "space.toml", "--machines", "tpu-v5p,h100-sxm", "--operators", "pytorch-eager"}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("no plan of the space is one for tpu-v5p x 2"), std::string::npos)
      << outcome.err;
}

TEST(Search, SaysThatNoPlanFits) {
  const Workplace place;
  place.write("space.toml", kSpace);
  const json answer = place.run_json(search({"--space", "space.toml", "--device-memory", "1MiB"}));
  EXPECT_TRUE(answer["best"].is_null());
  EXPECT_EQ(answer["plans_out_of_memory"], 4);
  EXPECT_TRUE(answer["pareto"].empty());
  const Outcome words = place.run(search({"--space", "space.toml", "--device-memory", "1MiB",
                                          "--svg", "none.svg", "--csv", "none.csv"}));
  EXPECT_EQ(words.status, 0);
  EXPECT_NE(words.out.find("No plan fits."), std::string::npos) << words.out;
  EXPECT_EQ(lines_of(place.read("none.csv")), 1u);
}

// In one line, however narrow the terminal is: as `predict` says it.
TEST(Search, TheFirstLineIsTheQuestion) {
  const Workplace place;
  place.write("space.toml", kSpace);
  const Outcome outcome = place.run(search({"--space", "space.toml"}), {{"COLUMNS", "60"}});
  const std::string first = outcome.out.substr(0, outcome.out.find('\n'));
  EXPECT_NE(first.find("micro-batch"), std::string::npos) << outcome.out << outcome.err;
  EXPECT_NE(first.find("sequence "), std::string::npos) << outcome.out;
}

TEST(Search, TheTokensOfAStepDecideTheAccumulation) {
  const Workplace place;
  place.write("space.toml", kSpace);
  place.write("plan.toml", "[batch]\nsequence = 64\n");
  const json answer =
      place.run_json(search({"--space", "space.toml", "--tokens-per-step", "1024", "--top", "9"}));
  ASSERT_EQ(answer["top"].size(), 4u);
  for (const json& plan : answer["top"]) {
    const int micro_batch = plan["values"]["batch.micro_batch"];
    EXPECT_EQ(plan["values"]["batch.accumulation"], 1024 / (micro_batch * 64 * 2));
  }
}

struct BadSearch {
  std::string name, space;
  std::vector<std::string> options, words;  // all of which the message has

  friend std::ostream& operator<<(std::ostream& out, const BadSearch& c) { return out << c.name; }
};

class RefusedSearch : public testing::TestWithParam<BadSearch> {};

TEST_P(RefusedSearch, IsNamed) {
  const BadSearch& bad = GetParam();
  const Workplace place;
  place.write("space.toml", bad.space);
  std::vector<std::string> options{"--space", "space.toml"};
  options.insert(options.end(), bad.options.begin(), bad.options.end());
  place.write("prices.csv", "machine,usd_per_hour\nh100-sxm,free\n");
  const auto before = place.files();
  const Outcome outcome = place.run(search(options));
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_TRUE(outcome.err.starts_with("foreshard: error: ")) << outcome.err;
  for (const std::string& word : bad.words) {
    EXPECT_NE(outcome.err.find(word), std::string::npos) << word << " in: " << outcome.err;
  }
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(place.files(), before);
}

INSTANTIATE_TEST_SUITE_P(
    Spaces, RefusedSearch,
    testing::Values(
        BadSearch{"UnknownKey",
                  "\"batch.micro_bach\" = [1]\n",
                  {},
                  {"space.toml:1", "batch.micro_bach", "batch.micro_batch"}},
        BadSearch{"Section",
                  "[batch]\nmicro_batch = [1]\n",
                  {},
                  {"space.toml:1", "batch", "whole name in quotes"}},
        BadSearch{"WrongType",
                  "\"batch.micro_batch\" = [1, \"two\"]\n",
                  {},
                  {"space.toml", "batch.micro_batch", "two", "expected"}},
        BadSearch{"OutOfRange",
                  "\"batch.micro_batch\" = [0]\n",
                  {},
                  {"space.toml", "batch.micro_batch", "0", "expected"}},
        BadSearch{"WrongWord",
                  "\"checkpointing.mode\" = [\"none\", \"half\"]\n",
                  {},
                  {"space.toml", "checkpointing.mode", "half", "selective"}},
        BadSearch{"NoList",
                  "\"batch.micro_batch\" = 1\n",
                  {},
                  {"space.toml:1", "batch.micro_batch", "expected a list"}},
        BadSearch{"EmptyList",
                  "\"batch.micro_batch\" = []\n",
                  {},
                  {"space.toml:1", "batch.micro_batch", "expected a list"}},
        BadSearch{"Twice",
                  "\"batch.micro_batch\" = [2, 2]\n",
                  {},
                  {"space.toml:1", "batch.micro_batch", "2 twice"}},
        BadSearch{"NoToml", "\"batch.micro_batch\" = [1\n", {}, {"space.toml", "expected"}},
        BadSearch{"Contradiction",
                  "\"sharding.strategy\" = [\"shard_grad_op\"]\n"
                  "\"sharding.reshard_after_forward\" = [true]\n",
                  {},
                  {"reshard_after_forward", "shard_grad_op"}},
        BadSearch{"AccumulationTwice",
                  "\"batch.accumulation\" = [1, 2]\n",
                  {"--tokens-per-step", "4096"},
                  {"batch.accumulation", "--tokens-per-step"}},
        BadSearch{"NoAccumulation", kSpace, {"--tokens-per-step", "7"}, {"--tokens-per-step", "7"}},
        BadSearch{"UnknownMachine", kSpace, {"--machines", "h100-smx"}, {"h100-smx", "h100-sxm"}},
        BadSearch{"NoSize", kSpace, {"--gpus", "8,many"}, {"--gpus", "many"}},
        BadSearch{"ZeroGpus", kSpace, {"--gpus", "0"}, {"--gpus", "0"}},
        BadSearch{"NoNodes", kSpace, {"--nodes", "1,few"}, {"--nodes", "few"}},
        BadSearch{
            "PriceKind", kSpace, {"--price-kind", "stolen"}, {"--price-kind", "stolen", "spot"}},
        BadSearch{"TooFewNodes", kSpace, {"--gpus", "16", "--nodes", "1"}, {"--nodes", "16"}},
        BadSearch{
            "DeadlineForNothing", kSpace, {"--deadline", "30d"}, {"--deadline", "--train-tokens"}},
        BadSearch{"NoDeadline", kSpace, {"--deadline", "30"}, {"--deadline", "30", "12h"}},
        BadSearch{"RestartForNothing", kSpace, {"--restart-time", "5min"}, {"--restart-time"}},
        BadSearch{"BudgetForNothing", kSpace, {"--budget", "10"}, {"--budget", "--train-tokens"}},
        BadSearch{"BadPrice",
                  kSpace,
                  {"--prices", "prices.csv"},
                  {"prices.csv:2", "usd_per_hour", "free"}},
        BadSearch{"NoPrices", kSpace, {"--prices", "missing.csv"}, {"missing.csv"}},
        BadSearch{"Objective", kSpace, {"--objective", "fun"}, {"--objective", "fun", "cost"}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace foreshard::cli_tests
