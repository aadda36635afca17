// Recordings whose truth is known: predictions by one cost model, made slower, noisier or longer in
// known ways. The fit must find those ways and give the cost model back.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "models/sharding/job.hpp"
#include "simulator/costs/key_facts.hpp"
#include "simulator/fit/fit.hpp"
#include "tests/simulator/known_machine.hpp"
#include "tests/small_llama.hpp"

namespace foreshard::simulator {
namespace {

using traces::Event;
using traces::Trace;

struct Made {
  int ranks = 2;
  std::int64_t micro_batch = 2, sequence = 64;
  double slowness = 1;  // of everything: the machine's
  double longer = 1;    // of the steps alone, whose tasks stay as they are
  double noise = 0.01;  // relative, of each task
};

Job job_of(const Made& made) {
  Plan plan;
  plan.batch.micro_batch = made.micro_batch;
  plan.batch.sequence = made.sequence;
  auto job = make_job(tests::small_llama({256, 640, 3, 4, 2, 1000}), plan, "test", made.ranks);
  EXPECT_TRUE(job);
  return *job;
}

// The machine that all these recordings are of: eight cores, each of 30 operations and 6 bytes a
// nanosecond, and memory that is never the limit. Up to six ranks leave each its own core.
constexpr int kCoresOfRuns = 8;
const CostTable& true_costs() {
  static const CostTable costs = [] {
    CostTable table;
    table.machine_name = "made up";
    table.cores = kCoresOfRuns;
    const FitRange everywhere{99, 99, 1, 1e15, 0, 1e9, 1e9};
    for (const int threads : {1, 4}) {
      ThreadCountCosts& regime = table.regimes.emplace_back();
      regime.threads = threads;
      regime.host.issue_ns.fill(300);
      regime.host.launch_latency_ns = regime.host.event_latency_ns = 5000;
      regime.host.wait_latency_ns = 5000;
      for (int op = 0; op < static_cast<int>(Operator::kCount); ++op) {
        const auto which = static_cast<Operator>(op);
        if (is_collective(which)) {
          for (const std::int64_t group : {2, 5, 6}) {
            regime.collectives.push_back(
                {which, DType::fp32, group, 1, 30'000, 0, 1 / 6.0, 0, everywhere});
          }
          continue;
        }
        const double ns_per_flop = is_arithmetic(which) ? 1 / (30.0 * threads) : 0;
        for (const bool on_host : {false, true}) {
          regime.operators.push_back(
              {which, DType::fp32, on_host, 2000, ns_per_flop, 1 / 6.0, 0, everywhere});
        }
      }
    }
    return table;
  }();
  return costs;
}

constexpr std::int64_t kSteps = 5;
Prediction predicted(const Made& made, const CostTable& costs) {
  return predicted_on(costs, job_of(made), kSteps);
}

Trace recording(const Made& made, unsigned seed = 1) {
  Trace trace = recorded_on(true_costs(), job_of(made), kSteps);
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(1, made.noise);
  const auto stretch = [&](std::int64_t& ns) {
    ns = std::llround(static_cast<double>(ns) * made.slowness);
  };
  trace.events.update_all([&](Event& event) {
    stretch(event.start_ns);
    stretch(event.end_ns);
    const bool is_task =
        is_device_work(event.kind) || event.kind == traces::EventKind::host_compute;
    if (!is_task) return;
    event.cpu_ns = std::llround(static_cast<double>(event.end_ns - event.start_ns) * noise(random));
  });
  std::int64_t later = 0;
  for (traces::Step& step : trace.steps) {
    stretch(step.start_ns);
    stretch(step.end_ns);
    if (step.step == 0) later = 0;
    const std::int64_t more =
        std::llround(static_cast<double>(step.end_ns - step.start_ns) * (made.longer - 1));
    step.start_ns += later;
    step.end_ns += later += more;
  }
  return trace;
}

struct Recorded {
  std::vector<Trace> traces;
  CostTable table;
};

Recorded fit_of(const std::vector<Made>& runs) {
  Recorded result;
  for (const Made& made : runs) {
    result.traces.push_back(recording(made, static_cast<unsigned>(result.traces.size()) + 1));
  }
  std::vector<Recording> recordings;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    recordings.push_back({"run" + std::to_string(i) + ".fst", &result.traces[i]});
  }
  const auto fitted = fit(recordings);
  EXPECT_TRUE(fitted);
  result.table = fitted->table;
  return result;
}

double predicted_over_true(const CostTable& table, const Made& made) {
  return static_cast<double>(predicted(made, table).step_time.count()) /
         static_cast<double>(predicted(made, true_costs()).step_time.count());
}

TEST(FitOfRuns, FindsTheCostModelThatMadeThem) {
  const auto [traces, table] = fit_of({{}, {.sequence = 96}, {.micro_batch = 1, .sequence = 160}});
  EXPECT_NEAR(predicted_over_true(table, {.micro_batch = 2, .sequence = 80}), 1, 0.03);
  EXPECT_LT(table.slowness_spread, 0.01);
  for (const Calibration& run : table.calibration) {
    EXPECT_NEAR(static_cast<double>(run.held_out_ns) / static_cast<double>(run.measured_ns), 1,
                0.05);
  }
}

TEST(FitOfRuns, FindsHowFastTheMachineWasInEach) {
  const std::vector<Made> runs = {{.slowness = 1.0},
                                  {.sequence = 96, .slowness = 1.15},
                                  {.sequence = 128, .slowness = 0.95},
                                  {.micro_batch = 1, .sequence = 96, .slowness = 1.05}};
  const auto [traces, table] = fit_of(runs);
  double mean = 0;
  for (const Made& made : runs) mean += std::log(made.slowness) / static_cast<double>(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_NEAR(std::log(table.calibration[i].slowness), std::log(runs[i].slowness) - mean, 0.02)
        << i;
  }
  EXPECT_NEAR(table.slowness_spread, 0.083, 0.02);
  EXPECT_GT(table.band, 1.65 * table.slowness_spread);
  // What is predicted is the machine at its mean speed.
  EXPECT_NEAR(predicted_over_true(table, {.sequence = 112}), std::exp(mean), 0.03);
}

TEST(FitOfRuns, TakesOutWhatRecordingCost) {
  std::vector<Trace> traces;
  std::vector<Recording> recordings;
  traces.reserve(2);
  for (const std::int64_t sequence : {64, 96}) {
    traces.push_back(recording({.sequence = sequence, .longer = 1 / 0.92}));
    traces.back().metadata["recorder_overhead_fraction"] = "0.08";
    recordings.push_back({"run.fst", &traces.back()});
  }
  const auto fitted = fit(recordings);
  ASSERT_TRUE(fitted);
  EXPECT_NEAR(predicted_over_true(fitted->table, {.sequence = 80}), 1, 0.02);
  EXPECT_DOUBLE_EQ(fitted->table.calibration[0].recorder_share, 0.08);
}

TEST(FitOfRuns, AfterOneRecordingTheBandIsWide) {
  const auto [traces, table] = fit_of({{}});
  EXPECT_GE(table.band, 0.10);
  EXPECT_NEAR(predicted_over_true(table, {}), 1, 0.02);
  EXPECT_NE(fit_report(table).find("assumed"), std::string::npos);
}

TEST(FitOfRuns, OfOnlySomeRanksTeachesCostsAndIsNotSimulated) {
  Trace trace = recording({.ranks = 2});
  trace.metadata["ranks"] = "4";
  trace.metadata["threads_per_rank"] = "2";
  const auto fitted = fit({{"a.fst", &trace}});
  ASSERT_TRUE(fitted);
  EXPECT_FALSE(fitted->table.regimes.at(0).measured.empty());
  EXPECT_EQ(fitted->table.calibration.at(0).fitted_ns, 0);
  ASSERT_EQ(fitted->warnings.size(), 1U);
  EXPECT_NE(fitted->warnings[0].find("a.fst: could not be simulated"), std::string::npos);
}

TEST(FitOfRuns, ARecordingGivenTwiceCountsOnce) {
  const Trace a = recording({}), b = recording({.sequence = 96}, 2);
  const auto once = fit({{"a.fst", &a}, {"b.fst", &b}});
  // The same with its text and events in another order, at another time, and under another name.
  Trace copy = a;
  copy.strings = {};
  for (std::size_t id = a.strings.size(); id-- > 1;) {
    copy.strings.intern(a.strings[static_cast<traces::StringId>(id)]);
  }
  copy.events.update_all([&](Event& event) {
    event.cost_key = copy.strings.intern(a.strings[event.cost_key]);
    event.name = copy.strings.intern(a.strings[event.name]);
    event.start_ns += 1000;
    event.end_ns += 1000;
  });
  for (traces::Step& step : copy.steps) step.start_ns += 1000, step.end_ns += 1000;
  copy.metadata["command"] = "another";
  const traces::EventList reversed = copy.events;
  for (std::size_t n = 0; n < reversed.size(); ++n) {
    copy.events.set(n, reversed[reversed.size() - 1 - n]);
  }
  const auto again = fit({{"a.fst", &a}, {"b.fst", &b}, {"b.fst", &b}, {"copy.fst", &copy}});
  ASSERT_TRUE(once && again);
  EXPECT_EQ(again->table.calibration.size(), 2U);
  EXPECT_EQ(to_json(again->table), to_json(once->table));
  EXPECT_EQ(again->warnings, (std::vector<std::string>{
                                 "b.fst: is the same recording as b.fst and was left out",
                                 "copy.fst: is the same recording as a.fst and was left out"}));
}

TEST(FitOfRuns, TheBandIsNotClipped) {
  // Steps that their tasks do not explain, and differently so in each run.
  const auto [traces, table] =
      fit_of({{.longer = 1.0}, {.sequence = 96, .longer = 1.6}, {.sequence = 128, .longer = 0.7}});
  EXPECT_GT(table.band, 0.4);
}

TEST(FitOfRuns, CrowdingIsThatOfItsNumberOfRanks) {
  const auto [traces, table] =
      fit_of({{.ranks = 5}, {.ranks = 5, .sequence = 96}, {.ranks = 6, .slowness = 1.25}});
  double of_five = 0, of_six = 0;
  for (const Oversubscription& crowding : table.crowding) {
    EXPECT_EQ(crowding.threads, 1);
    (crowding.ranks == 5 ? of_five : of_six) = crowding.factor;
  }
  EXPECT_NEAR(of_six / of_five, 1.25, 0.06);
}

TEST(FitOfRuns, StepsThatTheirTasksDoNotExplainAreAWarning) {
  const auto warnings_of = [](double longer) {
    const Trace trace = recording({.longer = longer});
    const auto fitted = fit({{"a.fst", &trace}});
    EXPECT_TRUE(fitted);
    const auto again = parse_cost_table(to_json(fitted->table), "costs.json");
    EXPECT_TRUE(again);
    EXPECT_NEAR(again->crowding.at(0).missed, longer, 0.05 * longer);
    return std::pair(fitted->warnings, fit_report(*again));
  };
  const auto [none, explained] = warnings_of(1.2);
  EXPECT_TRUE(none.empty()) << none[0];
  EXPECT_EQ(explained.find("whole steps"), std::string::npos);
  for (const auto& [longer, words] :
       {std::pair(1.6, "1.33 is used, so predictions of such runs are too short"),
        {0.6, "0.75 is used, so predictions of such runs are too long"}}) {
    const auto [warnings, report] = warnings_of(longer);
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_TRUE(warnings[0].starts_with("steps of 2 ranks with 4 threads each take "))
        << warnings[0];
    EXPECT_TRUE(warnings[0].ends_with(words)) << warnings[0];
    EXPECT_NE(report.find("whole steps"), std::string::npos);
  }
}

// Costs of two recordings on a machine that was 1.2 times as slow, with an operator that new ones lack.
KnownCosts slower_costs() {
  KnownCosts known{
      "known.json",
      fit_of({{.ranks = 5, .slowness = 1.2}, {.ranks = 5, .sequence = 96, .slowness = 1.2}}).table};
  known.table.regimes.at(0)
      .measured[{Operator::sgd, DType::fp32, DType::fp32, DType::fp32, {999}}] = {12'000, 5};
  return known;
}

TEST(FitWithKnownCosts, RecordingsComeFirstAndTheRestIsAtTheirSpeed) {
  const KnownCosts known = slower_costs();
  const Trace trace = recording({.ranks = 5}, 7);
  const auto alone = fit({{"a.fst", &trace}}), merged = fit({{"a.fst", &trace}}, &known);
  ASSERT_TRUE(alone && merged);
  const ThreadCountCosts& regime = merged->table.regimes.at(0);
  for (const auto& [key, cost] : alone->table.regimes.at(0).measured) {
    // The file's are 1.2 times as long. Its limit of the memory may explain some of a task's time.
    EXPECT_LT(regime.measured.at(key).ns / cost.ns, 1.05) << text(key);
    EXPECT_EQ(regime.measured.at(key).count, cost.count) << text(key);
  }
  EXPECT_GT(regime.measured.size(), alone->table.regimes.at(0).measured.size() + 10);
  const CostKey only_known{Operator::sgd, DType::fp32, DType::fp32, DType::fp32, {999}};
  EXPECT_NEAR(regime.measured.at(only_known).ns, 10'000, 300);
  EXPECT_EQ(merged->table.calibration.size(), 3U);
  EXPECT_NEAR(predicted_over_true(merged->table, {.ranks = 5, .sequence = 80}), 1, 0.05);
}

TEST(FitWithKnownCosts, ThreadsThatRecordingsLackAreTheFiles) {
  const KnownCosts known = slower_costs();
  const Trace trace = recording({}, 7);
  const auto merged = fit({{"a.fst", &trace}}, &known);
  ASSERT_TRUE(merged);
  ASSERT_EQ(merged->table.regimes.size(), 2U);
  EXPECT_EQ(merged->table.crowding.size(), 2U);
  EXPECT_NEAR(predicted_over_true(merged->table, {.ranks = 5, .sequence = 80}), 1.2, 0.05);
}

TEST(FitWithKnownCosts, RefusesOtherMachinesAndLeavesOutWhatTheFileHas) {
  KnownCosts known = slower_costs();
  const Trace old = recording({.ranks = 5, .slowness = 1.2}, 1);
  const auto nothing_new = fit({{"old.fst", &old}}, &known);
  ASSERT_FALSE(nothing_new);
  EXPECT_EQ(nothing_new.error().text(),
            "known.json: has all of these recordings; expected one that it lacks");
  known.table.machine_name = "another";
  const auto other = fit({{"old.fst", &old}}, &known);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().text().find("known.json: machine.name: holds costs of another machine"),
            std::string::npos);
}

TEST(FitOfRuns, CrowdingOfOtherThreadsIsKeptApart) {
  std::vector<Trace> traces = {recording({}), recording({.slowness = 1.3}, 2), recording({}, 3)};
  traces[1].metadata["threads_per_rank"] = "77";
  const auto fitted = fit({{"a.fst", &traces[0]}, {"b.fst", &traces[1]}, {"c.fst", &traces[2]}});
  ASSERT_TRUE(fitted);
  ASSERT_EQ(fitted->table.crowding.size(), 2U);
  EXPECT_NE(fitted->table.crowding[0].threads, fitted->table.crowding[1].threads);
  // The steps of neither explain the other's.
  EXPECT_NEAR(predicted_over_true(fitted->table, {}), 1, 0.02);
}

}  // namespace
}  // namespace foreshard::simulator
