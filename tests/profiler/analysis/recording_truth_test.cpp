// What is said of recordings of GPUs against facts that were counted from the files alone, by a program that shares
// nothing with ours: unions of the intervals of device events, of those whose names are those of NCCL, of DeepEP or
// of multimem kernels, and of what ran later than 0.1 ms after the last launch, when nothing but the device can be on
// the critical path. Recordings of others are looked for beside the project.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "profiler/analysis/analysis.hpp"
#include "tests/outside_data.hpp"
#include "traces/open/read_trace.hpp"

namespace foreshard::profiler {
namespace {

struct Facts {
  const char* file;
  bool ships;
  std::int64_t device_events;
  double span_ms, busy_ms, communication_ms;
  std::ptrdiff_t groups;     // process groups that collectives name
  double after_launches_ms;  // device work after the last launch
  bool is_one_stretch;       // no steps are marked: the critical path is the span's
};

std::ostream& operator<<(std::ostream& out, const Facts& facts) {
  return out << facts.file;
}

constexpr Facts kFacts[] = {
    {"pytorch_gpu/h100/kineto/1b_w1.json.gz", true, 2331, 168.252, 127.015, 0, 0, 23.685, true},
    {"pytorch_gpu/h100/kineto/1b_w1_compile.json.gz", true, 2203, 181.321, 123.824, 0, 0, 24.282,
     true},
    {"pytorch_gpu/h100/kineto/1b_w1_hf.json.gz", true, 3336, 213.017, 144.103, 0, 0, 26.608, true},
    {"pytorch_gpu/h100/kineto/1b_w1_s512_b1.json.gz", true, 2255, 220.637, 68.669, 0, 0, 21.424,
     true},
    {"pytorch_gpu/h100/kineto/1b_w8.json.gz", true, 1401, 153.309, 88.147, 0, 0, 0.690, true},
    {"pytorch_gpu/h100/kineto/70b_4l_w64.json.gz", true, 489, 247.280, 244.855, 0, 0, 180.220,
     true},
    {"pytorch_gpu/h100/kineto/8b_w8.json.gz", true, 3569, 496.304, 487.358, 0, 0, 118.241, true},
    {"pytorch_gpu/h100/kineto/8b_w8_compile.json.gz", true, 3281, 486.703, 477.068, 0, 0, 125.099,
     true},
    {"pytorch_gpu/h200/kineto/1b_w1.json.gz", true, 2331, 154.097, 107.709, 0, 0, 19.172, true},
    {"pytorch_gpu/h200/kineto/8b_w8.json.gz", true, 3569, 469.058, 460.255, 0, 0, 105.906, true},
    {"drawn_gpu/rank0.json.gz", true, 78, 3.279, 3.262, 1.195, 1, 1.167, false},
    {"deepseek_h800_rank0_of_64.json.gz", false, 983, 129.012, 128.515, 113.440, 0, 17.473, false},
    {"h100_qwen.json.gz", false, 1707, 49.653, 45.647, 0, 0, 2.195, false},
    {"b200_eager_overlapping_kernels.json.gz", false, 929, 84.487, 11.596, 2.142, 1, 0, true},
    {"hta/trace_diff/control.json.gz", false, 9450, 464.594, 388.587, 163.535, 0, 0, false},
    {"hta/nccl_parser_config/nccl_data.json.gz", false, 3774, 660.551, 157.500, 46.876, 1, 0.139,
     false},
};

std::filesystem::path place_of(const Facts& facts) {
  if (facts.ships)
    return std::filesystem::path(FORESHARD_SOURCE_DIR "/traces/samples") / facts.file;
  return tests::outside_data(std::string("traces/kineto/") + facts.file);
}

double milliseconds_of(std::int64_t ns) {
  return static_cast<double>(ns) / 1e6;
}

std::string name_of(const testing::TestParamInfo<Facts>& info) {
  std::string name = info.param.file;
  name = name.substr(0, name.find(".json"));
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

class RecordingTruth : public testing::TestWithParam<Facts> {};

TEST_P(RecordingTruth, IsWhatTheFileSays) {
  const Facts& facts = GetParam();
  const std::filesystem::path file = place_of(facts);
  if (!facts.ships && !std::filesystem::exists(file)) GTEST_SKIP() << tests::missing(file);
  const auto trace = traces::read_trace(file.string());
  ASSERT_TRUE(trace) << trace.error().text();
  const Analysis analysis = analyse(*trace);
  ASSERT_EQ(analysis.ranks.size(), 1U);
  const TimeBreakdown& time = analysis.ranks[0].time;
  EXPECT_EQ(time.device_events, facts.device_events);
  EXPECT_NEAR(milliseconds_of(time.span_ns), facts.span_ms, 0.002);
  EXPECT_NEAR(milliseconds_of(time.span_ns - time.idle_ns), facts.busy_ms, 0.01);
  EXPECT_NEAR(milliseconds_of(time.communication_ns), facts.communication_ms, 0.01 * facts.span_ms);
  const auto named = std::count_if(analysis.groups.begin(), analysis.groups.end(),
                                   [](const GroupWaits& group) { return !group.name.empty(); });
  EXPECT_EQ(named, facts.groups);

  std::int64_t on_device = 0;
  for (const PathPart& part : analysis.path.parts) {
    const bool is_work =
        part.kind == "compute" || part.kind == "communication" || part.kind == "memory";
    if (is_work) on_device += part.ns;
  }
  EXPECT_GE(milliseconds_of(on_device), facts.after_launches_ms - 0.02 * facts.span_ms);
  if (facts.is_one_stretch) {
    EXPECT_LE(milliseconds_of(on_device), facts.busy_ms + 0.02 * facts.span_ms);
  }
  // Where the device hardly ever stood still, nothing but its work can be what takes the time.
  if (facts.busy_ms > 0.95 * facts.span_ms) {
    EXPECT_GT(on_device, (analysis.path.end_ns - analysis.path.start_ns) / 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Recordings, RecordingTruth, testing::ValuesIn(kFacts), name_of);

}  // namespace
}  // namespace foreshard::profiler
