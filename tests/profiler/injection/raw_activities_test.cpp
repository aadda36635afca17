// Files of profiled processes: what is written is read again, whole or cut short, and becomes a trace
// with the names and kinds that importers give.
#include "profiler/injection/raw_activities.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include <gtest/gtest.h>

#include "profiler/injection/activity_tables.hpp"
#include "tests/temporary_folder.hpp"

namespace foreshard::profiler {
namespace {

using tests::TemporaryFolder;
using traces::EventKind;

constexpr std::uint32_t kThread = 4001;

Activity call(const char* name, std::int64_t start, std::int64_t end, std::uint32_t correlation) {
  Activity a;
  a.kind = ActivityKind::runtime_call;
  a.name = name;
  a.start_ns = start;
  a.end_ns = end;
  a.thread = kThread;
  a.correlation = correlation;
  return a;
}

Activity kernel(const char* name, std::int64_t start, std::int64_t end, std::uint32_t correlation) {
  Activity a;
  a.kind = ActivityKind::kernel;
  a.name = name;
  a.start_ns = start;
  a.end_ns = end;
  a.stream = 7;
  a.context = 1;
  a.correlation = correlation;
  return a;
}

Activity marker(std::uint32_t flags, std::uint64_t id, std::int64_t at, const char* name) {
  Activity a;
  a.kind = ActivityKind::marker;
  a.detail = flags;
  a.id = id;
  a.start_ns = a.end_ns = at;
  a.thread = kThread;
  a.name = name;
  return a;
}

// One step: a kernel of the program's and one of NCCL's, each within a range.
std::vector<Activity> step() {
  return {marker(2, 1, 1000, "forward"),
          call("cudaLaunchKernel_v7000", 1100, 1200, 1),
          marker(4, 1, 1300, nullptr),
          call("cudaLaunchKernelExC_v11060", 1400, 1500, 2),
          call("cudaStreamSynchronize_v3020", 1600, 2600, 3),
          kernel("_Z3addPf", 1500, 1900, 1),
          kernel("_Z31ncclDevKernel_AllGather_RING_LLv", 1950, 2500, 2),
          marker(2, 2, 2700, "never ends")};
}

std::string write(const TemporaryFolder& folder, bool finishes = true) {
  const std::string path = folder.path("1.activities");
  RawActivityWriter writer(path, {{"rank", "3"}, {"utc_of_clock_ns", "1700000000000000000"}});
  const auto all = step();
  writer.take(std::span(all).first(4));
  writer.dropped(5);
  writer.take(std::span(all).subspan(4));
  if (finishes) writer.finish();
  return path;
}

TEST(RawActivities, ComeBackAsTheyWere) {
  const TemporaryFolder folder;
  const auto raw = read_raw_activities(write(folder)).value();
  const auto all = step();
  ASSERT_EQ(raw.activities.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Activity &read = raw.activities[i], &written = all[i];
    EXPECT_EQ(read.kind, written.kind);
    EXPECT_EQ(read.start_ns, written.start_ns);
    EXPECT_EQ(read.end_ns, written.end_ns);
    EXPECT_EQ(read.correlation, written.correlation);
    EXPECT_STREQ(read.name, written.name);
  }
  EXPECT_EQ(raw.header.at("rank"), "3");
  EXPECT_TRUE(raw.is_complete);
  ASSERT_EQ(raw.dropped.size(), 1u);
  EXPECT_EQ(raw.dropped[0], std::pair(std::int64_t{1500}, std::int64_t{5}));
}

TEST(RawActivities, AreReadAsFarAsTheyGo) {
  const TemporaryFolder folder;
  const std::string path = write(folder, false);
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::size_t most = 0;
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const auto raw = read_raw_activities(folder.write("cut", bytes.substr(0, size)));
    if (!raw) {
      EXPECT_LT(size, 32u);
      continue;
    }
    EXPECT_FALSE(raw->is_complete);
    EXPECT_TRUE(raw->activities.empty() || raw->activities.size() == 4 ||
                raw->activities.size() == 8);
    EXPECT_GE(raw->activities.size(), most);
    most = raw->activities.size();
  }
  EXPECT_EQ(most, 8u);
}

TEST(RawActivities, BecomeATraceAsImportsDo) {
  const TemporaryFolder folder;
  std::vector<RawActivities> processes;
  processes.push_back(read_raw_activities(write(folder)).value());
  const auto trace = trace_of_activities(processes, folder.path("tables")).value();
  std::map<std::string, traces::Event> events;
  for (const traces::Event& e : trace.events) events[trace.strings[e.name]] = e;
  ASSERT_EQ(events.size(), 7u);
  EXPECT_EQ(events.at("cudaLaunchKernel").kind, EventKind::runtime);
  EXPECT_EQ(events.at("cudaStreamSynchronize").kind, EventKind::host_wait);
  EXPECT_EQ(events.at("forward").kind, EventKind::range);
  EXPECT_EQ(events.at("forward").end_ns - events.at("forward").start_ns, 300);
  EXPECT_EQ(events.at("add(float*)").kind, EventKind::compute);
  EXPECT_EQ(trace.strings[events.at("add(float*)").phase], "forward");
  for (const auto& [name, event] : events) {
    const bool is_collective = name.starts_with("ncclDevKernel");
    EXPECT_EQ(event.kind == EventKind::communication, is_collective) << name;
  }
  EXPECT_EQ(events.at("never ends").end_ns, 2700 - 1000);
  EXPECT_EQ(trace.dropped_ranges.size(), 1u);
  EXPECT_EQ(trace.dropped_ranges[0].start_ns, 500);  // since the first event
  EXPECT_EQ(trace.metadata.at("source"), "cupti");
  EXPECT_EQ(trace.metadata.at("start_utc_ns"), "1700000000000001000");
  EXPECT_TRUE(trace.complete);
}

TEST(RawActivities, OfAKilledProcessAreCompleteUntilItsLast) {
  const TemporaryFolder folder;
  std::vector<RawActivities> processes;
  processes.push_back(read_raw_activities(write(folder, false)).value());
  const auto trace = trace_of_activities(processes, folder.path("tables")).value();
  EXPECT_FALSE(trace.complete);
  EXPECT_EQ(trace.complete_until_ns, 1700);
}

TEST(RawActivities, OfImpossibleTimesBecomeATrace) {
  constexpr auto kFirst = std::numeric_limits<std::int64_t>::min(),
                 kLast = std::numeric_limits<std::int64_t>::max();
  const TemporaryFolder folder;
  std::vector<RawActivities> processes(1);
  Activity overhead = kernel("", kFirst, kLast, 0);
  overhead.kind = ActivityKind::overhead;
  processes[0].activities = {overhead, overhead, kernel("a", 10, 20, 1),
                             call("b", kLast, kFirst, 1)};
  processes[0].dropped = {{kFirst, 1}, {kLast, 1}};
  processes[0].header["utc_of_clock_ns"] = std::to_string(kFirst);
  const auto trace = trace_of_activities(processes, folder.path("tables")).value();
  EXPECT_EQ(trace.events.size(), 1u);
  EXPECT_GT(std::stoll(trace.metadata.at("cupti_overhead_ns")), 0);
}

}  // namespace
}  // namespace foreshard::profiler
