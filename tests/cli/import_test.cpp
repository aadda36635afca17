// `foreshard import` from outside: what it writes, what it prints, and what it refuses.
#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

using nlohmann::json;

// One rank: an operator that launches a kernel, and a collective beside it.
std::string kineto(int rank) {
  const json trace = {{"schemaVersion", 1},
                      {"distributedInfo", {{"backend", "nccl"}, {"rank", rank}, {"world_size", 2}}},
                      {"baseTimeNanoseconds", 1'700'000'000'000'000'000},
                      {"traceEvents",
                       {{{"ph", "X"},
                         {"cat", "cpu_op"},
                         {"name", "aten::mm"},
                         {"pid", 7},
                         {"tid", 7},
                         {"ts", 10.5},
                         {"dur", 20.25},
                         {"args", {{"External id", 3}}}},
                        {{"ph", "X"},
                         {"cat", "cuda_runtime"},
                         {"name", "cudaLaunchKernel"},
                         {"pid", 7},
                         {"tid", 7},
                         {"ts", 12},
                         {"dur", 5},
                         {"args", {{"correlation", 9}, {"External id", 3}}}},
                        {{"ph", "X"},
                         {"cat", "kernel"},
                         {"name", "gemm"},
                         {"pid", rank},
                         {"tid", 7},
                         {"ts", 20},
                         {"dur", 30.5},
                         {"args", {{"correlation", 9}, {"device", rank}, {"stream", 7}}}},
                        {{"ph", "X"},
                         {"cat", "kernel"},
                         {"name", "ncclDevKernel_AllGather_RING_LL(x)"},
                         {"pid", rank},
                         {"tid", 20},
                         {"ts", 40},
                         {"dur", 20},
                         {"args", {{"correlation", 10}, {"device", rank}, {"stream", 20}}}}}}};
  return trace.dump();
}

TEST(Import, MakesOneTraceOfAFolderOfRanks) {
  const Workplace place;
  place.write("traces/rank0.json", kineto(0));
  place.write("traces/rank1.json", kineto(1));
  const json imported =
      place.run_json({"import", "kineto", "traces", "-o", "both.fst"}).at("traces");
  ASSERT_EQ(imported.size(), 1u);
  EXPECT_EQ(imported[0].at("ranks"), 2);
  EXPECT_EQ(imported[0].at("device_events"), 4);
  EXPECT_EQ(imported[0].at("complete"), true);
  const json inspected = place.run_json({"inspect", "both.fst"});
  ASSERT_EQ(inspected.at("ranks").size(), 2u);
  const json& rank = inspected["ranks"][1];
  EXPECT_EQ(rank.at("span_ns"), 40'000);
  EXPECT_EQ(rank.at("compute_ns"), 30'500);
  EXPECT_EQ(rank.at("overlap_ns"), 10'500);
  EXPECT_EQ(rank.at("exposed_communication_ns"), 9'500);
}

TEST(Import, TwoRunsBecomeTwoTraces) {
  const Workplace place;
  for (const char* name : {"a/rank0.json", "a/rank1.json", "b/rank0.json", "b/rank1.json"}) {
    place.write(name, kineto(name[6] - '0'));
  }
  const json imported =
      place.run_json({"import", "kineto", "a", "b", "-o", "runs.fst"}).at("traces");
  ASSERT_EQ(imported.size(), 2u);
  EXPECT_EQ(imported[0].at("trace"), "runs.fst");
  EXPECT_EQ(imported[1].at("trace"), "runs.2.fst");
  EXPECT_EQ(place.run_json({"inspect", "runs.2.fst"}).at("ranks").size(), 2u);
}

TEST(Import, TakesBackWhatExportWrote) {
  const Workplace place;
  place.run_json(job("train", 2, {"--steps", "3", "--trace", "run.fst"}));
  ASSERT_EQ(place.run({"export", "run.fst", "--perfetto", "run.json"}).status, 0);
  place.run_json({"import", "kineto", "run.json", "-o", "again.fst"});
  EXPECT_EQ(place.run_json({"inspect", "run.fst"}), place.run_json({"inspect", "again.fst"}));
}

TEST(Import, IsWhatExportOfARecordingWrites) {
  const Workplace place;
  place.write("recording.json", kineto(0));
  place.run_json({"import", "kineto", "recording.json", "-o", "imported.fst"});
  ASSERT_EQ(place.run({"export", "recording.json", "--fst", "exported.fst"}).status, 0);
  const std::vector<std::string> events = {"SELECT * FROM EVENTS", "SELECT * FROM STEPS"};
  for (const std::string& query : events) {
    EXPECT_EQ(place.run_json({"query", "imported.fst", query}),
              place.run_json({"query", "exported.fst", query}));
  }
}

TEST(Import, ReadsACutFileToTheCut) {
  const Workplace place;
  const std::string whole = kineto(0);
  place.write("cut.json", whole.substr(0, whole.find("ncclDevKernel")));
  const json imported =
      place.run_json({"import", "kineto", "cut.json", "-o", "cut.fst"}).at("traces");
  EXPECT_EQ(imported[0].at("complete"), false);
  EXPECT_GE(imported[0].at("events"), 1);
}

TEST(Import, RefusesWhatIsNoRecording) {
  const Workplace place;
  const auto before = place.files();
  const std::vector<std::vector<std::string>> bad = {
      {"kineto", "missing.json"}, {"kineto", "plan.toml"},   {"nsys", "plan.toml"},
      {"snapshot", "plan.toml"},  {"perfetto", "plan.toml"}, {"snapshot", "plan.toml", "model"}};
  for (const auto& words : bad) {
    std::vector<std::string> arguments = {"import", "-o", "out.fst"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const Outcome outcome = place.run(arguments);
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("foreshard: error: ")) << outcome.err;
    EXPECT_NE(outcome.err.find(words[0] == "perfetto" ? "kineto"
                               : words.size() > 2     ? "model"
                                                      : words[1]),
              std::string::npos)
        << outcome.err;
  }
  EXPECT_EQ(place.files(), before);
}

}  // namespace
}  // namespace foreshard::cli_tests
