// Recordings against a count by a program that shares nothing with the importer (count_kineto.py):
// our own samples, and those of others where they lie beside the project. Without Python nothing is
// counted.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/outside_data.hpp"
#include "tests/temporary_folder.hpp"
#include "traces/import.hpp"
#include "traces/metadata.hpp"

namespace foreshard::traces {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::string kRecordings = tests::outside_data("traces/kineto").string();
const std::string kSamples = FORESHARD_SOURCE_DIR "/traces/samples";

std::vector<std::string> recordings() {
  std::vector<std::string> files;
  for (const std::string& folder : {kSamples, kRecordings}) {
    std::error_code error;
    for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; ++at) {
      if (at->path().string().ends_with(".json.gz")) files.push_back(at->path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string output_of(const std::string& command) {
  struct Close {
    void operator()(std::FILE* pipe) const { pclose(pipe); }
  };
  const std::unique_ptr<std::FILE, Close> pipe(popen(command.c_str(), "r"));
  std::string out;
  std::array<char, 4096> part{};
  while (pipe) {
    const std::size_t size = std::fread(part.data(), 1, part.size(), pipe.get());
    if (size == 0) break;
    out.append(part.data(), size);
  }
  return out;
}

// The counts of each file, empty where they cannot be had.
std::map<std::string, Json> counts(const std::vector<std::string>& files) {
  const std::string counter = FORESHARD_SOURCE_DIR "/tests/traces/kineto/count_kineto.py";
  EXPECT_TRUE(fs::exists(counter)) << counter;  // only Python may be missing
  std::string command = "python3 '" + counter + "'";
  for (const std::string& file : files) command += " '" + file + "'";
  const std::string lines = output_of(command + " 2>/dev/null");
  std::map<std::string, Json> out;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    const Json count = Json::parse(lines.substr(at, end - at));
    out[count.at("file")] = count;
    at = end + 1;
  }
  return out;
}

struct Levels {
  std::int64_t level = 0, peak = 0, allocated = 0, reserved = 0, most_reserved = 0;
};

Levels replay(const Trace& trace, bool on_host) {
  Levels out;
  for (const MemoryEvent& event : trace.memory) {
    if (event.on_host != on_host) continue;
    const bool is_recorded = trace.strings[event.category] != "before the recording";
    switch (event.action) {
      case MemoryAction::alloc:
        out.level += event.bytes;
        if (is_recorded) out.allocated += event.bytes;
        break;
      case MemoryAction::free_requested: out.level -= event.bytes; break;
      case MemoryAction::segment_alloc: out.reserved += event.bytes; break;
      case MemoryAction::segment_free: out.reserved -= event.bytes; break;
      default: break;
    }
    if (event.action == MemoryAction::free_requested || is_recorded) {
      out.peak = std::max(out.peak, out.level);
    }
    out.most_reserved = std::max(out.most_reserved, out.reserved);
  }
  return out;
}

void compare(const Trace& trace, const Json& want) {
  const std::int64_t origin = integer(trace.metadata, "clock_origin_ns", 0);
  std::int64_t device_events = 0, kernels = 0, collectives = 0, kernel_ns = 0;
  std::int64_t first = INT64_MAX, device_first = INT64_MAX, device_last = INT64_MIN;
  for (const Event& event : trace.events) {
    first = std::min(first, event.start_ns + origin);
    if (!trace.lanes[static_cast<std::size_t>(event.lane)].device) continue;
    if (!is_device_work(event.kind)) continue;
    ++device_events;
    device_first = std::min(device_first, event.start_ns + origin);
    device_last = std::max(device_last, event.end_ns + origin);
    if (event.kind == EventKind::memory) continue;
    ++kernels;
    collectives += event.kind == EventKind::communication ? 1 : 0;
    kernel_ns += event.end_ns - event.start_ns;
  }
  EXPECT_TRUE(trace.complete);
  EXPECT_FALSE(trace.lanes.empty());
  EXPECT_EQ(trace.events.size(), want.at("events").get<std::size_t>());
  EXPECT_EQ(device_events, want.at("device_events"));
  EXPECT_EQ(kernels, want.at("kernels"));
  EXPECT_EQ(collectives, want.at("collectives"));
  EXPECT_EQ(kernel_ns, want.at("kernel_ns"));
  EXPECT_EQ(first, want.at("first_ns"));
  if (device_events > 0) {
    EXPECT_EQ(device_first, want.at("device_first_ns"));
    EXPECT_EQ(device_last, want.at("device_last_ns"));
  }
  EXPECT_EQ(trace.steps.size(), want.at("steps").size());
  for (const Step& step : trace.steps) {
    const Json& times = want.at("steps").at(std::to_string(step.step));
    EXPECT_EQ(step.start_ns + origin, times.at(0));
    EXPECT_EQ(step.end_ns + origin, times.at(1));
  }
  for (const auto& [where, totals] : want.at("memory").items()) {
    const Levels levels = replay(trace, where == "host");
    EXPECT_EQ(levels.level, totals.at("last")) << where;
    EXPECT_EQ(levels.peak, totals.at("peak")) << where;
    EXPECT_EQ(levels.allocated, totals.at("allocated")) << where;
    EXPECT_EQ(levels.most_reserved, totals.at("reserved")) << where;
  }
}

TEST(KinetoRecordings, EqualAnIndependentCount) {
  const std::vector<std::string> files = recordings();
  ASSERT_GE(files.size(), 4U);
  const auto expected = counts(files);
  if (expected.empty()) GTEST_SKIP() << "needs python3 to count them independently";
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    const auto traces = import_kineto({file});
    ASSERT_TRUE(traces) << traces.error().text();
    ASSERT_EQ(traces->size(), 1U);
    compare(traces->at(0), expected.at(file));
  }
}

// A recording of two ranks and the same once more.
TEST(KinetoRecordings, RanksThatOccurTwiceAreTwoRuns) {
  const tests::TemporaryFolder folder;
  for (const char* run : {"a", "b"}) {
    for (const char* rank : {"rank0.json.gz", "rank1.json.gz"}) {
      fs::copy(kSamples + "/pytorch_cpu/" + rank, folder.path(std::string(run) + "_" + rank));
    }
  }
  const auto traces = import_kineto({folder.path()});
  ASSERT_TRUE(traces) << traces.error().text();
  ASSERT_EQ(traces->size(), 2U);
  for (const Trace& trace : *traces) {
    const std::string& files = trace.metadata.at("files");
    EXPECT_NE(files.find("rank0"), std::string::npos) << files;
    EXPECT_NE(files.find("rank1"), std::string::npos) << files;
    std::set<std::int32_t> ranks;
    for (const Lane& lane : trace.lanes) ranks.insert(lane.rank);
    EXPECT_EQ(ranks, (std::set<std::int32_t>{0, 1}));
  }
}

TEST(KinetoRecordings, TwoRunsInOneFolder) {
  const std::string folder = kRecordings + "/torchrec/sst_long_a2a_optimizer_2";
  if (!fs::exists(folder)) GTEST_SKIP() << tests::missing(folder);
  const auto traces = import_kineto({folder});
  ASSERT_TRUE(traces) << traces.error().text();
  ASSERT_EQ(traces->size(), 2U);
  for (std::size_t run = 0; run < 2; ++run) {
    const Trace& trace = traces->at(run);
    const std::string& files = trace.metadata.at("files");
    EXPECT_EQ(std::count(files.begin(), files.end(), '\n'), 3);
    EXPECT_EQ(files.find(run == 0 ? "internal_266" : "internal_240"), std::string::npos);
    std::map<std::int32_t, int> ranks;
    for (const Lane& lane : trace.lanes) ++ranks[lane.rank];
    EXPECT_EQ(ranks.size(), 4U);
  }
}

// Of two ranks and two steps: four projections a layer and the head.
TEST(KinetoRecordings, FsdpRangesOfTheSampleGiveUnits) {
  const auto traces = import_kineto({kSamples + "/pytorch_cpu"});
  ASSERT_TRUE(traces) << traces.error().text();
  ASSERT_EQ(traces->size(), 1U);
  const Trace& trace = traces->at(0);
  std::map<std::string, int> products, collectives;  // by unit
  for (const Event& event : trace.events) {
    const std::string &name = trace.strings[event.name], &unit = trace.strings[event.unit];
    if (name == "aten::mm") {
      const std::string& key = trace.strings[event.cost_key];
      ++products[unit + " " + key.substr(0, key.find(' '))];
    }
    if (name.starts_with("gloo:")) ++collectives[unit + " " + trace.strings[event.phase]];
  }
  std::map<std::string, int> expected;
  for (const char* op : {"matmul", "matmul_input_gradient", "matmul_weight_gradient"}) {
    expected[std::string("layers.0 ") + op] = 2 * 2 * 4;
    expected[std::string("root ") + op] = 2 * 2;
  }
  EXPECT_EQ(products, expected);
  // Gathered in forward, and the layer again in backward; reduced in backward.
  const std::map<std::string, int> of_units = {
      {"layers.0 forward", 4}, {"layers.0 backward", 8}, {"root forward", 4}, {"root backward", 4}};
  EXPECT_EQ(collectives, of_units);
}

TEST(KinetoRecordings, FsdpRangesGiveUnitsAndPhases) {
  const std::string folder = kRecordings + "/pytorch211_cpu_fsdp2_gloo/fp32";
  if (!fs::exists(folder)) GTEST_SKIP() << tests::missing(folder);
  const auto traces = import_kineto({folder});
  ASSERT_TRUE(traces) << traces.error().text();
  ASSERT_EQ(traces->size(), 1U);
  const Trace& trace = traces->at(0);
  std::map<std::string, int> products;  // by unit and operator
  for (const Event& event : trace.events) {
    if (trace.strings[event.name] != "aten::mm") continue;
    const std::string& key = trace.strings[event.cost_key];
    ++products[trace.strings[event.unit] + " " + key.substr(0, key.find(' '))];
  }
  // Of two ranks and three steps, seven projections a layer and the head; recomputed nowhere.
  std::map<std::string, int> expected;
  for (const char* unit : {"model.layers.0", "model.layers.1", "model.layers.2", "root"}) {
    const int count = 2 * 3 * (std::string(unit) == "root" ? 1 : 7);
    for (const char* op : {"matmul", "matmul_input_gradient", "matmul_weight_gradient"}) {
      expected[std::string(unit) + " " + op] = count;
    }
  }
  EXPECT_EQ(products, expected);
  // gloo's own threads: per rank and step 7 all-gathers, 4 reductions of gradients, 1 of the norm,
  // which belongs to no unit.
  std::map<std::string, int> collectives;
  for (const Event& event : trace.events) {
    if (!trace.strings[event.name].starts_with("gloo:")) continue;
    ++collectives[trace.strings[event.unit] + " " + trace.strings[event.phase]];
  }
  EXPECT_EQ(collectives["root forward"], 6);
  EXPECT_EQ(collectives["root backward"], 6);
  for (const char* layer : {"model.layers.0", "model.layers.1", "model.layers.2"}) {
    EXPECT_EQ(collectives[std::string(layer) + " forward"], 6) << layer;
    EXPECT_EQ(collectives[std::string(layer) + " backward"], 12) << layer;
  }
}

}  // namespace
}  // namespace foreshard::traces
