// How much ranks differ: from ranks whose differences were planted, and in recordings that others made.
#include "simulator/fit/rank_variation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "models/base/statistics.hpp"
#include "models/hardware/hardware.hpp"
#include "models/hardware/kernel_rates.hpp"
#include "simulator/costs/cost_model.hpp"
#include "simulator/device/stragglers.hpp"
#include "tests/outside_data.hpp"
#include "tests/simulator/cost_keys.hpp"
#include "traces/import.hpp"

namespace foreshard::simulator {
namespace {

const CostKey kPlanted = key(Operator::matmul, {1024, 1024, 1024});
const CostKey kMovedBeside = key(Operator::memory_bound, {1 << 20, 1 << 20}, DType::fp32);

// Ranks that take `between_ranks` and `between_steps` more or less than a common part that changes
// from step to step; what moves bytes varies a lot and says nothing.
traces::Trace planted(int ranks, int steps, double between_ranks, double between_steps,
                      std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, 1);
  traces::Trace trace;
  std::vector<double> own;
  for (int rank = 0; rank < ranks; ++rank) {
    trace.lanes.push_back({rank, true, trace.strings.intern("stream 7")});
    own.push_back(between_ranks * normal(random));
  }
  const auto add = [&](int rank, int step, const CostKey& key, double ns) {
    traces::Event event;
    event.lane = rank;
    event.step = step;
    event.kind = traces::EventKind::compute;
    event.end_ns = std::llround(ns);
    event.cost_key = trace.strings.intern(text(key));
    trace.events.push_back(event);
  };
  for (int step = 0; step < steps; ++step) {
    const double common = 0.2 * normal(random);
    for (int rank = 0; rank < ranks; ++rank) {
      const double factor =
          std::exp(common + own[static_cast<std::size_t>(rank)] + between_steps * normal(random));
      for (int n = 0; n < 3; ++n) add(rank, step, kPlanted, 1e8 * factor);
      add(rank, step, kMovedBeside, 1e8 * std::exp(normal(random)));
    }
  }
  return trace;
}

TEST(RankVariation, IsWhatWasPlanted) {
  const auto found = rank_variation({rank_step_times(planted(512, 40, 0.03, 0.01, 1))}).value();
  EXPECT_NEAR(found.between_ranks, 0.03, 0.003);
  EXPECT_NEAR(found.between_steps, 0.01, 0.0005);
  EXPECT_EQ(found.ranks, 512);
  EXPECT_EQ(found.steps, 40);
}

// One recording of 8 ranks says little, a hundred of them are right on average: nothing is counted
// twice.
TEST(RankVariation, RecordingsArePooled) {
  std::vector<RankStepTimes> recordings;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    recordings.push_back(rank_step_times(planted(8, 4, 0.02, 0.04, seed)));
  }
  const auto found = rank_variation(recordings).value();
  EXPECT_NEAR(found.between_ranks, 0.02, 0.004);
  EXPECT_NEAR(found.between_steps, 0.04, 0.003);
}

TEST(RankVariation, RanksThatAreAlikeDoNotVary) {
  const auto found = rank_variation({rank_step_times(planted(8, 3, 0, 0, 1))}).value();
  EXPECT_LT(found.between_ranks, 1e-6);
  EXPECT_LT(found.between_steps, 1e-6);
}

TEST(RankVariation, OneRankShowsNone) {
  EXPECT_FALSE(rank_variation({rank_step_times(planted(1, 5, 0.1, 0.1, 1))}));
  EXPECT_FALSE(rank_variation({rank_step_times(traces::Trace())}));
}

// A step in which a rank did other work than usual is no sample of any.
TEST(RankVariation, StepsOfOtherWorkAreLeftOut) {
  traces::Trace trace = planted(4, 6, 0.02, 0.01, 3);
  const RankStepTimes whole = rank_step_times(trace);
  traces::Event more;  // in the first step
  more.kind = traces::EventKind::compute;
  more.end_ns = 1000;
  more.cost_key = trace.strings.intern(text(kPlanted));
  trace.events.push_back(more);
  const RankStepTimes rest = rank_step_times(trace);
  ASSERT_EQ(rest.size(), whole.size());
  for (std::size_t rank = 0; rank < rest.size(); ++rank) {
    EXPECT_EQ(rest[rank], std::vector<double>(whole[rank].begin() + 1, whole[rank].end()));
  }
}

// What was fitted is what predictions wait for: products of more ranks take longer by the expected
// largest factor, what was measured of one rank stays.
TEST(RankVariation, PredictionsWaitForTheSlowest) {
  CostTable table;
  table.machine_name = "a device of nobody";
  table.is_accelerator = true;
  table.regimes.emplace_back().measured[kPlanted] = {1e6, 10};
  table.variation = RankVariation{0.03, 0.04, 16, 10};
  const auto ns = [&](int ranks) { return table_costs(table, ranks)->estimate(kPlanted, {}).ns; };
  EXPECT_DOUBLE_EQ(ns(1), 1e6);
  EXPECT_DOUBLE_EQ(ns(64), 1e6 * slowest_of(64, 0.05, 0).factor);
  EXPECT_GT(ns(128), ns(64));
  const auto read = parse_cost_table(to_json(table), "costs.json");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->variation->between_ranks, 0.03);
  EXPECT_EQ(read->variation->between_steps, 0.04);
  EXPECT_EQ(read->variation->ranks, 16);
  EXPECT_EQ(read->variation->steps, 10);
}

// These recordings have no shapes: of kernels of products and convolutions by their names, in the steps in
// which all ranks ran as many.
RankStepTimes times_by_name(const traces::Trace& trace) {
  constexpr std::array<std::string_view, 4> kProducts = {"gemm", "cutlass", "cudnn", "implicit"};
  std::map<std::int32_t, std::map<std::int32_t, std::pair<int, std::int64_t>>> steps;
  for (const traces::Event& event : trace.events) {
    const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(event.lane)];
    const std::string_view name = trace.strings[event.name];
    const bool is_product = std::any_of(
        kProducts.begin(), kProducts.end(),
        [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
    if (!lane.device || event.kind != traces::EventKind::compute || !is_product) continue;
    auto& [kernels, ns] = steps[event.step][lane.rank];
    ++kernels;
    ns += event.end_ns - event.start_ns;
  }
  RankStepTimes times;
  for (const auto& [step, of_rank] : steps) {
    times.resize(std::max(times.size(), of_rank.size()));
    const int kernels = of_rank.begin()->second.first;
    if (of_rank.size() != times.size() ||
        std::any_of(of_rank.begin(), of_rank.end(),
                    [&](const auto& rank) { return rank.second.first != kernels; })) {
      continue;
    }
    std::size_t row = 0;
    for (const auto& [rank, time] : of_rank) {
      times[row++].push_back(std::log(static_cast<double>(time.second)));
    }
  }
  return times;
}

// Eight steps of four V100 in three runs, as docs/costs.md lists them.
TEST(RankVariation, OfRecordedRanksIsWhatTheLawHasIt) {
  std::vector<RankStepTimes> recordings;
  std::vector<double> excesses;  // of the slowest rank over the mean of all
  for (const std::string name : {"sst_long_a2a_optimizer", "sst_long_a2a_optimizer_2"}) {
    const auto folder = tests::outside_data("traces/kineto/torchrec/" + name);
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << tests::missing(folder);
    const auto runs = traces::import_kineto({folder});
    ASSERT_TRUE(runs) << runs.error().text();
    for (const traces::Trace& run : *runs) {
      recordings.push_back(times_by_name(run));
      const RankStepTimes& times = recordings.back();
      ASSERT_EQ(times.size(), 4U);
      for (std::size_t step = 0; step < times.front().size(); ++step) {
        double sum = 0, slowest = 0;
        for (const auto& rank : times) {
          sum += std::exp(rank[step]);
          slowest = std::max(slowest, std::exp(rank[step]));
        }
        excesses.push_back(slowest / (sum / 4) - 1);
      }
    }
  }
  ASSERT_EQ(excesses.size(), 8U);
  const KernelRate sigma = kernel_rates(*load_machine("v100-sxm2-16")).part_variation;
  const double expected = slowest_of(4, sigma.value, sigma.spread).factor - 1;
  EXPECT_NEAR(median(excesses), expected, 0.3 * expected);
  const double rare = slowest_quantile(4, sigma.value, 0.95) - 1;
  EXPECT_EQ(std::count_if(excesses.begin(), excesses.end(), [&](double e) { return e > rare; }), 1);
  const RankVariation found = rank_variation(recordings).value();
  const double sampling = 1 / std::sqrt(2.0 * 9);  // three runs of four ranks
  EXPECT_NEAR(std::log(std::hypot(found.between_ranks, found.between_steps)), std::log(sigma.value),
              2 * std::hypot(sigma.spread, sampling));
}

}  // namespace
}  // namespace foreshard::simulator
