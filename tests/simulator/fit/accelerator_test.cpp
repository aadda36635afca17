// Costs fitted to recordings of accelerators that others made.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "models/hardware/device_names.hpp"
#include "simulator/costs/cost_model.hpp"
#include "simulator/costs/data_sheet.hpp"
#include "simulator/device/device_model.hpp"
#include "simulator/fit/fit.hpp"
#include "simulator/fit/fit_samples.hpp"
#include "simulator/predict/prediction.hpp"
#include "tests/simulator/cost_keys.hpp"
#include "tests/simulator/predict/log_width.hpp"

namespace foreshard::simulator {
namespace {

using traces::Event;
using traces::EventKind;

constexpr const char* kDevice = "NVIDIA H100 80GB HBM3";

const CostKey kProduct = key(Operator::matmul, {1024, 1024, 1024});
const CostKey kMoved = key(Operator::memory_bound, {1 << 20, 1 << 20}, DType::fp32);

class FakeRecording {
 public:
  FakeRecording() {
    trace.metadata = {{"source", "kineto"}, {"device.0", kDevice}, {"ranks", "1"}};
    trace.lanes = {{0, false, trace.strings.intern("python")},
                   {0, true, trace.strings.intern("stream 7")}};
  }

  void add(int lane, EventKind kind, std::int64_t start, std::int64_t end, const CostKey* key,
           std::int64_t correlation) {
    Event event;
    event.lane = lane;
    event.kind = kind;
    event.start_ns = start;
    event.end_ns = end;
    event.correlation = correlation;
    if (key != nullptr) event.cost_key = trace.strings.intern(text(*key));
    trace.events.push_back(event);
  }

  traces::Trace trace;
};

// A product in two kernels, and a sum around whose call nothing else stands.
traces::Trace recording() {
  FakeRecording out;
  out.add(0, EventKind::host, 0, 9000, &kProduct, 0);
  out.add(0, EventKind::runtime, 1000, 2000, nullptr, 1);
  out.add(0, EventKind::host, 3000, 4000, &kMoved, 0);  // a part of the product
  out.add(0, EventKind::runtime, 3100, 3200, nullptr, 2);
  out.add(0, EventKind::host, 10'000, 17'000, &kMoved, 0);
  out.add(0, EventKind::runtime, 11'000, 12'000, nullptr, 3);
  out.add(1, EventKind::compute, 20'000, 24'000, &kProduct, 1);
  out.add(1, EventKind::compute, 24'500, 25'500, &kProduct, 2);
  out.add(1, EventKind::compute, 30'000, 31'500, &kMoved, 3);
  return out.trace;
}

// Our own recordings join kernels by step and instruction, with the gap between them.
TEST(Accelerator, KernelsOfOneInstructionAreOneSample) {
  FakeRecording out;
  out.trace.metadata = {{"device.0", kDevice}, {"ranks", "1"}};
  for (int step = 1; step <= 3; ++step) {
    const std::int64_t at = step * 100'000;
    out.add(1, EventKind::compute, at, at + 4000, &kProduct, 0);
    out.add(1, EventKind::compute, at + 4500, at + 5500, &kProduct, 0);
    out.add(1, EventKind::compute, at + 6000, at + 7500, &kProduct, 0);
  }
  int n = 0;
  out.trace.events.update_all([&](Event& e) {  // two kernels of instruction 7, one of 8
    e.step = n / 3 + 1;
    e.instruction = n++ % 3 < 2 ? 7 : 8;
  });
  const RunSamples samples = *samples_of(out.trace, "run.fst");
  EXPECT_TRUE(samples.is_accelerator);
  EXPECT_EQ(samples.machine_name, kDevice);
  ASSERT_EQ(samples.tasks.size(), 4U);  // of steps 2 and 3
  EXPECT_DOUBLE_EQ(samples.tasks[0].ns, 5500);
  EXPECT_DOUBLE_EQ(samples.tasks[1].ns, 1500);
}

// Its ranges have names that PyTorch's have, but nothing of PyTorch ran.
TEST(Accelerator, OurOwnExecutorSaysNothingOfPytorchsHost) {
  FakeRecording out;
  for (int i = 0; i < 20; ++i) {
    out.add(0, EventKind::host, i * 1000, i * 1000 + 30, nullptr, 0);
    out.add(1, EventKind::compute, i * 1000 + 500, i * 1000 + 900, &kProduct, 0);
  }
  const traces::StringId name = out.trace.strings.intern("FSDP::post_forward");
  out.trace.events.update_all([&](Event& event) { event.name = name; });
  EXPECT_TRUE(samples_of(out.trace, "pytorch.fst")->pytorch_host);
  out.trace.metadata["compute_capability"] = "90";
  EXPECT_FALSE(samples_of(out.trace, "own.fst")->pytorch_host);
}

TEST(Accelerator, KernelsOfOneOperatorAreOneSample) {
  const RunSamples samples = *samples_of(recording(), "run.fst");
  EXPECT_TRUE(samples.is_accelerator);
  EXPECT_EQ(samples.machine_name, kDevice);
  ASSERT_EQ(samples.tasks.size(), 2U);
  EXPECT_DOUBLE_EQ(samples.tasks[0].ns, 5500);
  EXPECT_DOUBLE_EQ(samples.tasks[1].ns, 1500);
  const auto& launches = samples.issue[static_cast<std::size_t>(Kind::launch)];
  EXPECT_EQ(launches, (std::vector<double>{9000, 7000}));
}

CostTable table_of(const traces::Trace& trace) {
  const auto result = fit({{"run.fst", &trace}});
  EXPECT_TRUE(result);
  const auto again = parse_cost_table(to_json(result->table), "costs.json");
  EXPECT_TRUE(again);
  EXPECT_TRUE(again->is_accelerator);
  return *again;
}

std::unique_ptr<CostModel> costs_of(const traces::Trace& trace, int ranks = 8, int nodes = 0) {
  return table_costs(table_of(trace), ranks, nodes);
}

CostTable fitted_table(const std::string& device) {
  traces::Trace trace = recording();
  trace.metadata["device.0"] = device;
  return table_of(trace);
}

std::unique_ptr<CostModel> fitted(const std::string& device = kDevice, int ranks = 1) {
  return table_costs(fitted_table(device), ranks);
}

// A recording of single kernels or copies, one after the other.
struct Kernel {
  CostKey key;
  std::int64_t ns = 0;
};
traces::Trace recording_of(const std::vector<Kernel>& kernels,
                           const std::string& device = kDevice) {
  FakeRecording out;
  out.trace.metadata["device.0"] = device;
  std::int64_t at = 0;
  for (const Kernel& kernel : kernels) {
    out.add(1, EventKind::compute, at, at + kernel.ns, &kernel.key, 0);
    at += kernel.ns + 1000;
  }
  return out.trace;
}

TEST(Accelerator, AnswersComeFromTheNearestSource) {
  const auto costs = fitted();
  EXPECT_EQ(costs->estimate(kProduct, {}).source, CostSource::measured);
  EXPECT_DOUBLE_EQ(costs->estimate(kProduct, {}).ns, 5500);
  const auto larger = costs->estimate(key(Operator::matmul, {2048, 1024, 1024}), {});
  EXPECT_EQ(larger.source, CostSource::fitted);
  // A gradient from the product of its size, a norm from what moved as many bytes, each between that and
  // what the device's model says, as many times as long as it is for what was measured.
  const auto model = machine_costs(*machine_reported_as(kDevice), 1, 1);
  const auto is_between = [&](const CostKey& asked, double by_recording, const CostKey& seen,
                              double measured) {
    const double by_model = model->estimate(asked, {}).ns * measured / model->estimate(seen, {}).ns;
    const CostEstimate found = costs->estimate(asked, {});
    EXPECT_EQ(found.source, CostSource::modelled);
    EXPECT_GE(found.ns, 0.999 * std::min(by_recording, by_model)) << text(asked);
    EXPECT_LE(found.ns, 1.001 * std::max(by_recording, by_model)) << text(asked);
  };
  is_between(key(Operator::matmul_weight_gradient, {1024, 1024, 1024}), 5500, kProduct, 5500);
  const CostKey norm = key(Operator::rms_norm, {512, 1024});
  is_between(norm, 1500 * bytes_moved(norm) / bytes_moved(kMoved), kMoved, 1500);
  // The rest from the data sheet: a collective takes time, whatever the recording lacks.
  const auto gather = costs->estimate(key(Operator::all_gather, {1 << 20, 8}), {});
  EXPECT_EQ(gather.source, CostSource::modelled);
  EXPECT_GT(gather.ns, 0);
}

// What was recorded alone is slowed beside collectives as what was not, and by the slowest of more ranks.
TEST(Accelerator, RecordedWorkSharesTheDevice) {
  const CostKey gather = key(Operator::all_gather, {256 << 20, 8});
  const auto costs = costs_of(recording_of({{kProduct, 5000}, {kMoved, 1500}, {gather, 900'000}}));
  const auto model = machine_costs(*machine_reported_as(kDevice), 8, 1);
  EXPECT_EQ(costs->estimate(kProduct, {}).lacks, Part::multiprocessors);
  EXPECT_EQ(costs->estimate(kMoved, {}).lacks, Part::memory);
  const CostEstimate gathered = costs->estimate(gather, {});
  EXPECT_EQ(gathered.source, CostSource::measured);
  EXPECT_EQ(gathered.takes, model->estimate(gather, {}).takes);
  EXPECT_GT(gathered.takes[static_cast<std::size_t>(Part::multiprocessors)], 0);
  EXPECT_DOUBLE_EQ(costs->certainty.slowest_rank.factor, model->certainty.slowest_rank.factor);
  EXPECT_DOUBLE_EQ(costs->estimate(kProduct, {}).ns, 5000 * model->certainty.slowest_rank.factor);
}

// Steps of the recorded sizes take what they took. Of other sizes a short recording does not show the
// power limit of a long run; one that was made under load does.
TEST(Accelerator, MeasuredProductsAreUsedAsMeasured) {
  const CostKey large = key(Operator::matmul, {8192, 8192, 8192});
  const CostKey larger = key(Operator::matmul, {16'384, 8192, 8192});
  const DeviceModel device(*machine_reported_as(kDevice));
  const double sustained_ns = 1e9 * flops(large) / device.sustained_product_flops(DType::bf16);
  const auto estimated = [&](const CostKey& asked, double ns) {
    return costs_of(recording_of({{large, std::llround(ns)}}), 1)->estimate(asked, {}).ns;
  };
  EXPECT_NEAR(estimated(large, 0.87 * sustained_ns), 0.87 * sustained_ns, 1);
  EXPECT_NEAR(estimated(large, 1.1 * sustained_ns), 1.1 * sustained_ns, 1);
  EXPECT_GT(estimated(larger, 0.87 * sustained_ns), 0.95 * 2 * sustained_ns);
  EXPECT_LT(estimated(larger, 0.87 * sustained_ns), 2 * sustained_ns);
}

// Half of an H100's casts of gathered shards ran beside another stream's kernel, and took twice as long.
TEST(Accelerator, StepsAreSumsOfWhatKernelsTookOnAverage) {
  std::vector<Kernel> kernels;
  for (int n = 0; n < 10; ++n) kernels.push_back({kMoved, n % 2 == 0 ? 1500 : 3000});
  EXPECT_NEAR(costs_of(recording_of(kernels), 1)->estimate(kMoved, {}).ns, 2250, 1);
}

TEST(Accelerator, ARecordingOfThePartWidensNoBand) {
  for (const int ranks : {1, 8, 64}) {
    Plan plan;
    plan.operators = OperatorSetName::pytorch_eager;
    plan.optimizer.kernel = OptimizerKernel::foreach;
    const Machine h100 = *load_machine("h100-sxm");
    const Job job =
        make_job(*load_llama_config("llama-3.2-1b"), plan, "plan", ranks, 0, &h100).value();
    PredictionOptions options;
    options.machine = &h100;
    const Prediction catalogue = predict(job, options);
    const CostTable table = fitted_table(kDevice);
    options.costs = &table;
    EXPECT_LE(log_width(predict(job, options)), 1.1 * log_width(catalogue)) << ranks;
  }
}

TEST(Accelerator, RanksShareNothing) {
  const auto costs = fitted(kDevice, 8);
  EXPECT_FALSE(costs->platform.engine.shares);
  EXPECT_FALSE(costs->platform.engine.host.uses_core);
  EXPECT_EQ(costs->platform.engine.host.issue_ns[static_cast<std::size_t>(Kind::launch)], 9000);
  EXPECT_GT(costs->platform.device_bytes, 0);
}

// Products on an idle stream, each 3000 ns after its call and waited for 7000 ns beyond its end.
HostCosts host_after(int products, const std::string& device = kDevice) {
  FakeRecording out;
  out.trace.metadata["device.0"] = device;
  for (int n = 0; n < products; ++n) {
    const std::int64_t at = n * 100'000;
    out.add(0, EventKind::host, at, at + 9000, &kProduct, 0);
    out.trace.events.update_last([&](Event& e) { e.instruction = 2 * n; });
    out.add(1, EventKind::compute, at + 12'000, at + 17'000, &kProduct, 0);
    out.trace.events.update_last([&](Event& e) { e.instruction = 2 * n; });
    out.add(0, EventKind::host_wait, at + 10'000, at + 24'000, nullptr, 0);
    out.trace.events.update_last([&](Event& e) { e.instruction = 2 * n + 1; });
  }
  return costs_of(out.trace)->platform.engine.host;
}

TEST(Accelerator, LatenciesOfEnoughSamplesAreTheRecordings) {
  const HostCosts known = host_after(40);
  EXPECT_EQ(known.launch_latency_ns, 3000);
  EXPECT_EQ(known.wait_latency_ns, 7000);
  // What it does not carry is the data sheet's, and so is what a few samples say.
  const HostCosts sheet = machine_costs(*machine_reported_as(kDevice), 8, 0)->platform.engine.host;
  EXPECT_EQ(known.event_latency_ns, sheet.event_latency_ns);
  EXPECT_EQ(known.stream_gap_ns, sheet.stream_gap_ns);
  EXPECT_EQ(host_after(3).launch_latency_ns, sheet.launch_latency_ns);
  EXPECT_EQ(host_after(3).wait_latency_ns, sheet.wait_latency_ns);
}

// Without any call of the host in the recording.
TEST(Accelerator, LaunchesThatWereNotSeenCostWhatTheDataSheetSays) {
  const auto launch = [](const CostModel& costs) {
    return costs.platform.engine.host.issue_ns[static_cast<std::size_t>(Kind::launch)];
  };
  EXPECT_EQ(launch(*costs_of(recording_of({{kProduct, 5000}}))),
            launch(*machine_costs(*machine_reported_as(kDevice), 8, 0)));
}

TEST(Accelerator, OfUnknownDevicesOnlyWhatWasSeenIsKnown) {
  const auto costs = fitted("Another Device");
  EXPECT_EQ(costs->estimate(kProduct, {}).source, CostSource::measured);
  EXPECT_EQ(costs->estimate(key(Operator::all_gather, {1 << 20, 8}), {}).source,
            CostSource::unknown);
  EXPECT_EQ(costs->wording.unknown_device, "Another Device");
  EXPECT_EQ(costs->platform.segments.source, CostSource::unknown);
}

TEST(Accelerator, AMachineAnswersWhatTheRecordingsDoNotShow) {
  const auto alone = fitted("Another Device");
  const Machine b200 = *load_machine("b200");
  const auto costs = table_costs(fitted_table("Another Device"), 16, 2, &b200);
  EXPECT_EQ(costs->estimate(kProduct, {}).source, CostSource::measured);
  EXPECT_DOUBLE_EQ(costs->estimate(kProduct, {}).ns, alone->estimate(kProduct, {}).ns);
  const CostKey gather = key(Operator::all_gather, {1 << 20, 16}, DType::fp32);
  EXPECT_EQ(costs->estimate(gather, {false, 2}).source, CostSource::modelled);
  EXPECT_DOUBLE_EQ(costs->estimate(gather, {false, 2}).ns,
                   machine_costs(b200, 16, 2)->estimate(gather, {false, 2}).ns);
  EXPECT_EQ(costs->wording.unknown_device, "");
  EXPECT_EQ(costs->platform.segments.source, CostSource::modelled);
  EXPECT_EQ(costs->platform.device_bytes, b200.memory.count);
  // Of a device that the catalogue has under another name, a warning names it.
  EXPECT_EQ(table_costs(fitted_table(kDevice), 8, 1, &b200)->wording.warnings.size(), 1U);
  const Machine h100 = *load_machine("h100-sxm");
  EXPECT_TRUE(table_costs(fitted_table(kDevice), 8, 1, &h100)->wording.warnings.empty());
}

const CostKey kTinyCopy = key(Operator::copy_device_to_host, {4}, DType::fp32);

TEST(Accelerator, ACopyOfFourBytesKnowsNoBandwidth) {
  const CostKey large = key(Operator::copy_device_to_host, {1 << 30}, DType::fp32);
  const auto costs = costs_of(recording_of({{kTinyCopy, 4736}, {kProduct, 5000}}));
  EXPECT_EQ(costs->estimate(kTinyCopy, {}).source, CostSource::measured);
  EXPECT_EQ(costs->estimate(large, {}).source, CostSource::modelled);
  const Machine h100 = *machine_reported_as(kDevice);
  EXPECT_DOUBLE_EQ(costs->estimate(large, {}).ns,
                   machine_costs(h100, 8, 1)->estimate(large, {}).ns);
  // Where no catalogue part helps out, the cost is unknown.
  const auto strange = costs_of(recording_of({{kTinyCopy, 4736}, {kProduct, 5000}}, "Strange"));
  EXPECT_EQ(strange->estimate(large, {}).source, CostSource::unknown);
}

TEST(Accelerator, ALongCopyKnowsItsBandwidth) {
  const CostKey seen = key(Operator::copy_device_to_host, {64 << 20}, DType::fp32);
  const CostKey large = key(Operator::copy_device_to_host, {1 << 30}, DType::fp32);
  const auto costs = costs_of(recording_of({{seen, 5'000'000}}));
  EXPECT_EQ(costs->estimate(large, {}).source, CostSource::fitted);
  EXPECT_NEAR(costs->estimate(large, {}).ns, 16 * 5e6, 0.02 * 16 * 5e6);
}

TEST(Accelerator, NoEstimateBeatsTheDataSheet) {
  // Sizes of which operations and bytes grow alike say nothing about either; the times of the second
  // are those of one of several kernels.
  const Machine h100 = *machine_reported_as(kDevice);
  const std::vector<std::vector<Kernel>> recordings = {
      {{kProduct, 2500}},
      {{key(Operator::matmul, {512, 4096, 4096}), 200}},
      {{key(Operator::matmul, {512, 4096, 4096}), 30'000},
       {key(Operator::matmul, {1024, 4096, 4096}), 31'000},
       {key(Operator::matmul, {2048, 4096, 4096}), 90'000}},
      {{key(Operator::attention, {1, 1024, 32, 8, 128}), 9000}}};
  for (const std::string device : {kDevice, "Strange"}) {
    for (const auto& kernels : recordings) {
      const auto costs = costs_of(recording_of(kernels, device));
      for (const std::int64_t tokens : {256, 1024, 4096, 16'384, 262'144}) {
        for (const CostKey& asked : {key(Operator::matmul, {tokens, 4096, 4096}),
                                     key(Operator::matmul_weight_gradient, {14'336, 4096, tokens}),
                                     key(Operator::attention_backward, {4, tokens, 32, 8, 128})}) {
          const CostEstimate estimate = costs->estimate(asked, {});
          if (estimate.source == CostSource::unknown) continue;
          const Machine& bound = device == kDevice ? h100 : fastest_machine();
          EXPECT_GE(estimate.ns, 0.999 * least_ns(asked, bound)) << text(asked);
        }
      }
    }
  }
}

TEST(Accelerator, ProductsThatMemoryDecidesSayNothingOfArithmetic) {
  const auto costs =
      costs_of(recording_of({{key(Operator::matmul, {1, 16'384, 16'384}), 200'000}}));
  EXPECT_EQ(costs->estimate(key(Operator::matmul, {2, 16'384, 16'384}), {}).source,
            CostSource::fitted);
  EXPECT_EQ(costs->estimate(key(Operator::matmul, {64, 16'384, 16'384}), {}).source,
            CostSource::modelled);
}

TEST(Accelerator, ImpossibleTimesTeachNothing) {
  // 0.2 us for 17 GFLOP: 14 times the data sheet.
  const CostKey seen = key(Operator::matmul, {512, 4096, 4096});
  const traces::Trace trace = recording_of({{seen, 200}, {kMoved, 1500}});
  const auto result = fit({{"run.fst", &trace}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->table.impossible_keys, 1);
  EXPECT_EQ(result->warnings.size(), 2U);
  EXPECT_EQ(costs_of(trace)->estimate(seen, {}).source, CostSource::modelled);
}

TEST(Accelerator, MoreWorkTakesNoLessTime) {
  // Slow small products, then sizes that only the data sheet covers.
  const auto costs = costs_of(recording_of({{key(Operator::matmul, {128, 1024, 1024}), 40'000}}));
  double last = 0;
  for (std::int64_t tokens = 128; tokens <= 1 << 20; tokens *= 2) {
    const double ns = costs->estimate(key(Operator::matmul, {tokens, 1024, 1024}), {}).ns;
    EXPECT_GE(ns, last) << tokens;
    last = ns;
  }
}

TEST(Accelerator, TheHostIsNotPricedByTheDevice) {
  const CostKey update = key(Operator::adamw, {1 << 24}, DType::fp32);
  const auto costs = costs_of(recording_of({{update, 200'000}}));
  EXPECT_EQ(costs->estimate(update, {}).source, CostSource::measured);
  const CostEstimate on_host = costs->estimate(update, {true, 1});
  EXPECT_EQ(on_host.source, CostSource::modelled);
  EXPECT_GT(on_host.ns, 10 * 200'000);
  const auto strange = costs_of(recording_of({{update, 200'000}}, "Strange"));
  EXPECT_EQ(strange->estimate(update, {true, 1}).source, CostSource::unknown);
}

// Ranks that reach two sizes of all-gathers one after the other, and end together.
traces::Trace gathers(int ranks, std::int64_t group) {
  FakeRecording out;
  out.trace.lanes.clear();
  out.trace.metadata["ranks"] = std::to_string(ranks);
  std::int64_t at = 0;
  for (int rank = 0; rank < ranks; ++rank) out.trace.lanes.push_back({rank, true, 0});
  for (int i = 0; i < 12; ++i) {
    const CostKey gather = key(Operator::all_gather, {(100 + 100 * (i % 3)) << 20, group});
    const std::int64_t own = 1'000'000 * (1 + i % 3);
    for (int rank = 0; rank < ranks; ++rank) {
      // Another rank comes last each time, the others up to 7 ms before it.
      const std::int64_t waits = 1'000'000 * ((rank + i) % ranks);
      out.add(rank, EventKind::communication, at + 7'000'000 - waits, at + 7'000'000 + own, &gather,
              0);
    }
    at += 30'000'000;
  }
  return out.trace;
}

TEST(Accelerator, ACollectiveTakesWhatItsLastArriverTakes) {
  const auto costs = costs_of(gathers(8, 8));
  for (const std::int64_t n : {1, 2, 3}) {
    const CostKey asked = key(Operator::all_gather, {(n * 100) << 20, 8});
    EXPECT_EQ(costs->estimate(asked, {}).source, CostSource::measured);
    EXPECT_DOUBLE_EQ(costs->estimate(asked, {}).ns, 1e6 * static_cast<double>(n));
  }
}

TEST(Accelerator, OfSomeRanksTheQuickestMeetingsCount) {
  traces::Trace trace = gathers(8, 8);
  erase_if(trace.events, [](const Event& event) { return event.lane != 0; });
  trace.lanes.resize(1);
  const auto costs = costs_of(trace);
  // Rank 0 is last in meetings 0 and 8; those are of the first and the third size.
  EXPECT_DOUBLE_EQ(costs->estimate(key(Operator::all_gather, {100 << 20, 8}), {}).ns, 1e6);
  EXPECT_DOUBLE_EQ(costs->estimate(key(Operator::all_gather, {300 << 20, 8}), {}).ns, 3e6);
}

TEST(Accelerator, AGroupDoesNotAnswerForOthers) {
  const auto costs = costs_of(gathers(8, 8), 64, 8);
  const auto asked = [](std::int64_t group) {
    return key(Operator::all_gather, {250 << 20, group});
  };
  EXPECT_EQ(costs->estimate(asked(8), {false, 1}).source, CostSource::fitted);
  EXPECT_EQ(costs->estimate(asked(8), {false, 2}).source, CostSource::modelled);
  EXPECT_EQ(costs->estimate(asked(64), {false, 8}).source, CostSource::modelled);
  EXPECT_EQ(costs->estimate(asked(4), {false, 1}).source, CostSource::modelled);
  const CostKey measured = key(Operator::all_gather, {100 << 20, 8});
  EXPECT_EQ(costs->estimate(measured, {false, 1}).source, CostSource::measured);
  EXPECT_EQ(costs->estimate(measured, {false, 2}).source, CostSource::modelled);
}

// Replicas of two ranks on two nodes, as hybrid sharding has them: their sums are those of two nodes,
// whether the recording names the group or holds all ranks.
TEST(Accelerator, AGroupIsOnTheNodesOfItsRanks) {
  const CostKey sum = key(Operator::all_reduce, {100 << 20, 2}, DType::fp32);
  const auto asked = [&](const traces::Trace& trace, std::int64_t nodes) {
    return costs_of(trace, 16, 2)->estimate(sum, {false, nodes}).source;
  };
  traces::Trace named = recording_of({{sum, 9'000'000}});
  named.metadata["ranks"] = "16";
  const traces::StringId group = named.strings.intern("replicas [0, 8]");
  named.events.update_all([&](Event& event) {
    event.kind = EventKind::communication;
    event.group = group;
  });
  FakeRecording whole;
  whole.trace.metadata["ranks"] = "16";
  whole.trace.lanes.clear();
  for (int rank = 0; rank < 16; ++rank) {
    whole.trace.lanes.push_back({rank, true, 0});
    // The replicas end one after the other, so that it shows which ranks met.
    const std::int64_t end = 9'000'000 + 1000 * (rank % 8);
    whole.add(rank, EventKind::communication, 0, end, &sum, 0);
  }
  for (const traces::Trace* trace : {&named, &whole.trace}) {
    EXPECT_EQ(asked(*trace, 2), CostSource::measured);
    EXPECT_EQ(asked(*trace, 1), CostSource::modelled);
  }
}

TEST(Accelerator, ReportSaysWhatShareOfTheDataSheetWasReached) {
  const traces::Trace trace = recording();
  const auto result = fit({{"run.fst", &trace}});
  ASSERT_TRUE(result);
  const std::string report = fit_report(result->table);
  EXPECT_NE(report.find(kDevice), std::string::npos) << report;
  EXPECT_NE(report.find("relative to the data sheet of H100"), std::string::npos) << report;
}

TEST(DeviceNames, AreThoseOfDrivers) {
  EXPECT_EQ(machine_reported_as(kDevice)->id, "h100-sxm");
  EXPECT_EQ(machine_reported_as("A100-SXM4-40GB")->id, "a100-sxm-40");
  EXPECT_FALSE(machine_reported_as("NVIDIA A800-SXM4-80GB"));
}

}  // namespace
}  // namespace foreshard::simulator
