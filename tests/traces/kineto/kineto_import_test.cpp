// What the importer makes of sound recordings of PyTorch's profiler, old and new.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/traces/kineto/kineto_sample.hpp"
#include "traces/meaning/launches.hpp"
#include "traces/metadata.hpp"

namespace foreshard::traces {
namespace {

constexpr std::int64_t kMicrosecond = 1000;

std::string text(const Trace& trace, StringId id) {
  return trace.strings[id];
}

TEST(KinetoImport, TimesAreExactAndCountFromTheFirstEvent) {
  const Trace trace = import_text(kineto_sample());
  EXPECT_EQ(trace.metadata.at("clock_origin_ns"), "1000000000500");
  const Event& kernel = event_named(trace, "gemm{lambda(int)#1}, \"quoted\"");
  EXPECT_EQ(kernel.start_ns, 39'750);
  EXPECT_EQ(kernel.end_ns, 39'750 + 20'125);
  EXPECT_TRUE(trace.complete);
  EXPECT_EQ(trace.complete_until_ns, 151 * kMicrosecond);
}

TEST(KinetoImport, LanesAreThreadsAndStreamsOfTheRank) {
  const Trace trace = import_text(kineto_sample());
  std::map<std::string, bool> lanes;
  for (const Lane& lane : trace.lanes) {
    EXPECT_EQ(lane.rank, 2);
    lanes[text(trace, lane.name)] = lane.device;
  }
  const std::map<std::string, bool> expected{{"thread 7", false},
                                             {"thread 8 (pt_autograd_0)", false},
                                             {"stream 7", true},
                                             {"stream 20", true}};
  EXPECT_EQ(lanes, expected);
  EXPECT_EQ(trace.metadata.at("ranks"), "4");
  EXPECT_EQ(trace.metadata.at("device.2"), "GPU of a test");
  EXPECT_EQ(trace.metadata.at("source"), "kineto");
}

TEST(KinetoImport, CountersHaveASeriesForEachNumberTheyTell) {
  const Trace trace = import_text(kineto_file(R"(
    {"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":100,"dur":50},
    {"ph":"C","name":"power","pid":0,"ts":90,"args":{"value":250.5}},
    {"ph":"C","name":"power","pid":0,"ts":120,"args":{"value":300}},
    {"name":"queue","args":{"7":2,"9":1,"note":"text"},"pid":4242,"tid":1,"ts":110.5,"ph":"C"},
    {"name":"queue","args":{"7":0,"9":1},"pid":4242,"tid":1,"ts":130,"ph":"C"},
    {"ph":"C","name":"host","id":1,"pid":5,"ts":100,"args":{"host":1}},
    {"ph":"C","name":"host","id":2,"pid":5,"ts":100,"args":{"host":2}},
    {"ph":"C","name":"none","pid":0,"ts":100,"args":{"value":NaN}})"));
  std::map<std::string, std::vector<CounterSample>> counters;
  for (const Counter& counter : trace.counters) {
    counters[text(trace, counter.name)] = counter.samples;
    EXPECT_EQ(counter.unit, 0);
  }
  const std::map<std::string, std::vector<CounterSample>> expected{
      {"power", {{0, 250.5}, {20'000, 300}}},
      {"queue 7", {{10'500, 2}, {30'000, 0}}},
      {"queue 9", {{10'500, 1}}},
      {"host 1 (process 5)", {{0, 1}}},
      {"host 2 (process 5)", {{0, 2}}}};
  EXPECT_EQ(counters, expected);
  EXPECT_EQ(trace.dropped, (std::map<std::string, std::int64_t>{{"counters without a number", 1}}));
}

TEST(KinetoImport, KindsFollowCategoriesAndNames) {
  const Trace trace = import_text(kineto_sample());
  EXPECT_EQ(event_named(trace, "Memcpy HtoD (Pinned -> Device)").kind, EventKind::memory);
  EXPECT_EQ(event_named(trace, "Stream Wait Event").kind, EventKind::wait);
  EXPECT_EQ(event_named(trace, "cudaDeviceSynchronize").kind, EventKind::host_wait);
  EXPECT_EQ(event_named(trace, "cudaLaunchKernel").kind, EventKind::runtime);
  EXPECT_EQ(event_named(trace, "ProfilerStep#3").kind, EventKind::range);
  EXPECT_EQ(event_named(trace, "train.py(3): main").kind, EventKind::stack);
  EXPECT_EQ(event_named(trace, "record_param_comms").kind, EventKind::host);
  EXPECT_EQ(event_named(trace, "gemm{lambda(int)#1}, \"quoted\"").kind, EventKind::compute);
}

TEST(KinetoImport, KernelsHaveStepUnitAndPhaseOfTheirLaunch) {
  const Trace trace = import_text(kineto_sample());
  const Event& gather =
      event_named(trace, "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
  EXPECT_EQ(gather.kind, EventKind::communication);
  EXPECT_EQ(text(trace, gather.unit), "layers.0");
  EXPECT_EQ(text(trace, gather.phase), "forward");
  EXPECT_EQ(gather.step, 3);
  EXPECT_EQ(gather.bytes, 8000);
  EXPECT_EQ(text(trace, gather.cost_key), "all_gather bf16 8000 4");
  EXPECT_EQ(gather.correlation, 50);
  // Between pre_forward and post_forward the unit does its own work.
  const Event& product = event_named(trace, "gemm{lambda(int)#1}, \"quoted\"");
  EXPECT_EQ(text(trace, product.unit), "layers.0");
  EXPECT_EQ(text(trace, product.phase), "forward");
  EXPECT_EQ(text(trace, product.cost_key), "matmul bf16 512 1024 384");
  // Without a launch, the operator has it.
  const Event& copy = event_named(trace, "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(text(trace, copy.unit), "layers.0");
  EXPECT_EQ(text(trace, copy.cost_key), "copy_host_to_device fp32 4096");
  EXPECT_EQ(event_named(trace, "Optimizer.step#AdamW.step").step, 4);
  EXPECT_EQ(text(trace, event_named(trace, "Optimizer.step#AdamW.step").phase), "optimizer");
}

// As PyTorch on ROCm wrote them: kernels without arguments, or calls numbered in a way of their own.
TEST(KinetoImport, FlowsLinkWorkThatHasNoCorrelation) {
  const Trace trace = import_text(kineto_file(R"json(
{"ph": "X", "cat": "cuda_runtime", "name": "first", "pid": 7, "tid": 7, "ts": 5, "dur": 2, "args": {}},
{"ph": "s", "id": 3, "pid": 7, "tid": 7, "ts": 5, "cat": "ac2g", "name": "ac2g"},
{"ph": "X", "cat": "cuda_runtime", "name": "second", "pid": 7, "tid": 7, "ts": 8, "dur": 2, "args": {"correlation": 80}},
{"ph": "s", "id": 4, "pid": 7, "tid": 7, "ts": 8, "cat": "async_cpu_to_gpu", "name": "a"},
{"ph": "f", "id": 4, "pid": 0, "tid": 1, "ts": 30, "cat": "async_gpu", "name": "a", "bp": "e"},
{"ph": "X", "cat": "kernel", "name": "of first", "pid": 0, "tid": 1, "ts": 20, "dur": 9, "args": {}},
{"ph": "f", "id": 3, "pid": 0, "tid": 1, "ts": 20, "cat": "ac2g", "name": "ac2g", "bp": "e"},
{"ph": "X", "cat": "kernel", "name": "of second", "pid": 0, "tid": 1, "ts": 30, "dur": 9, "args": {}},
{"ph": "f", "id": 9, "pid": 0, "tid": 1, "ts": 50, "cat": "ac2g", "name": "of nothing", "bp": "e"},
{"ph": "X", "cat": "kernel", "name": "of nothing", "pid": 0, "tid": 1, "ts": 40, "dur": 1, "args": {}})json"));
  EXPECT_NE(event_named(trace, "first").correlation, 0);
  EXPECT_EQ(event_named(trace, "of first").correlation, event_named(trace, "first").correlation);
  EXPECT_EQ(event_named(trace, "of second").correlation, 80);
  EXPECT_EQ(event_named(trace, "of nothing").correlation, 0);
  EXPECT_TRUE(trace.dropped.empty());
}

// As torch.profiler writes it with_stack of a model without FSDP; autograd's thread has the lower number.
TEST(KinetoImport, FlowsLinkBackwardWorkWithTheBlockOfItsForward) {
  const Trace trace = import_text(kineto_file(R"(
{"ph": "X", "cat": "python_function", "name": "nn.Module: Net_0", "pid": 7, "tid": 8, "ts": 0, "dur": 90},
{"ph": "X", "cat": "python_function", "name": "nn.Module: Layer_0", "pid": 7, "tid": 8, "ts": 10, "dur": 30},
{"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 7, "tid": 8, "ts": 15, "dur": 10},
{"ph": "s", "id": 3, "pid": 7, "tid": 8, "ts": 15, "cat": "fwdbwd", "name": "fwdbwd"},
{"ph": "X", "cat": "python_function", "name": "nn.Module: Layer_1", "pid": 7, "tid": 8, "ts": 50, "dur": 30},
{"ph": "f", "id": 3, "pid": 7, "tid": 7, "ts": 120, "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"},
{"ph": "X", "cat": "cpu_op", "name": "AddmmBackward0", "pid": 7, "tid": 7, "ts": 120, "dur": 40},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7, "ts": 120, "dur": 20})"));
  for (const char* const name : {"AddmmBackward0", "aten::mm"}) {
    EXPECT_EQ(trace.strings[event_named(trace, name).unit], "Layer_0") << name;
    EXPECT_EQ(trace.strings[event_named(trace, name).phase], "backward") << name;
  }
  EXPECT_EQ(trace.strings[event_named(trace, "aten::addmm").phase], "forward");
  EXPECT_TRUE(trace.dropped.empty());
}

TEST(KinetoImport, TheDeviceIsThatOfItsWorkWhereverFlowsEnd) {
  const Trace trace = import_text(kineto_file(
      R"json(
{"ph": "X", "cat": "cuda_runtime", "name": "call", "pid": 7, "tid": 7, "ts": 5, "dur": 2, "args": {"correlation": 3}},
{"ph": "s", "id": 3, "pid": 7, "tid": 7, "ts": 5, "cat": "ac2g", "name": "ac2g"},
{"ph": "f", "id": 3, "pid": 7, "tid": 7, "ts": 20, "cat": "ac2g", "name": "ac2g", "bp": "e"},
{"ph": "X", "cat": "kernel", "name": "work", "pid": 1, "tid": 1, "ts": 20, "dur": 9, "args": {"device": 1, "correlation": 3}})json",
      R"("deviceProperties": [{"id": 0, "name": "first"}, {"id": 1, "name": "second"}],
)"));
  EXPECT_EQ(trace.metadata.at("device.0"), "second");
  EXPECT_EQ(trace.lanes.size(), 2U) << "a flow makes no stream";
}

TEST(KinetoImport, TheMemoryOfTwoDevicesIsNotOne) {
  const auto instant = [](int device, int ts, int bytes, int total) {
    const auto text = [](int value) { return std::to_string(value); };
    return R"({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 7, "tid": 7, "ts": )" +
           text(ts) + R"(, "args": {"Total Reserved": 8192, "Total Allocated": )" + text(total) +
           R"(, "Bytes": )" + text(bytes) + R"(, "Device Id": )" + text(device) +
           R"(, "Device Type": 1, "Addr": )" + text(4096 * (ts + 1)) + "}}";
  };
  const Trace trace =
      import_text(kineto_file(instant(0, 5, 5000, 5000) + ",\n" + instant(1, 6, 6000, 6000) +
                              ",\n" + instant(0, 7, 500, 5500) + ",\n" + instant(1, 8, 100, 6100)));
  std::int64_t allocated = 0;
  for (const MemoryEvent& event : trace.memory) {
    if (event.action == MemoryAction::alloc) allocated += event.bytes;
  }
  EXPECT_EQ(allocated, 6100);
  ASSERT_EQ(trace.dropped.size(), 1U);
  EXPECT_EQ(trace.dropped.begin()->second, 2);
}

TEST(KinetoImport, ProductsOfAutogradAreGradients) {
  const Trace trace = import_text(kineto_sample());
  std::map<std::string, int> keys;
  for (const Event& event : trace.events) {
    if (text(trace, event.name) == "aten::mm") ++keys[text(trace, event.cost_key)];
  }
  const std::map<std::string, int> expected{{"matmul bf16 512 1024 384", 1},
                                            {"matmul_weight_gradient bf16 1024 384 512", 1}};
  EXPECT_EQ(keys, expected);
  EXPECT_EQ(trace.metadata.at("cost_keys_mapped"),
            "6");  // 2 products, 1 collective; their 3 events
  EXPECT_EQ(trace.metadata.at("cost_keys_unmapped"), "0");
}

TEST(KinetoImport, StepsAreThoseOfTheProfiler) {
  const Trace trace = import_text(kineto_sample());
  ASSERT_EQ(trace.steps.size(), 2U);
  EXPECT_EQ(trace.steps[0].step, 3);
  EXPECT_EQ(trace.steps[0].rank, 2);
  EXPECT_EQ(trace.steps[0].start_ns, 500);
  EXPECT_EQ(trace.steps[1].end_ns, 150'500);
}

TEST(KinetoImport, AStepOfNumberZeroIsAStep) {
  const Trace trace = import_text(kineto_file(R"json(
{"ph": "X", "cat": "kernel", "name": "before", "pid": 0, "tid": 1, "ts": 1, "dur": 1, "args": {}},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#0", "pid": 7, "tid": 7, "ts": 5, "dur": 9, "args": {}},
{"ph": "X", "cat": "kernel", "name": "within", "pid": 0, "tid": 1, "ts": 6, "dur": 1, "args": {}})json"));
  ASSERT_EQ(trace.steps.size(), 1U);
  EXPECT_EQ(text(trace, trace.steps[0].label), "ProfilerStep#0");
  EXPECT_EQ(event_named(trace, "before").step, 0);
  EXPECT_EQ(event_named(trace, "within").step, trace.steps[0].step);
  EXPECT_GT(trace.steps[0].step, 0);
}

TEST(KinetoImport, MemoryReplaysToTheRecordedTotals) {
  const Trace trace = import_text(kineto_sample());
  ASSERT_EQ(trace.memory.size(), 6U);
  EXPECT_EQ(trace.memory[0].action, MemoryAction::segment_alloc);
  EXPECT_EQ(trace.memory[0].bytes, 8192);
  EXPECT_EQ(trace.memory[1].address, 512);  // freed later
  EXPECT_EQ(trace.memory[1].bytes, 512);
  EXPECT_EQ(text(trace, trace.memory[1].category), "before the recording");
  EXPECT_EQ(trace.memory[2].bytes, 1536);
  EXPECT_EQ(trace.memory[3].bytes, 1024);
  EXPECT_EQ(text(trace, trace.memory[3].owner), "layers.0: aten::mm");
  EXPECT_EQ(text(trace, trace.memory[3].phase), "forward");
  EXPECT_EQ(trace.memory[3].step, 3);
  EXPECT_EQ(trace.memory[4].action, MemoryAction::free_requested);
  EXPECT_EQ(trace.memory[5].action, MemoryAction::free_completed);
  EXPECT_EQ(trace.memory[5].rank, 2);
}

TEST(KinetoImport, WhatIsLeftOutIsCounted) {
  const Trace all = import_text(kineto_sample());
  const std::map<std::string, std::int64_t> expected{{"profiler markers", 1},
                                                     {"profiler spans", 1}};
  EXPECT_EQ(all.dropped, expected);
  const Trace without = import_text(kineto_sample(), {.keeps_stacks = false});
  EXPECT_EQ(without.dropped.at("python_function events (--no-stacks)"), 1);
  EXPECT_EQ(without.events.size() + 1, all.events.size());
}

TEST(KinetoImport, RangesOf2021HaveTheCategoryOfOperators) {
  const Trace trace = import_text(R"({"traceEvents": [
{"ph": "X", "cat": "Operator", "name": "enumerate(DataLoader)#_Iter.__next__", "pid": 9, "tid": "33", "ts": 10, "dur": 7, "args": {}},
{"ph": "X", "cat": "Operator", "name": "aten::stack", "pid": 9, "tid": "33", "ts": 12, "dur": 2, "args": {}}]})");
  EXPECT_EQ(event_named(trace, "enumerate(DataLoader)#_Iter.__next__").kind, EventKind::range);
  EXPECT_EQ(event_named(trace, "aten::stack").kind, EventKind::host);
}

TEST(KinetoImport, RecordingsOf2021) {
  const Trace trace = import_text(kineto_sample_of_2021());
  EXPECT_TRUE(trace.complete);
  ASSERT_EQ(trace.events.size(), 4U);
  EXPECT_EQ(event_named(trace, "fill").kind, EventKind::compute);
  EXPECT_EQ(event_named(trace, "fill").start_ns, 10'000);
  EXPECT_EQ(event_named(trace, "Memset (Device)").bytes, 64);
  EXPECT_EQ(trace.lanes.size(), 2U);
  EXPECT_EQ(trace.memory.size(), 1U);
  EXPECT_TRUE(trace.memory[0].on_host);
}

TEST(KinetoImport, BeginningsAndEndsOfAThreadArePairsThatNest) {
  const auto mark = [](const std::string& phase, int at, int thread, const std::string& name) {
    return R"({"ph":")" + phase + R"(","ts":)" + std::to_string(at) + R"(,"pid":3,"tid":)" +
           std::to_string(thread) + R"(,"cat":"FEE","name":")" + name + R"("})";
  };
  const Trace trace = import_text(
      R"({"traceEvents":[)" + mark("E", 1, 8, "never begun") + "," + mark("B", 10, 8, "outer") +
      "," + mark("B", 12, 9, "other thread") + "," + mark("B", 13, 8, "inner") + "," +
      mark("E", 15, 8, "") + "," + mark("E", 20, 8, "") + "," + mark("E", 30, 9, "") + "," +
      mark("B", 40, 9, "never ended") + "]}");
  ASSERT_EQ(trace.events.size(), 3U);
  for (const auto& [name, microseconds] :
       {std::pair("outer", 10), std::pair("inner", 2), std::pair("other thread", 18)}) {
    const Event& event = event_named(trace, name);
    EXPECT_EQ(event.end_ns - event.start_ns, microseconds * kMicrosecond) << name;
    EXPECT_EQ(event.kind, EventKind::range) << name;
  }
  const std::map<std::string, std::int64_t> dropped{{"beginnings of events without an end", 1},
                                                    {"ends of events without a beginning", 1}};
  EXPECT_EQ(trace.dropped, dropped);
}

// Files of several processes put into one, each of which numbered its launches from 1 on.
TEST(KinetoImport, ALaunchNumberOfSeveralProcessesLaunchesNothing) {
  const auto event = [](const std::string& category, int process, int at, int correlation) {
    return R"({"ph":"X","cat":")" + category + R"(","name":")" + category + R"(","pid":)" +
           std::to_string(process) + R"(,"tid":1,"ts":)" + std::to_string(at) +
           R"(,"dur":5,"args":{"device":0,"stream":7,"correlation":)" +
           std::to_string(correlation) + "}}";
  };
  const Trace trace = import_text(
      R"({"traceEvents":[)" + event("cuda_runtime", 100, 10, 1) + "," + event("kernel", 0, 20, 1) +
      "," + event("cuda_runtime", 200, 30, 1) + "," + event("kernel", 0, 40, 1) + "," +
      event("cuda_runtime", 200, 50, 2) + "," + event("kernel", 0, 60, 2) + "]}");
  const Launches launches(trace);
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events[i].kind != EventKind::compute) continue;
    EXPECT_EQ(launches.of(i) != Launches::kUnknown, trace.events[i].correlation == 2) << i;
  }
  const std::map<std::string, std::int64_t> dropped{
      {"launches whose numbers several processes use", 2}};
  EXPECT_EQ(trace.dropped, dropped);
}

TEST(KinetoImport, MetadataMayComeLast) {
  const std::string event =
      R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":"12.5","dur":1e1,"args":{}})";
  const Trace trace =
      import_text("{\"traceEvents\":[" + event +
                  "],\"baseTimeNanoseconds\":7000000,"
                  "\"distributedInfo\":{\"rank\":\"5\"},\"displayTimeUnit\":\"ns\"}");
  EXPECT_EQ(trace.metadata.at("clock_origin_ns"), "7012500");
  ASSERT_EQ(trace.events.size(), 1U);
  EXPECT_EQ(trace.events[0].end_ns, 10'000);
  EXPECT_EQ(trace.lanes[0].rank, 5);
}

TEST(KinetoImport, ARankWithoutEventsIsThere) {
  const TemporaryFolder folder;
  const auto traces = import_kineto({folder.write("rank_3.json", kineto_file(""))});
  ASSERT_TRUE(traces) << traces.error().text();
  ASSERT_EQ(traces->at(0).lanes.size(), 1U);
  EXPECT_EQ(traces->at(0).lanes[0].rank, 3);
  EXPECT_TRUE(traces->at(0).complete);
}

TEST(KinetoImport, OverlappingKernelsOfOneStreamAllStay) {
  std::string events;
  for (int i = 0; i < 3; ++i) {
    events += std::string(i > 0 ? "," : "") +
              R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":)" +
              std::to_string(10 - i) + R"(,"dur":100,"args":{"device":0,"stream":7}})";
  }
  const Trace trace = import_text(kineto_file(events));
  ASSERT_EQ(trace.events.size(), 3U);
  EXPECT_EQ(trace.events[0].start_ns, 0);
  EXPECT_EQ(trace.events[2].start_ns, 2000);
}

std::string one_event(std::int64_t microseconds, const std::string& more) {
  return kineto_file(R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":)" +
                         std::to_string(microseconds) + R"(,"dur":1,"args":{}})",
                     more);
}

TEST(KinetoImport, FilesOfOneRunAreOneTraceAndTwoRunsAreTwo) {
  const TemporaryFolder folder;
  constexpr std::int64_t kFirst = 1'700'000'000'000'000, kSecond = kFirst + 200'000'000;
  const auto ranked = [](int rank) {
    return "\"distributedInfo\": {\"rank\": " + std::to_string(rank) + ", \"world_size\": 3},";
  };
  // Of the first run rank 2 is missing; the second run's must not fill its place.
  folder.write("a.json", one_event(kFirst + 5, ranked(1)));
  folder.write("b.json", one_event(kSecond + 9, ranked(0)));
  folder.write("c.json", one_event(kSecond, ranked(2)));
  write_gzip(folder, "d.json.gz", one_event(kFirst, ranked(0)));
  folder.write("e.json", one_event(kSecond + 2, ranked(1)));
  folder.write("plan.json", R"({"what": "no recording"})");
  const auto traces = import_kineto({folder.path()});
  ASSERT_TRUE(traces) << traces.error().text();
  ASSERT_EQ(traces->size(), 2U);
  const Trace &first = traces->at(0), &second = traces->at(1);
  ASSERT_EQ(first.lanes.size(), 2U);
  EXPECT_EQ(first.lanes[0].rank, 0);
  EXPECT_EQ(first.events[1].start_ns, 5000);  // rank 1, on rank 0's clock
  ASSERT_EQ(second.lanes.size(), 3U);
  EXPECT_EQ(second.metadata.at("ranks"), "3");
  EXPECT_EQ(second.metadata.at("clock_origin_ns"), std::to_string(kSecond * 1000));
}

// A step with a launch, its kernel and 1,024 bytes that are allocated.
std::string cycle(std::int64_t microseconds) {
  const auto event = [&](int later, const std::string& rest) {
    return "{\"ts\":" + std::to_string(microseconds + later) + "," + rest + "}";
  };
  return kineto_file(
      event(0,
            R"("ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":7,"tid":7,"dur":9)") +
      "," +
      event(
          1,
          R"("ph":"X","cat":"cuda_runtime","name":"launch","pid":7,"tid":7,"dur":1,"args":{"correlation":5})") +
      "," +
      event(
          3,
          R"("ph":"X","cat":"kernel","name":"k","pid":0,"tid":1,"dur":4,"args":{"correlation":5})") +
      "," +
      event(
          4,
          R"("ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":7,"tid":7,"args":{"Bytes":1024,"Addr":4096,"Device Id":0,"Device Type":1,"Total Allocated":1024,"Total Reserved":2048})"));
}

TEST(KinetoImport, CyclesOfOneProcessAreOneRank) {
  constexpr std::int64_t kFirst = 1'700'000'000'000'000, kSecond = kFirst + 20'000'000;
  const TemporaryFolder folder;
  const std::string first = folder.write("a_42.17.pt.trace.json", cycle(kFirst));
  const auto traces = import_kineto({folder.write("a_42.18.pt.trace.json", cycle(kSecond)), first});
  ASSERT_TRUE(traces) << traces.error().text();
  ASSERT_EQ(traces->size(), 1U);
  const Trace& trace = traces->at(0);
  EXPECT_EQ(trace.metadata.at("ranks"), "1");
  EXPECT_EQ(trace.lanes.size(), 2U) << "its thread and its stream go on";
  ASSERT_EQ(trace.steps.size(), 2U);
  EXPECT_EQ(trace.steps[0].step, 1);
  EXPECT_EQ(trace.steps[1].step, 2);
  EXPECT_EQ(text(trace, trace.steps[1].label), "ProfilerStep#1");
  ASSERT_EQ(trace.events.size(), 6U);
  const Event &launch = trace.events[3], &kernel = trace.events[5];
  EXPECT_EQ(kernel.start_ns, 20'000'003'000);
  EXPECT_EQ(kernel.step, 2);
  EXPECT_EQ(kernel.correlation, launch.correlation);
  EXPECT_NE(kernel.correlation, trace.events[4].correlation) << "the other cycle's kernel";
  EXPECT_TRUE(trace.complete);
  EXPECT_EQ(trace.complete_until_ns, 20'000'009'000);
  std::int64_t allocated = 0, reserved = 0, peak = 0;
  for (const MemoryEvent& event : trace.memory) {
    if (event.action == MemoryAction::alloc) allocated += event.bytes;
    if (event.action == MemoryAction::free_completed) allocated -= event.bytes;
    if (event.action == MemoryAction::segment_alloc) reserved += event.bytes;
    if (event.action == MemoryAction::segment_free) reserved -= event.bytes;
    peak = std::max(peak, allocated);
  }
  EXPECT_EQ(peak, 1024) << "what is left of a cycle is not added to what the next begins with";
  EXPECT_EQ(reserved, 2048);
}

TEST(KinetoImport, ProcessesThatOverlapOrDifferAreRanks) {
  constexpr std::int64_t kFirst = 1'700'000'000'000'000;
  const TemporaryFolder folder;
  const std::string first = folder.write("a_42.17.pt.trace.json", cycle(kFirst));
  for (const auto& [name, start] : {std::pair("a_42.18.pt.trace.json", kFirst + 5),
                                    std::pair("a_43.18.pt.trace.json", kFirst + 1000),
                                    std::pair("b_42.18.pt.trace.json", kFirst + 1000)}) {
    const auto traces = import_kineto({first, folder.write(name, cycle(start))});
    ASSERT_TRUE(traces) << traces.error().text();
    EXPECT_EQ(traces->at(0).metadata.at("ranks"), "2") << name;
  }
}

// A launch and its kernel, with the numbers that each process begins with.
std::string labelled_launch(const std::string& label, int launch, int kernel) {
  const auto event = [&](int at, const std::string& process, const std::string& rest) {
    return R"({"ph":"X","ts":)" + std::to_string(at) + R"(,"dur":2,"pid":"[)" + label + "] " +
           process + R"(",)" + rest + "}";
  };
  return event(
             launch, "40",
             R"("cat":"cuda_runtime","name":"cudaLaunchKernel","tid":4,"args":{"correlation":1})") +
         "," +
         event(
             kernel, "0",
             R"("cat":"kernel","name":"k","tid":7,"args":{"device":0,"stream":7,"correlation":1})");
}

// Files that do not tell their rank are of one run, or of a run each where that is asked for; what is in one file
// is of one run in any case.
TEST(KinetoImport, FilesWithoutARankAreNumberedUnlessTheyAreToStayApart) {
  const std::string head = R"({"schemaVersion":1,"traceEvents":[)";
  const TemporaryFolder folder;
  const std::vector<std::string> files{
      folder.write("before.json", head + labelled_launch("TP01", 100, 105) + "," +
                                      labelled_launch("TP00", 50, 150) + "]}"),
      folder.write("after.json", head + labelled_launch("TP00", 50, 150) + "]}")};
  ImportOptions options;
  for (const bool numbers_ranks : {true, false}) {
    options.numbers_ranks = numbers_ranks;
    const auto traces = import_kineto(files, options);
    ASSERT_TRUE(traces) << traces.error().text();
    std::multiset<std::string> ranks;
    for (const Trace& trace : *traces) ranks.insert(trace.metadata.at("ranks"));
    EXPECT_EQ(ranks, numbers_ranks ? std::multiset<std::string>{"3"}
                                   : (std::multiset<std::string>{"1", "2"}));
  }
}

TEST(KinetoImport, LabelledProcessesOfAMergedFileAreRanks) {
  const std::string merged = R"({"schemaVersion":1,"traceEvents":[)" +
                             labelled_launch("TP01", 100, 105) + "," +
                             labelled_launch("TP00", 50, 150) + "]}";
  const TemporaryFolder folder;
  const auto traces = import_kineto({folder.write("merged-rank3.json", merged)});
  ASSERT_TRUE(traces) << traces.error().text();
  ASSERT_EQ(traces->size(), 1U);
  const Trace& trace = traces->at(0);
  EXPECT_EQ(trace.metadata.at("ranks"), "2");
  EXPECT_EQ(trace.metadata.at("files").find('\n'), std::string::npos) << "it is one file";
  std::map<std::int32_t, std::map<EventKind, std::int64_t>> starts;
  for (const Event& event : trace.events) {
    starts[trace.lanes[static_cast<std::size_t>(event.lane)].rank][event.kind] = event.start_ns;
  }
  ASSERT_EQ(starts.size(), 2U);
  EXPECT_EQ(starts[0][EventKind::compute] - starts[0][EventKind::runtime], 100 * kMicrosecond);
  EXPECT_EQ(starts[1][EventKind::compute] - starts[1][EventKind::runtime], 5 * kMicrosecond);
}

TEST(KinetoImport, RanksComeFromNamesOrFromOrder) {
  const TemporaryFolder folder;
  const auto traces = import_kineto({folder.write("x-rank-7.json", one_event(4, "")),
                                     folder.write("one.json", one_event(5, "")),
                                     folder.write("rank_not_known.json", one_event(3, ""))});
  ASSERT_TRUE(traces) << traces.error().text();
  ASSERT_EQ(traces->size(), 1U);
  std::vector<std::int32_t> ranks;
  for (const Lane& lane : traces->at(0).lanes) ranks.push_back(lane.rank);
  EXPECT_EQ(ranks, (std::vector<std::int32_t>{0, 1, 7}));
}

}  // namespace
}  // namespace foreshard::traces
