// Machines whose operators take times by known formulas, and clocks that only their steps move on.
#include "simulator/calibrate/calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "models/lowering/lower.hpp"
#include "models/sharding/cuda_device.hpp"
#include "simulator/costs/key_facts.hpp"
#include "simulator/predict/prediction.hpp"
#include "tests/property/random_job.hpp"
#include "tests/simulator/known_machine.hpp"
#include "tests/small_llama.hpp"

namespace foreshard::simulator {
namespace {

constexpr int kCores = 8, kMostRanks = 4;  // each thread has a core

// Every operator takes overhead + max(operations x a, bytes x b) with random coefficients of its own,
// every collective base + bytes x c; other types and numbers of threads take so many times as long.
CostTable random_machine(unsigned seed) {
  std::mt19937 random(seed);
  const auto between = [&](double least, double most) {
    return std::exp(std::uniform_real_distribution(std::log(least), std::log(most))(random));
  };
  const FitRange everywhere{99, 99, 1, 1e18, 0, 1e9, 1e18};
  CostTable table;
  table.machine_name = "made up";
  table.cores = kCores;
  for (const int threads : {2, 4, 8}) {
    ThreadCountCosts& regime = table.regimes.emplace_back();
    regime.threads = threads;
    regime.host.issue_ns.fill(std::llround(between(50, 500)));
    regime.host.launch_latency_ns = regime.host.event_latency_ns = 5000;
    regime.host.wait_latency_ns = 5000;
  }
  const double flops_per_ns = between(5, 100);
  for (int op = 0; op < static_cast<int>(Operator::kCount); ++op) {
    const auto which = static_cast<Operator>(op);
    const double overhead = between(500, 10'000), ns_per_byte = between(0.02, 0.2);
    const double ns_per_flop = is_arithmetic(which) ? between(0.7, 1.5) / flops_per_ns : 0;
    for (ThreadCountCosts& regime : table.regimes) {
      for (const DType type : {DType::fp32, DType::bf16, DType::fp64, DType::int32}) {
        const double longer = between(0.3, 1);
        if (is_collective(which)) {
          for (const std::int64_t group : {2, 4}) {
            regime.collectives.push_back({which, type, group, 1, 10 * longer * overhead, 0,
                                          longer * ns_per_byte, 0, everywhere});
          }
          continue;
        }
        for (const bool on_host : {false, true}) {
          regime.operators.push_back({which, type, on_host, longer * overhead, longer * ns_per_flop,
                                      longer * ns_per_byte, 0, everywhere});
        }
      }
    }
  }
  return table;
}

// What no fit knows: kernels that come near their speed only in large work, a cache that the bytes of
// small work stay in, and that every shape is a little quicker or slower than its neighbours.
double quirk(const CostKey& key, unsigned seed) {
  constexpr double kCacheBytes = 16 << 20, kShapes = 0.06;
  std::seed_seq words{seed, static_cast<unsigned>(CostKeyHash{}(key))};
  std::mt19937 random(words);
  double factor = std::exp(std::normal_distribution(0.0, kShapes)(random));
  if (is_arithmetic(key.op)) factor *= 1 + 1 / (1 + std::sqrt(flops(key) / 1e9));
  if (!is_arithmetic(key.op)) factor *= bytes_moved(key) > kCacheBytes ? 1.4 : 1;
  return factor;
}

// Records what the machine would, and tells the time by the sum of the steps.
class FakeMachine {
 public:
  explicit FakeMachine(CostTable costs, std::optional<unsigned> quirks = {})
      : law_(std::move(costs)), quirks_(quirks) {}

  // What it takes for everything that the job does.
  CostTable costs_for(const Job& job) const {
    CostTable table = law_;
    if (!quirks_) return table;
    const auto by_law = table_costs(law_, job.ranks);
    ThreadCountCosts& regime = *std::ranges::find(
        table.regimes, threads_per_rank(kCores, job.ranks), &ThreadCountCosts::threads);
    for (int rank = 0; rank < job.ranks; ++rank) {
      for (const CostKey& key : lower(job, rank).cost_keys) {
        const double factor = quirk(key, *quirks_);
        regime.measured[key] = {factor * by_law->estimate(key, {false, 1}).ns, 99};
        regime.measured_on_host[key] = {factor * by_law->estimate(key, {true, 1}).ns, 99};
      }
    }
    return table;
  }

  CalibratedMachine asked() {
    return {[this](const Job& job, std::int64_t steps) { return record(job, steps); },
            [this] { return now_; }};
  }

  std::int64_t widest = INT64_MAX;  // that memory is enough for
  std::vector<Job> recorded;
  std::int64_t fewest_steps = INT64_MAX;

 private:
  Result<std::optional<traces::Trace>> record(const Job& job, std::int64_t steps) {
    if (job.model.hidden > widest) return std::nullopt;
    recorded.push_back(job);
    fewest_steps = std::min(fewest_steps, steps);
    const CostTable costs = costs_for(job);
    traces::Trace trace = recorded_on(costs, job, steps);
    add_processor_times(trace, *table_costs(costs, job.ranks));
    std::int64_t end = 0;
    for (const traces::Step& step : trace.steps) end = std::max(end, step.end_ns);
    now_ += Nanoseconds(end);
    return trace;
  }

  // What tasks take alone, however many shared the cores.
  static void add_processor_times(traces::Trace& trace, const CostModel& costs) {
    trace.events.update_all([&](traces::Event& event) {
      const bool on_host = event.kind == traces::EventKind::host_compute;
      CostKey key;
      if (!is_device_work(event.kind) && !on_host) return;
      if (!parse_cost_key(trace.strings[event.cost_key], key)) return;
      event.cpu_ns = std::llround(costs.estimate(key, {on_host, 1}).ns);
    });
  }

  const CostTable law_;
  const std::optional<unsigned> quirks_;  // the seed of its quirks
  Nanoseconds now_{1'000'000};
};

CalibrationOptions within(double seconds) {
  CalibrationOptions options;
  options.limits.ranks = kMostRanks;
  options.time = Nanoseconds(std::llround(seconds * 1e9));
  return options;
}

Job job_of(const tests::Sizes& sizes, DType type, int ranks) {
  Plan plan;
  plan.batch.micro_batch = 2;
  plan.batch.sequence = 224;
  plan.precision.param = type;
  auto job = make_job(tests::small_llama(sizes), plan, "test", ranks);
  EXPECT_TRUE(job);
  return *job;
}

class RandomMachines : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomMachines, testing::Range(1U, 4U));

TEST_P(RandomMachines, AreFoundAgain) {
  const CostTable truth = random_machine(GetParam());
  FakeMachine machine(truth);
  const auto found = calibrate(machine.asked(), within(120));
  ASSERT_TRUE(found) << found.error().text();
  const CostTable& table = found->table;

  int compared = 0;
  for (const ThreadCountCosts& regime : table.regimes) {
    for (const OperatorFit& fit : regime.operators) {
      const CostKey key{fit.op, fit.dtype, fit.dtype, fit.dtype, {}};
      const OperatorFit* made = truth.regime(regime.threads)->fit_of(key, fit.on_host);
      ASSERT_NE(made, nullptr);
      if (fit.range.sizes < 4) continue;
      ++compared;
      SCOPED_TRACE(std::string(name(fit.op)) + " " + std::string(name(fit.dtype)));
      const double rate = is_arithmetic(fit.op) ? fit.ns_per_flop / made->ns_per_flop
                                                : fit.ns_per_byte / made->ns_per_byte;
      EXPECT_NEAR(rate, 1, 0.1) << fit.overhead_ns << " of " << made->overhead_ns;
    }
    for (const CollectiveFit& fit : regime.collectives) {
      if (fit.range.sizes < 4) continue;
      for (const CollectiveFit& made : truth.regime(regime.threads)->collectives) {
        if (std::tie(made.op, made.dtype, made.group) != std::tie(fit.op, fit.dtype, fit.group))
          continue;
        ++compared;
        EXPECT_NEAR(fit.ns_per_byte / made.ns_per_byte, 1, 0.1) << name(fit.op);
      }
    }
  }
  EXPECT_GT(compared, 50);

  for (const int ranks : {1, 2, 4}) {
    for (const DType type : {DType::fp32, DType::bf16}) {
      const Job job = job_of({640, 1792, 3, 10, 2, 9000}, type, ranks);
      const auto step_ns = [&](const CostTable& costs) {
        return static_cast<double>(predicted_on(costs, job, 3).step_time.count());
      };
      EXPECT_NEAR(step_ns(table) / step_ns(truth), 1, 0.05) << ranks << name(type);
    }
  }
}

// Models three times as wide as the widest that was measured, on machines that the fits describe badly.
TEST(Calibrate, TheBandCoversShapesBeyondTheLargest) {
  int tried = 0, inside = 0;
  double band = 0;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    FakeMachine machine(random_machine(seed), seed);
    machine.widest = 512;
    const auto found = calibrate(machine.asked(), within(600));
    ASSERT_TRUE(found) << found.error().text();
    for (const int ranks : {1, 2, 4}) {
      for (const DType type : {DType::fp32, DType::bf16}) {
        const Job job = job_of({1536, 4096, 3, 12, 4, 20'000}, type, ranks);
        const Prediction truth = predicted_on(machine.costs_for(job), job, 3);
        const Prediction guess = predicted_on(found->table, job, 3);
        const auto step_ns = static_cast<double>(guess.step_time.count());
        band += static_cast<double>(guess.step_time_high.count()) / step_ns - 1;
        ++tried;
        inside += guess.step_time_low <= truth.step_time && truth.step_time <= guess.step_time_high;
      }
    }
  }
  EXPECT_GE(inside, 0.9 * tried - 1);
  EXPECT_LT(band / tried, 0.5);
}

TEST(Calibrate, EndsInTimeAndUsesIt) {
  for (const double seconds : {5.0, 60.0}) {
    FakeMachine machine(random_machine(1));
    const auto asked = machine.asked();
    const Nanoseconds start = asked.now();
    ASSERT_TRUE(calibrate(asked, within(seconds)));
    const double took = static_cast<double>((asked.now() - start).count()) / 1e9;
    EXPECT_LT(took, 1.1 * seconds);
    EXPECT_GT(took, 0.4 * seconds);
    EXPECT_GE(machine.fewest_steps, 4);
  }
}

TEST(Calibrate, ModelsThatDoNotFitAreLeftOut) {
  FakeMachine machine(random_machine(2));
  machine.widest = 512;
  ASSERT_TRUE(calibrate(machine.asked(), within(600)));
  EXPECT_EQ(machine.recorded.size(), 2U * 3 * 2);  // widths, numbers of ranks, types
}

TEST(Calibrate, EndsWithTheErrorOfARun) {
  CalibratedMachine machine;
  machine.now = [] { return Nanoseconds(0); };
  machine.record = [](const Job&, std::int64_t) -> Result<std::optional<traces::Trace>> {
    return fail("", "", "out of paper");
  };
  const auto result = calibrate(machine, within(1));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "out of paper");
}

std::set<Operator> operators_of(const Job& job) {
  std::set<Operator> operators;
  for (const CostKey& key : lower(job, 0).cost_keys) operators.insert(key.op);
  return operators;
}

TEST(CalibrationRuns, HaveEveryOperatorThatPlansHave) {
  std::set<Operator> known;
  for (const CalibrationRun& run : calibration_runs({kMostRanks, {}})) {
    if (run.job.model.hidden <= 512) known.merge(operators_of(run.job));
  }
  tests::JobDrawer drawer(1);
  for (int draw = 0; draw < 300; ++draw) {
    const Job job = drawer.draw();
    for (const Operator op : operators_of(job)) {
      EXPECT_TRUE(known.count(op)) << name(op);
    }
  }
}

// Sizes of each copy and collective in the runs of up to a width, whole buffers.
std::map<Operator, std::set<std::int64_t>> transfers_of(const CalibrationLimits& limits,
                                                        std::int64_t widest) {
  std::map<Operator, std::set<std::int64_t>> sizes;
  for (const CalibrationRun& run : calibration_runs(limits)) {
    if (run.job.model.hidden > widest) continue;
    for (const CostKey& key : lower(run.job, 0).cost_keys) {
      if (is_transfer(key.op)) sizes[key.op].insert(key.dims[0]);
    }
  }
  return sizes;
}

TEST(CalibrationRuns, CopyAndExchangeFromKilobytesToHundredsOfMegabytes) {
  for (const int ranks : {1, 2}) {
    const auto sizes = transfers_of({ranks, cuda_device(90, 132)}, 4096);
    std::set<Operator> expected{Operator::copy_host_to_device, Operator::copy_device_to_host};
    if (ranks > 1) expected.merge(std::set{Operator::all_gather, Operator::reduce_scatter});
    for (const Operator op : expected) {
      SCOPED_TRACE(std::string(name(op)) + " of " + std::to_string(ranks));
      ASSERT_TRUE(sizes.contains(op));
      const std::set<std::int64_t>& of = sizes.at(op);
      const auto between = [&](std::int64_t least, std::int64_t most) {
        return std::distance(of.lower_bound(least), of.upper_bound(most));
      };
      EXPECT_GT(between(1 << 10, 1 << 20), 0);
      EXPECT_GT(between(1 << 20, 16 << 20), 1);
      EXPECT_GT(between(16 << 20, 256 << 20), 1);
    }
  }
}

}  // namespace
}  // namespace foreshard::simulator
