// The analysis of traces small enough to check by hand.
#include "profiler/analysis/analysis.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "profiler/report/analysis_report.hpp"
#include "profiler/report/report_notes.hpp"
#include "tests/profiler/analysis/hand_made_trace.hpp"

namespace foreshard::profiler {
namespace {

using traces::EventKind;
using traces::MemoryAction;

//  ns   0    10   20   30   40   50   60   70   80   90  100
//  compute   [=====A=====]         [==B==]
//  gather         [=======C=======]                [=D=]
//  compute                               [mem]
TEST(Breakdown, FollowsHolisticTraceAnalysis) {
  HandMadeTrace t;
  t.event(0, 0, EventKind::compute, 10, 35)           // A
      .event(0, 0, EventKind::compute, 50, 65)        // B
      .event(0, 1, EventKind::communication, 20, 52)  // C
      .event(0, 1, EventKind::communication, 80, 90)  // D
      .event(0, 0, EventKind::memory, 65, 72)
      .event(0, 1, EventKind::wait, 0, 20)     // waiting is no device event
      .event(0, -1, EventKind::host, 0, 100);  // nor is the host's work
  const Analysis analysis = analyse(t.trace);
  ASSERT_EQ(analysis.ranks.size(), 1u);
  const TimeBreakdown& time = analysis.ranks[0].time;
  EXPECT_EQ(analysis.ranks[0].events, 7);
  EXPECT_EQ(time.device_events, 5);
  EXPECT_EQ(time.span_ns, 80);           // 10 to 90
  EXPECT_EQ(time.compute_ns, 40);        // 25 + 15
  EXPECT_EQ(time.communication_ns, 42);  // 32 + 10
  EXPECT_EQ(time.memory_operation_ns, 7);
  EXPECT_EQ(time.idle_ns, 8);                    // 72 to 80
  EXPECT_EQ(time.overlap_ns, 17);                // 20 to 35, 50 to 52
  EXPECT_EQ(time.exposed_communication_ns, 25);  // 42 - 17
}

TEST(Analysis, EndsWhereAStopWasRequested) {
  HandMadeTrace t;
  t.event(0, 0, EventKind::compute, 10, 35);
  std::stop_source stop;
  EXPECT_EQ(analyse(t.trace, stop.get_token()).ranks.size(), 1u);
  stop.request_stop();
  const Analysis stopped = analyse(t.trace, stop.get_token());
  EXPECT_TRUE(stopped.ranks.empty());
  EXPECT_TRUE(stopped.operators.empty());
}

TEST(Breakdown, CountsOverlappingKernelsOfOneStreamOnce) {
  HandMadeTrace t;
  t.event(0, 0, EventKind::compute, 0, 10).event(0, 0, EventKind::compute, 5, 12);
  EXPECT_EQ(analyse(t.trace).ranks[0].time.compute_ns, 12);
}

TEST(Breakdown, IsZeroWithoutDeviceEvents) {
  HandMadeTrace t;
  t.event(0, -1, EventKind::host, 5, 10);
  const Analysis analysis = analyse(t.trace);
  EXPECT_EQ(analysis.ranks[0].time.span_ns, 0);
  EXPECT_EQ(recording_warnings(analysis),
            std::vector<std::string>{"No device work was recorded on rank 0."});
}

TEST(Breakdown, IsGivenForEachStep) {
  HandMadeTrace t;
  t.step(0, 1, 0, 100).step(0, 2, 100, 180);
  t.event(0, 0, EventKind::compute, 10, 30, 1).event(0, 0, EventKind::compute, 110, 120, 2);
  t.event(0, 1, EventKind::communication, 115, 140, 2)
      .event(0, -1, EventKind::host_wait, 120, 170, 2);
  const auto steps = analyse(t.trace).ranks[0].steps;
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].time.compute_ns, 20);
  EXPECT_EQ(steps[1].duration_ns, 80);
  EXPECT_EQ(steps[1].time.span_ns, 30);                   // 110 to 140
  EXPECT_EQ(steps[1].time.exposed_communication_ns, 20);  // 25 - 5
  EXPECT_EQ(steps[1].host_wait_ns, 50);
}

TEST(Memory, PeakIsWhereMostIsAllocatedAtOnce) {
  HandMadeTrace t;
  t.memory(0, MemoryAction::segment_alloc, 1, 0x1000, 2048)
      .memory(0, MemoryAction::alloc, 2, 0x1000, 512, "parameters", "a")
      .memory(0, MemoryAction::alloc, 3, 0x1200, 1024, "activations", "b: x")
      .memory(0, MemoryAction::alloc, 4, 0x1000, 4096, "activations", "host", 1, true)
      .memory(0, MemoryAction::free_requested, 5, 0x1200, 1024)
      .memory(0, MemoryAction::free_completed, 6, 0x1200, 1024)
      .memory(0, MemoryAction::alloc, 7, 0x1200, 512, "temporaries", "b: y")
      .memory(0, MemoryAction::segment_alloc, 8, 0x9000, 1024)
      .memory(0, MemoryAction::alloc, 9, 0x9000, 768, "activations", "b: x", 2)
      .memory(0, MemoryAction::segment_free, 10, 0x1000, 2048);
  const MemoryPeak peak = analyse(t.trace).ranks[0].peak;
  // After each: 512, 1536, 512, 1024, 1792. Reserved: 2048, 3072, 1024. Host: 4096.
  EXPECT_EQ(peak.allocated_bytes, 1792);
  EXPECT_EQ(peak.reserved_bytes, 3072);
  EXPECT_EQ(peak.host_bytes, 4096);
  EXPECT_EQ(peak.time_ns, 9);
  EXPECT_EQ(peak.step, 2);
  EXPECT_EQ(peak.phase, "forward");
  EXPECT_EQ(peak.by_category,
            (std::map<std::string, std::int64_t>{
                {"activations", 768}, {"parameters", 512}, {"temporaries", 512}}));
  ASSERT_EQ(peak.owners.size(), 3u);
  EXPECT_EQ(peak.owners[0].name, "b: x");
  EXPECT_EQ(peak.owners[0].bytes, 768);
}

// Address 0: a recording without the places of blocks.
TEST(Memory, CountsBlocksWithoutAnAddress) {
  HandMadeTrace t;
  t.memory(0, MemoryAction::alloc, 1, 0, 4096, "before the recording")
      .memory(0, MemoryAction::alloc, 2, 0, 512)
      .memory(0, MemoryAction::alloc, 3, 0, 1024)
      .memory(0, MemoryAction::free_requested, 4, 0, 512)
      .memory(0, MemoryAction::alloc, 5, 0x10, 2048, "", "aten::mm");
  const Analysis analysis = analyse(t.trace);
  const MemoryPeak& peak = analysis.ranks[0].peak;
  EXPECT_EQ(analysis.ranks[0].misfit_memory_events, 0);
  EXPECT_EQ(peak.allocated_bytes, 4096 + 1024 + 2048);
  EXPECT_EQ(peak.by_category, (std::map<std::string, std::int64_t>{{"before the recording", 4096},
                                                                   {"unknown", 1024 + 2048}}));
  ASSERT_EQ(peak.owners.size(), 3u);
  EXPECT_EQ(peak.owners[0].name, "before the recording");
  EXPECT_EQ(peak.owners[1].name, "aten::mm");
  EXPECT_EQ(peak.owners[2].blocks, 1);
}

TEST(Memory, SaysWhatDoesNotFit) {
  HandMadeTrace t;
  t.event(0, 0, EventKind::compute, 0, 1);
  t.memory(0, MemoryAction::free_requested, 1, 0x10, 512)
      .memory(0, MemoryAction::alloc, 2, 0x20, 512)
      .memory(0, MemoryAction::alloc, 3, 0x20, 1024);
  const Analysis analysis = analyse(t.trace);
  EXPECT_EQ(analysis.ranks[0].peak.allocated_bytes, 1024);
  const std::vector<std::string> warnings = recording_warnings(analysis);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(warnings[0].starts_with("Memory events inconsistent with earlier ones: "));
}

TEST(Operators, AreSummedOverRanksCostliestFirst) {
  HandMadeTrace t(2);
  t.trace.metadata["program_hash"] = "1";  // of our own, where issuing is no operator
  t.event(0, 0, EventKind::compute, 0, 10, 1, "matmul")
      .event(1, 0, EventKind::compute, 0, 30, 1, "matmul");
  t.event(0, 1, EventKind::communication, 0, 25, 1, "all_gather");
  t.event(0, -1, EventKind::host_compute, 50, 100, 1, "adamw");
  t.event(0, -1, EventKind::host, 0, 1000, 1, "matmul");
  const auto operators = analyse(t.trace).operators;
  ASSERT_EQ(operators.size(), 3u);
  EXPECT_EQ(operators[0].name, "adamw");
  EXPECT_EQ(operators[0].category, "host_compute");
  EXPECT_EQ(operators[1].name, "matmul");
  EXPECT_EQ(operators[1].count, 2);
  EXPECT_EQ(operators[1].total_ns, 40);
  EXPECT_EQ(operators[2].category, "communication");
}

TEST(CostSources, AreSummedBestFirst) {
  HandMadeTrace t;
  t.event(0, 0, EventKind::compute, 0, 10).event(0, 0, EventKind::compute, 10, 40);
  EXPECT_TRUE(analyse(t.trace).cost_sources.empty()) << "of a measured trace";
  t.event(0, 1, EventKind::communication, 50, 150).event(0, -1, EventKind::host, 200, 900);
  const auto set_source = [&](std::size_t n, CostSource source) {
    t.trace.events.update(n, [&](traces::Event& event) { event.cost_source = source; });
  };
  set_source(1, CostSource::modelled);  // 10 ns
  set_source(2, CostSource::measured);  // 30 ns
  set_source(3, CostSource::modelled);  // 100 ns
  const auto sources = analyse(t.trace).cost_sources;
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[0].source, CostSource::measured);
  EXPECT_EQ(sources[0].total_ns, 30);
  EXPECT_EQ(sources[1].source, CostSource::modelled);
  EXPECT_EQ(sources[1].count, 2);
  EXPECT_EQ(sources[1].total_ns, 110);
  for (const OperatorTotal& op : analyse(t.trace).operators) {
    if (op.category != "compute") continue;
    EXPECT_EQ(op.cost_sources, (std::set{CostSource::measured, CostSource::modelled}))
        << "an operator of several sizes may have several";
  }
}

TEST(SteadySteps, AreTheThirdToTheLast) {
  HandMadeTrace t(2);
  EXPECT_EQ(steady_step_time(t.trace), 0);
  t.step(0, 0, 0, 999).step(0, 1, 0, 500);
  EXPECT_EQ(steady_steps(t.trace), std::vector<std::int32_t>{1});
  t.step(0, 2, 500, 700);
  EXPECT_EQ(steady_steps(t.trace), std::vector<std::int32_t>{2});
  EXPECT_EQ(steady_step_time(t.trace), 200);
  t.step(0, 3, 700, 800).step(1, 3, 700, 810).step(0, 4, 800, 930);
  EXPECT_EQ(steady_steps(t.trace), (std::vector<std::int32_t>{3, 4}));
  EXPECT_EQ(steady_step_time(t.trace), 120);  // of 110, the slower rank's, and 130
  HandMadeTrace interrupted = t;
  interrupted.memory(0, MemoryAction::out_of_memory, 850, 0, 1);
  interrupted.trace.memory.update_last([](traces::MemoryEvent& e) { e.step = 4; });
  EXPECT_EQ(steady_steps(interrupted.trace), std::vector<std::int32_t>{3});
  t.trace.metadata["unknown_costs"] = "3";  // of a prediction that lacked some
  EXPECT_EQ(steady_step_time(t.trace), 0);
}

TEST(Warnings, SayWhatIsMissing) {
  HandMadeTrace t;
  t.trace.metadata["ranks"] = "4";
  t.trace.metadata["end_reason"] = "interrupted";
  t.trace.complete = false;
  t.trace.complete_until_ns = 1'500'000;
  t.trace.dropped["ring full"] = 12;
  t.event(0, 0, EventKind::compute, 0, 1);
  const Analysis analysis = analyse(t.trace);
  EXPECT_EQ(analysis.dropped_records, 12);
  const std::vector<std::string> warnings = recording_warnings(analysis);
  EXPECT_EQ(warnings, (std::vector<std::string>{
                          "this recording is incomplete: complete up to 1.500 ms, later records "
                          "may be missing",
                          "the run ended early: interrupted", "records were lost: ring full (12)",
                          "The run has 4 ranks; this trace contains 1."}));
  // The words of the report.
  EXPECT_EQ(report_alarms(analysis),
            std::vector<std::string>(warnings.begin(), warnings.end() - 1));
  EXPECT_EQ(report_notes(analysis), std::vector<std::string>{warnings.back()});
}

TEST(Json, KeepsTheContract) {
  HandMadeTrace t(2);
  t.event(0, 0, EventKind::compute, 0, 10, 1, "mat\xffmul").step(0, 1, 0, 20);
  t.memory(0, MemoryAction::alloc, 1, 0x10, 512, "parameters", "w");
  const auto json = nlohmann::json::parse(to_json(analyse(t.trace)));
  for (const char* key :
       {"complete", "complete_until_ns", "dropped_records", "ranks", "operators", "warnings"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  ASSERT_EQ(json["ranks"].size(), 2u);
  for (const char* key :
       {"rank", "events", "device_events", "span_ns", "compute_ns", "communication_ns",
        "memory_operation_ns", "idle_ns", "overlap_ns", "exposed_communication_ns",
        "peak_allocated_bytes", "peak_reserved_bytes", "peak"}) {
    EXPECT_TRUE(json["ranks"][0].contains(key)) << key;
  }
  EXPECT_EQ(json["ranks"][0]["peak"]["time_ns"], 1);
  EXPECT_EQ(json["ranks"][0]["peak"]["by_category_bytes"]["parameters"], 512);
  EXPECT_EQ(json["ranks"][0]["peak"]["owners"][0]["name"], "w");
  EXPECT_EQ(json["operators"][0]["total_ns"], 10);
}

TEST(Json, HasNullForWhatIsNotRecorded) {
  HandMadeTrace t(2);
  t.event(0, 0, EventKind::communication, 0, 10, 1, "nccl").step(1, 1, 0, 20);
  t.memory(1, MemoryAction::alloc, 1, 0x10, 512, "parameters", "w");
  t.trace.dropped["counters"] = 3;
  t.trace.metadata["ranks"] = "4";
  t.trace.metadata["source"] = "kineto";
  const auto json = nlohmann::json::parse(to_json(analyse(t.trace)));
  EXPECT_EQ(json["collectives"][0]["bytes"], nullptr);
  for (const char* key : {"peak_allocated_bytes", "peak_reserved_bytes", "peak_host_bytes",
                          "peak_outside_bytes", "peak"}) {
    EXPECT_EQ(json["ranks"][0][key], nullptr) << key;
  }
  EXPECT_EQ(json["ranks"][1]["peak_allocated_bytes"], 512);
  EXPECT_EQ(json["ranks"][1]["peak_reserved_bytes"], nullptr);
  EXPECT_EQ(json["ranks"][1]["peak_host_bytes"], 0);
  EXPECT_EQ(json["dropped"], nlohmann::json::parse(R"([{"reason": "counters", "records": 3}])"));
  EXPECT_EQ(json["missing_ranks"], 2);
  EXPECT_EQ(json["source"], "kineto");
  const auto empty = nlohmann::json::parse(to_json(analyse(traces::Trace{})));
  EXPECT_EQ(empty["step_time_ns"], nullptr);
  EXPECT_EQ(empty["source"], "foreshard");
}

TEST(Report, ReadsAnEmptyTrace) {
  const Analysis analysis = analyse(traces::Trace{});
  EXPECT_FALSE(report_text(analysis).empty());
  EXPECT_TRUE(nlohmann::json::accept(to_json(analysis)));
}

}  // namespace
}  // namespace foreshard::profiler
