// Predictions beside measurements, small enough to check by hand.
#include "profiler/analysis/comparison.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "profiler/report/comparison_report.hpp"
#include "tests/profiler/analysis/hand_made_trace.hpp"

namespace foreshard::profiler {
namespace {

using traces::EventKind;
using traces::MemoryAction;

// Two ranks, five steps of 100, 100, 90, 100, 120 us: the median of the last three is 100.
HandMadeTrace baseline() {
  HandMadeTrace t(2);
  std::int64_t at = 0;
  for (int step = 1; step <= 5; ++step) {
    const std::int64_t length = step == 3 ? 90'000 : step == 5 ? 120'000 : 100'000;
    for (int rank = 0; rank < 2; ++rank) {
      t.step(rank, step, at, at + length);
      t.event(rank, 0, EventKind::compute, at, at + length / 2, step, "matmul", "k/matmul/0");
      t.event(rank, 1, EventKind::communication, at + 10, at + 10'010, step, "all_gather",
              "k/gather/0");
      t.event(rank, -1, EventKind::host, at, at + 10, step, "matmul", "k/matmul/0");
    }
    at += length;
  }
  t.memory(0, MemoryAction::alloc, 1, 0, 1000).memory(1, MemoryAction::alloc, 1, 0, 1000);
  return t;
}

// One rank stands for both; two steps of which the second counts.
HandMadeTrace candidate() {
  HandMadeTrace t(1, true);
  t.trace.metadata["ranks"] = "2";
  t.trace.metadata["rank_classes"] = "0,0";
  t.step(0, 1, 0, 110'000).step(0, 2, 110'000, 200'000);
  t.event(0, 0, EventKind::compute, 110'000, 165'000, 2, "matmul", "k/matmul/0");
  t.event(0, 0, EventKind::compute, 165'000, 166'000, 2, "add", "k/add/0");
  t.memory(0, MemoryAction::alloc, 1, 0, 1300);
  return t;
}

TEST(Comparison, OfStepTimeMemoryAndEvents) {
  const Comparison c = compare(baseline().trace, candidate().trace);
  EXPECT_EQ(c.baseline_step_ns, 100'000);
  EXPECT_EQ(c.candidate_step_ns, 90'000);
  EXPECT_DOUBLE_EQ(c.step_time_error, 0.1);
  EXPECT_EQ(c.peak_allocated_error_bytes, 300);
  EXPECT_EQ(c.peak_reserved_error_bytes, 0);
  EXPECT_EQ(c.ranks.size(), 2u);
  // Both ranks' matmul; unmatched: both ranks' all_gather, the prediction's add.
  EXPECT_EQ(c.events_matched, 2);
  EXPECT_EQ(c.events_only_baseline, 2);
  EXPECT_EQ(c.events_only_candidate, 1);
  EXPECT_EQ(c.events_unmatched(), 3);
  ASSERT_EQ(c.operators.size(), 1u);
  EXPECT_EQ(c.operators[0].baseline_ns, 100'000);   // 2 x the median of 45, 50 and 60 us
  EXPECT_EQ(c.operators[0].candidate_ns, 110'000);  // 2 x 55 us
  ASSERT_EQ(c.by_category.size(), 5u);
  EXPECT_EQ(c.by_category[0].category, "compute");
  EXPECT_EQ(c.by_category[0].baseline_ns, 50'000);
  EXPECT_EQ(c.by_category[0].candidate_ns, 56'000);
  EXPECT_FALSE(c.same_program) << "a program that is not known is not the same";
}

// A product is one event in the prediction and two kernels, of 30 and 15 us, on the device.
TEST(Comparison, SumsTheKernelsOfAnInstruction) {
  const CostKey product{
      Operator::matmul, DType::fp32, DType::fp32, DType::fp32, {1024, 1024, 1024}};
  HandMadeTrace measured(1), predicted(1, true);
  for (HandMadeTrace* t : {&measured, &predicted}) {
    for (int step = 1; step <= 4; ++step) t->step(0, step, step * 100'000, step * 100'000 + 90'000);
  }
  for (int step = 1; step <= 4; ++step) {
    const std::int64_t at = step * 100'000;
    measured.event(0, 0, EventKind::compute, at, at + 30'000, step, "split_k", "k/matmul");
    measured.event(0, 0, EventKind::compute, at + 40'000, at + 55'000, step, "reduce", "k/matmul");
    predicted.event(0, 0, EventKind::compute, at, at + 50'000, step, "matmul", "k/matmul");
  }
  for (HandMadeTrace* t : {&measured, &predicted}) {
    t->trace.events.update_all([&](traces::Event& e) {
      e.instruction = 5;
      e.cost_key = t->trace.strings.intern(text(product));
    });
  }
  const Comparison c = compare(measured.trace, predicted.trace);
  EXPECT_EQ(c.events_matched, 1);
  EXPECT_EQ(c.events_unmatched(), 0);
  ASSERT_EQ(c.operators.size(), 1u);
  EXPECT_EQ(c.operators[0].name, "matmul");
  EXPECT_EQ(c.operators[0].baseline_ns, 45'000);
  EXPECT_EQ(c.operators[0].candidate_ns, 50'000);
  // No kernel appears or vanishes, and a product stays one.
  ASSERT_EQ(c.changes.size(), 1u);
  EXPECT_EQ(c.changes[0].name, "matmul");
  EXPECT_EQ(c.changes[0].baseline_count, 1);
  EXPECT_EQ(c.changes[0].candidate_count, 1);
  EXPECT_EQ(c.changes[0].baseline_ns, 45'000);
  EXPECT_EQ(c.changes[0].what(), "grew");
}

TEST(Comparison, OfATraceWithItselfHasNoError) {
  HandMadeTrace t = baseline();
  t.trace.metadata["program_hash"] = "0123456789abcdef";
  const Comparison c = compare(t.trace, t.trace);
  EXPECT_EQ(c.step_time_error, 0);
  EXPECT_EQ(c.peak_allocated_error_bytes, 0);
  EXPECT_EQ(c.events_matched, 4);
  EXPECT_EQ(c.events_unmatched(), 0);
  EXPECT_TRUE(c.same_program);
}

// Of two steady steps neither is the middle one: a step of 110 and one of 130 ns is one of 120, and so
// is what it consists of.
TEST(Comparison, TakesTheMedianThatTheStepTimeIs) {
  HandMadeTrace t;
  for (const auto& [step, length] : {std::pair{3, 110}, {4, 130}}) {
    const std::int64_t start = 1000 * step;
    t.step(0, step, start, start + length);
    t.event(0, 0, EventKind::compute, start, start + length, step, "matmul", "a matmul");
  }
  const Comparison c = compare(t.trace, t.trace);
  EXPECT_EQ(c.baseline_step_ns, 120);
  ASSERT_EQ(c.operators.size(), 1u);
  EXPECT_EQ(c.operators[0].baseline_ns, 120);
  EXPECT_EQ(c.by_category[0].baseline_ns, 120);
}

TEST(Comparison, JsonKeepsTheContract) {
  const auto json = nlohmann::json::parse(to_json(compare(baseline().trace, candidate().trace)));
  for (const char* key :
       {"step_time_error", "peak_allocated_error_bytes", "peak_reserved_error_bytes", "by_category",
        "events_matched", "events_unmatched"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  const auto empty = nlohmann::json::parse(to_json(compare({}, {})));
  EXPECT_TRUE(empty["step_time_error"].is_null()) << "nothing to compare is no error of zero";
}

TEST(Comparison, EventsWithoutKeysAreUnmatched) {
  HandMadeTrace t;
  t.step(0, 1, 0, 10).event(0, 0, EventKind::compute, 0, 5).event(0, 0, EventKind::compute, 5, 9);
  const Comparison c = compare(t.trace, t.trace);
  EXPECT_EQ(c.events_matched, 0);
  EXPECT_EQ(c.events_unmatched(), 4);
}

TEST(Comparison, OfOperatorsByName) {
  HandMadeTrace before, after;
  before.step(0, 1, 0, 100).step(0, 2, 100, 200);
  after.step(0, 1, 0, 100);
  for (int step = 1; step <= 2; ++step) {
    before.event(0, 0, EventKind::compute, 0, 40, step, "grows")
        .event(0, 0, EventKind::compute, 50, 60, step, "stays")
        .event(0, 0, EventKind::compute, 60, 90, step, "vanishes");
  }
  after.event(0, 0, EventKind::compute, 0, 75, 1, "grows")
      .event(0, 0, EventKind::compute, 80, 90, 1, "stays")
      .event(0, 1, EventKind::communication, 0, 20, 1, "appears");
  const auto changes = operator_changes(before.trace, after.trace);
  ASSERT_EQ(changes.size(), 4u);
  EXPECT_EQ(changes[0].name, "grows");
  EXPECT_EQ(changes[0].what(), "grew");
  EXPECT_EQ(changes[0].baseline_ns, 40) << "a step";
  EXPECT_EQ(changes[0].baseline_count, 1);
  EXPECT_EQ(changes[1].what(), "vanished");
  EXPECT_EQ(changes[2].what(), "appeared");
  EXPECT_EQ(changes[3].what(), "same");
  const std::string text = report_text(compare(before.trace, after.trace));
  EXPECT_TRUE(
      text.starts_with("A steady step takes 100 ns in the first trace and 100 ns in the second"))
      << text;
  EXPECT_NE(text.find("4 operators: 1 only in the second trace, 1 only in the first, 1 slower, 1 "
                      "unchanged within 1 %."),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("vanished"), std::string::npos) << text;
}

// Rank 3 of one run beside rank 0 of another.
TEST(Comparison, OfRecordingsOfOneRankEach) {
  HandMadeTrace first, second;
  first.trace.lanes.clear();
  first.trace.lanes.push_back({3, true, 0});
  traces::MemoryEvent e;
  e.rank = 3;
  e.address = 16;
  e.bytes = 3 << 20;
  first.trace.memory.push_back(e);
  second.memory(0, MemoryAction::alloc, 0, 16, 1 << 20);
  const Comparison c = compare(first.trace, second.trace);
  ASSERT_EQ(c.ranks.size(), 1u);
  EXPECT_EQ(c.peak_allocated_error_bytes, -2 << 20);
  const std::string text = report_text(c);
  EXPECT_NE(text.find("Peak memory goes from 3.00 MiB to 1.00 MiB allocated (-2.00 MiB)"),
            std::string::npos)
      << text;
}

TEST(Comparison, NamesATraceWithoutMemoryEvents) {
  HandMadeTrace with, without;
  with.event(0, 0, EventKind::compute, 0, 10).memory(0, MemoryAction::alloc, 0, 16, 1 << 20);
  without.event(0, 0, EventKind::compute, 0, 10);
  EXPECT_NE(report_text(compare(with.trace, without.trace))
                .find("Memory cannot be compared: the second trace has no memory events."),
            std::string::npos);
  EXPECT_NE(report_text(compare(without.trace, with.trace)).find("the first trace has no memory"),
            std::string::npos);
}

TEST(Comparison, ReportStartsWithTheAnswer) {
  const std::string text = report_text(compare(baseline().trace, candidate().trace));
  EXPECT_TRUE(
      text.starts_with("Predicted 90.00 us per step, measured 100.0 us: -10.0 %.\n"
                       "The largest difference is in compute: 50.00 us per step measured, 56.00 us "
                       "predicted.\nPeak memory is off by 300 bytes allocated"))
      << text;
}

}  // namespace
}  // namespace foreshard::profiler
