// The host of PyTorch: its times fitted to recordings, and steps that wait for it.
#include "simulator/host/pytorch_host.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "models/base/csv.hpp"
#include "models/base/text_file.hpp"
#include "models/hardware/host_times.hpp"
#include "simulator/fit/fit.hpp"
#include "simulator/fit/recorded_host.hpp"
#include "simulator/predict/prediction.hpp"
#include "simulator/predict/program_set.hpp"
#include "tests/outside_data.hpp"
#include "tests/simulator/host/recorded_hosts.hpp"
#include "tests/simulator/predict/h100.hpp"
#include "traces/import.hpp"

namespace foreshard::simulator {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRecorded[] = {"1b_base", "1b_ac_full", "1b_hf"};

double predicted_ms(const Job& job, const CostTable& table, const Machine* machine = nullptr) {
  PredictionOptions options;
  options.costs = &table;
  options.machine = machine;
  options.device_memory = std::int64_t{1} << 50;
  return static_cast<double>(predict(job, options).step_time.count()) / 1e6;
}

// A host as fast as the catalogue's, with nothing to drive.
CostTable host_alone(double relative_time = 1) {
  CostTable table;
  table.machine_name = "NVIDIA H100 80GB HBM3";
  table.is_accelerator = true;
  table.regimes.emplace_back();
  table.pytorch_host = RecordedHost{relative_time, 1, true};
  return table;
}

CostTable fitted_to(const traces::Trace& trace, const std::string& file) {
  const auto fitted = fit({{file, &trace}});
  EXPECT_TRUE(fitted) << fitted.error().text();
  return fitted->table;
}

double recorded_ms(const std::string& id) {
  for (const RecordedStep& step : recorded_steps()) {
    if (step.id == id) return step.ms;
  }
  ADD_FAILURE() << id;
  return 0;
}

void expect_others(const CostTable& table, const std::string& from) {
  for (const std::string other : kRecorded) {
    if (other == from) continue;
    const double ms = recorded_ms(other);
    EXPECT_NEAR(predicted_ms(recorded_job(other), table), ms, 0.1 * ms) << from << " -> " << other;
  }
}

TEST(PyTorchHost, FromOneRecordedHostTheStepsOfOthers) {
  for (const std::string from : kRecorded) {
    const CostTable table = fitted_to(recorded_ranges(from), from);
    EXPECT_TRUE(table.pytorch_host->is_alone);
    expect_others(table, from);
  }
}

TEST(PyTorchHost, OfARecordedHostBesideADataSheetTheReaderIsTold) {
  const CostTable table = fitted_to(recorded_ranges("1b_base"), "1b_base");
  PredictionOptions options;
  options.costs = &table;
  options.machine = &h100();
  const Prediction p = predict(recorded_job("1b_base"), options);
  ASSERT_FALSE(p.warnings.empty());
  EXPECT_NE(p.warnings.front().find("only the host's times"), std::string::npos)
      << p.warnings.front();
}

TEST(PyTorchHost, FromOneRecordingOfPyTorchTheOthers) {
  const fs::path folder = tests::outside_data("traces/kineto/pytorch211_null_device");
  if (!fs::exists(folder)) GTEST_SKIP() << tests::missing(folder);
  for (const std::string from : kRecorded) {
    const std::string file = folder / (from + ".json.gz");
    const auto traces = traces::import_kineto({file});
    ASSERT_TRUE(traces) << traces.error().text();
    expect_others(fitted_to(traces->front(), file), from);
  }
}

// The catalogue's times were fitted to steps of 42 plans, and must go on to explain them.
TEST(PyTorchHost, KnowsTheStepsOfThreePlans) {
  for (const std::string id : kRecorded) {
    const double ms = recorded_ms(id);
    EXPECT_NEAR(predicted_ms(recorded_job(id), host_alone()), ms, 0.2 * ms) << id;
  }
}

TEST(PyTorchHost, KnowsTheStepsThatWereRecorded) {
  const fs::path folder = tests::evidence("memory");
  const std::string index = folder / "plans/index.csv";
  const CsvTable cases = parse_csv(read_text_file(index, "a table", kMiB).value(), index).value();
  double sum = 0;
  int count = 0;
  for (const CsvRow& row : cases.rows) {
    const std::string id(cases.at(row, "id"));
    const auto steps = recorded_steps();
    const auto step = std::find_if(steps.begin(), steps.end(),
                                   [&](const RecordedStep& of) { return of.id == id; });
    if (step == steps.end()) continue;
    const std::string file = folder / "plans" / (id + ".toml");
    const Plan plan = parse_plan(read_text_file(file, "a plan", kMiB).value(), file).value();
    const auto model = load_llama_config(folder / "configs" / cases.at(row, "model"));
    const int ranks = std::stoi(std::string(cases.at(row, "ranks")));
    const Job job = make_job(*model, plan, file, ranks, 0, &h100()).value();
    const double error = predicted_ms(job, host_alone()) / step->ms - 1;
    EXPECT_LT(std::abs(error), plan.runtime == RuntimeName::fsdp2 ? 0.2 : 0.35) << id << error;
    sum += std::abs(error);
    ++count;
  }
  EXPECT_EQ(count, std::ssize(recorded_steps()));
  EXPECT_LT(sum / count, 0.07);
}

TEST(PyTorchHost, TakesAsManyTimesAsLongAsItIsSlower) {
  const Job job = recorded_job("1b_base");
  const double once = predicted_ms(job, host_alone());
  EXPECT_NEAR(predicted_ms(job, host_alone(1.7)), 1.7 * once, 1e-3 * once);
}

// A device that is named is the catalogue's, as surely as without a recording.
TEST(PyTorchHost, DrivesTheDeviceThatIsNamed) {
  PredictionOptions options;
  options.machine = &h100();
  Job job = recorded_job("1b_base");
  job.plan.batch.micro_batch = 8;
  options.device_memory = std::int64_t{1} << 50;
  const Prediction catalogue = predict(job, options);
  const CostTable table = host_alone(0.5);
  options.costs = &table;
  const Prediction driven = predict(job, options);
  const auto ns = [](Nanoseconds time) { return static_cast<double>(time.count()); };
  EXPECT_NEAR(ns(driven.step_time), ns(catalogue.step_time), 0.05 * ns(catalogue.step_time));
  EXPECT_NEAR(ns(driven.step_time_high) / ns(driven.step_time),
              ns(catalogue.step_time_high) / ns(catalogue.step_time), 0.02);
}

// Where the device is the slower of both the host's time does not show.
TEST(PyTorchHost, OnlyAStepThatWaitsForItIsAsLongAsItTakes) {
  const auto ms = [](double relative_time, std::int64_t micro_batch) {
    Job job = recorded_job("1b_base");
    job.plan.batch.micro_batch = micro_batch;
    return predicted_ms(job, host_alone(relative_time), &h100());
  };
  EXPECT_GT(ms(4, 1), 1.8 * ms(2, 1));
  EXPECT_LT(ms(0.5, 16), 1.02 * ms(0.25, 16));
}

std::int64_t host_ns(const Job& job, const HostPace& pace = {1, 0}) {
  const ProgramSet set = lower_all(job, 8);
  const RankProgram& program = set.programs.front();
  const auto times = pytorch_issue_times(program, pace);
  const IssueTimes& steady = times[program.number_of(2)];
  EXPECT_EQ(steady.size(), program.step(2).instructions.size());
  return std::accumulate(steady.begin(), steady.end(), std::int64_t{0});
}

// Steps in which the host did not wait for the device, by how long it took to issue them. Hosts of virtual
// machines differ from step to step by more than a tenth, so that each line of the catalogue has to be right
// on average.
TEST(PyTorchHost, TakesAsLongAsTheHostsOfGpusTook) {
  struct Step {
    const char* machine;
    const char* what;  // as the samples call it
    const char* model;
    int ranks;
    std::int64_t micro_batch, sequence;
    OptimizerKernel optimizer;
    double ms;
  };
  constexpr auto kForeach = OptimizerKernel::foreach, kFused = OptimizerKernel::fused;
  const Step steps[] = {
      {"h100-sxm", "1b_w1", "llama-3.2-1b", 1, 2, 2048, kForeach, 109.3},
      {"h100-sxm", "1b_w1_fused", "llama-3.2-1b", 1, 2, 2048, kFused, 96.9},
      {"h100-sxm", "1b_w8", "llama-3.2-1b", 8, 2, 2048, kForeach, 94.0},
      {"h100-sxm", "1b_w1_s512_b1", "llama-3.2-1b", 1, 1, 512, kForeach, 111.6},
      {"h100-sxm", "8b_w8_s512", "llama-3.1-8b", 8, 1, 512, kForeach, 224.1},
      {"h200", "1b_w1", "llama-3.2-1b", 1, 2, 2048, kForeach, 92.0},
      {"h200", "1b_w1_fused", "llama-3.2-1b", 1, 2, 2048, kFused, 101.1},
      {"h200", "8b_w8_s512", "llama-3.1-8b", 8, 1, 512, kForeach, 199.9},
  };
  std::map<std::string, std::vector<double>> errors;
  for (const Step& step : steps) {
    Plan plan;
    plan.operators = OperatorSetName::pytorch_eager;
    plan.batch.micro_batch = step.micro_batch;
    plan.batch.sequence = step.sequence;
    plan.optimizer.kernel = step.optimizer;
    plan.pytorch.version = {2, 11};
    const Machine machine = *load_machine(step.machine);
    const Job job =
        make_job(*load_llama_config(step.model), plan, step.what, step.ranks, 1, &machine).value();
    const double pace = relative_host_time(step.machine);
    const double error = std::log(static_cast<double>(host_ns(job, {pace, pace})) / 1e6 / step.ms);
    EXPECT_LT(std::abs(error), 0.25) << step.machine << " " << step.what << " " << error;
    errors[step.machine].push_back(error);
  }
  for (const auto& [machine, of] : errors) {
    EXPECT_NEAR(std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size()), 0, 0.1)
        << machine;
  }
}

// What PyTorch launches decides: recomputation, an operator for each parameter, none for each.
TEST(PyTorchHost, CountsWhatIsLaunched) {
  const Job base = recorded_job("1b_base");
  const auto with = [&](auto change) {
    Job job = base;
    change(job.plan);
    return host_ns(job);
  };
  const std::int64_t ns = host_ns(base);
  const auto loop = with([](Plan& p) { p.optimizer.kernel = OptimizerKernel::loop; });
  const auto fused = with([](Plan& p) { p.optimizer.kernel = OptimizerKernel::fused; });
  EXPECT_GT(loop, ns);
  EXPECT_LT(fused, ns);
  EXPECT_LT(with([](Plan& p) { p.optimizer.clip_grad_norm = 0; }), ns);
  EXPECT_LT(
      with([](Plan& p) { p.sharding.reshard_after_forward.kind = ReshardAfterForward::Kind::no; }),
      ns);
  const auto full = with([](Plan& p) { p.checkpointing.mode = CheckpointMode::full; });
  const auto every = with([](Plan& p) {
    p.checkpointing.mode = CheckpointMode::every;
    p.checkpointing.every = 2;
  });
  EXPECT_NEAR(static_cast<double>(every - ns), 0.5 * static_cast<double>(full - ns),
              0.01 * static_cast<double>(full));
}

// A host that was disturbed most of the time is recorded as fast as it is.
TEST(RecordedHosts, AreAsFastAsInTheirShortestRanges) {
  traces::Trace trace = recorded_ranges("1b_base");
  const double quiet = recorded_host(trace)->relative_time;
  int n = 0;
  trace.events.update_all([&](traces::Event& event) {
    if (n++ % 3 != 0) event.end_ns += 5 * (event.end_ns - event.start_ns);
  });
  EXPECT_NEAR(recorded_host(trace)->relative_time, quiet, 1e-3 * quiet);
}

TEST(RecordedHosts, AreReportedWithoutCostsOfTheirDevice) {
  const traces::Trace trace = recorded_ranges("1b_hf");
  const auto fitted = fit({{"run.fst", &trace}});
  ASSERT_TRUE(fitted);
  EXPECT_TRUE(fitted->warnings.empty()) << fitted->warnings.front();
  const std::string report = fit_report(fitted->table);
  EXPECT_NE(report.find("host of PyTorch: 0.9"), std::string::npos) << report;
  EXPECT_EQ(report.find("cost keys"), std::string::npos) << report;
}

// Without a device the host computes itself.
TEST(RecordedHosts, DriveADevice) {
  traces::Trace trace = recorded_ranges("1b_base");
  trace.metadata.erase("device.0");
  EXPECT_FALSE(fit({{"run.fst", &trace}}));
}

TEST(RecordedHosts, AreUnknownWhereNothingThatTellsWasRecorded) {
  traces::Trace trace = recorded_ranges("1b_base");
  trace.events.update_all(
      [&](traces::Event& event) { event.name = trace.strings.intern("aten::mm"); });
  EXPECT_FALSE(recorded_host(trace));
  EXPECT_FALSE(fit({{"run.fst", &trace}}));
}

}  // namespace
}  // namespace foreshard::simulator
