// Costs learnt from recordings of accelerators that others made.
#include <gtest/gtest.h>

#include "models/device_names.hpp"
#include "simulator/cost_model.hpp"
#include "simulator/fit.hpp"
#include "simulator/fit_samples.hpp"

namespace foreshard::simulator {
namespace {

using traces::Event;
using traces::EventKind;

constexpr const char* kDevice = "NVIDIA H100 80GB HBM3";

CostKey key(Operator op, std::array<std::int64_t, 5> dims, DType type = DType::bf16) {
  return {op, type, type, type, dims};
}
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

TEST(Accelerator, KernelsOfOneOperatorAreOneSample) {
  const RunSamples samples = samples_of(recording(), "run.fst");
  EXPECT_TRUE(samples.is_accelerator);
  EXPECT_EQ(samples.cpu_model, kDevice);
  ASSERT_EQ(samples.tasks.size(), 2U);
  EXPECT_DOUBLE_EQ(samples.tasks[0].ns, 5000);
  EXPECT_DOUBLE_EQ(samples.tasks[1].ns, 1500);
  const auto& launches = samples.issue[static_cast<std::size_t>(Kind::launch)];
  EXPECT_EQ(launches, (std::vector<double>{9000, 7000}));
}

CostTable fitted_table(const std::string& device) {
  traces::Trace trace = recording();
  trace.metadata["device.0"] = device;
  const auto result = fit({{"run.fst", &trace}});
  EXPECT_TRUE(result);
  const auto again = parse_cost_table(to_json(result->table), "costs.json");
  EXPECT_TRUE(again);
  EXPECT_TRUE(again->is_accelerator);
  return *again;
}

std::unique_ptr<CostModel> fitted(const std::string& device = kDevice) {
  return table_costs(fitted_table(device), 8);
}

TEST(Accelerator, AnswersComeFromTheNearestSource) {
  const auto costs = fitted();
  EXPECT_EQ(costs->estimate(kProduct, {}).source, CostSource::measured);
  EXPECT_DOUBLE_EQ(costs->estimate(kProduct, {}).ns, 5000);
  const auto larger = costs->estimate(key(Operator::matmul, {2048, 1024, 1024}), {});
  EXPECT_EQ(larger.source, CostSource::fitted);
  // A gradient from the product of its size, a norm from what moved as many bytes.
  const auto gradient =
      costs->estimate(key(Operator::matmul_weight_gradient, {1024, 1024, 1024}), {});
  EXPECT_EQ(gradient.source, CostSource::modelled);
  EXPECT_DOUBLE_EQ(gradient.ns, 5000);
  const CostKey norm = key(Operator::rms_norm, {512, 1024});
  EXPECT_NEAR(costs->estimate(norm, {}).ns, 1500 * bytes_moved(norm) / bytes_moved(kMoved), 30);
  // The rest from the data sheet: a collective takes time, whatever the recording lacks.
  const auto gather = costs->estimate(key(Operator::all_gather, {1 << 20, 8}), {});
  EXPECT_EQ(gather.source, CostSource::modelled);
  EXPECT_GT(gather.ns, 0);
}

TEST(Accelerator, RanksShareNothing) {
  const auto costs = fitted();
  EXPECT_FALSE(costs->engine().shares);
  EXPECT_FALSE(costs->engine().host.uses_core);
  EXPECT_EQ(costs->engine().host.issue_ns[static_cast<std::size_t>(Kind::launch)], 9000);
  EXPECT_GT(costs->device_bytes(), 0);
}

TEST(Accelerator, OfUnknownDevicesOnlyWhatWasSeenIsKnown) {
  const auto costs = fitted("Another Device");
  EXPECT_EQ(costs->estimate(kProduct, {}).source, CostSource::measured);
  EXPECT_EQ(costs->estimate(key(Operator::all_gather, {1 << 20, 8}), {}).source,
            CostSource::unknown);
  EXPECT_EQ(costs->unknown_device(), "Another Device");
  EXPECT_EQ(costs->segments().source, CostSource::unknown);
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
  EXPECT_EQ(costs->unknown_device(), "");
  EXPECT_EQ(costs->segments().source, CostSource::modelled);
  EXPECT_EQ(costs->device_bytes(), b200.memory.count);
  // Of a device that the catalogue knows under another name, one is told so.
  EXPECT_EQ(table_costs(fitted_table(kDevice), 8, 1, &b200)->warnings().size(), 1U);
  const Machine h100 = *load_machine("h100-sxm");
  EXPECT_TRUE(table_costs(fitted_table(kDevice), 8, 1, &h100)->warnings().empty());
}

TEST(Accelerator, ReportSaysWhatShareOfTheDataSheetWasReached) {
  const traces::Trace trace = recording();
  const auto result = fit({{"run.fst", &trace}});
  ASSERT_TRUE(result);
  const std::string report = fit_report(result->table);
  EXPECT_NE(report.find(kDevice), std::string::npos) << report;
  EXPECT_NE(report.find("of what the data sheet of H100"), std::string::npos) << report;
}

TEST(DeviceNames, AreThoseOfDrivers) {
  EXPECT_EQ(machine_reported_as(kDevice)->id, "h100-sxm");
  EXPECT_EQ(machine_reported_as("A100-SXM4-40GB")->id, "a100-sxm-40");
  EXPECT_FALSE(machine_reported_as("NVIDIA H800"));
}

}  // namespace
}  // namespace foreshard::simulator
