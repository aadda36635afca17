// Chrome JSON and CSV: well-formed whatever the names are, and no figure lost.
#include <locale>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/traces/sample_trace.hpp"
#include "traces/export/chrome_export.hpp"
#include "traces/export/csv_export.hpp"

namespace foreshard::traces {
namespace {

nlohmann::json chrome(const Trace& trace) {
  std::ostringstream out;
  write_chrome(trace, out);
  return nlohmann::json::parse(out.str());
}

TEST(ChromeExport, HoldsEveryEventWithItsTimes) {
  const Trace trace = sample_trace();
  const auto json = chrome(trace);
  std::map<std::string, int> phases;
  for (const auto& e : json["traceEvents"]) ++phases[e["ph"].get<std::string>()];
  EXPECT_EQ(phases["X"], 18);  // 3 steps x 2 ranks x (range, host, device)
  EXPECT_EQ(phases["C"], 22);  // each of 18 memory events changes a counter, and 4 samples
  EXPECT_EQ(phases["s"], 6);   // an arrow for each matmul
  EXPECT_EQ(phases["f"], 6);
  const auto event = std::find_if(json["traceEvents"].begin(), json["traceEvents"].end(),
                                  [](const auto& e) { return e.value("cat", "") == "compute"; });
  // Step 1: 1,000,100 ns to 1,700,000 ns.
  EXPECT_DOUBLE_EQ((*event)["ts"], 1000.1);
  EXPECT_DOUBLE_EQ((*event)["dur"], 699.9);
  EXPECT_EQ((*event)["pid"], 0);
  EXPECT_EQ((*event)["args"]["stable_key"], "steady/0/forward/model.layers.0/matmul/0");
}

TEST(ChromeExport, CountersFollowTheAllocator) {
  const auto json = chrome(sample_trace());
  std::vector<std::pair<std::int64_t, std::int64_t>> levels;  // of rank 0
  for (const auto& e : json["traceEvents"]) {
    if (e["ph"] == "C" && e["pid"] == 0 && e["name"] == "device memory") {
      levels.emplace_back(e["args"]["allocated"], e["args"]["reserved"]);
    }
  }
  // Each step reserves another 2 MiB, allocates 1024 bytes of it and frees them.
  constexpr std::int64_t kSegment = 2 << 20;
  const std::vector<std::pair<std::int64_t, std::int64_t>> expected{
      {0, kSegment},     {1024, kSegment},     {0, kSegment},
      {0, 2 * kSegment}, {1024, 2 * kSegment}, {0, 2 * kSegment},
      {0, 3 * kSegment}, {1024, 3 * kSegment}, {0, 3 * kSegment}};
  EXPECT_EQ(levels, expected);
}

TEST(ChromeExport, SamplesAreNamedByTheirUnit) {
  const auto json = chrome(sample_trace());
  std::vector<std::pair<double, double>> samples;
  for (const auto& e : json["traceEvents"]) {
    if (e["ph"] != "C" || e["name"] != "SMs Active") continue;
    EXPECT_EQ(e["pid"], 0);
    samples.emplace_back(e["ts"], e["args"]["%"]);
  }
  const std::vector<std::pair<double, double>> expected{{1000, 12.5}, {2100, 99}};
  EXPECT_EQ(samples, expected);
}

TEST(ChromeExport, EscapesWhateverANameHolds) {
  Trace trace = sample_trace();
  const std::string nasty("quote\" back\\slash \n\t\x01 ü € 😀 \xff\xC0\xAF\xED\xA0\x80", 41);
  trace.events.update_all([&](Event& e) { e.name = trace.strings.intern(nasty); });
  const auto json = chrome(trace);
  for (const auto& e : json["traceEvents"]) {
    if (e["ph"] != "X") continue;
    const std::string name = e["name"];
    EXPECT_TRUE(name.starts_with("quote\" back\\slash \n\t\x01 ü € 😀 ")) << name;
    EXPECT_NE(name.find("\xEF\xBF\xBD"), std::string::npos);
  }
}

// A locale that would write 1.000,1 for a thousand and a tenth.
struct German : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(Export, IsTheSameInEveryLocale) {
  const Trace trace = sample_trace();
  const auto all = [&] {
    std::ostringstream out;
    write_chrome(trace, out);
    write_events_csv(trace, out);
    write_memory_csv(trace, out);
    write_steps_csv(trace, out);
    return out.str();
  };
  const std::string plain = all();
  const std::locale before = std::locale::global(std::locale(std::locale(), new German));
  const std::string german = all();
  std::locale::global(before);
  EXPECT_EQ(plain, german);
}

TEST(CsvExport, QuotesWhatMustBe) {
  Trace trace = sample_trace();
  trace.events.truncate(1);
  trace.events.update(0, [&](Event& e) {
    e.name = trace.strings.intern("a,\"b\"\nc");
    e.cost_source = CostSource::fitted;
    e.cost_error = 0.5F;
  });
  std::ostringstream out;
  write_events_csv(trace, out);
  EXPECT_EQ(out.str(),
            "rank,lane,device,step,micro_step,kind,name,phase,unit,start_ns,end_ns,cpu_ns,bytes,"
            "instruction,stable_key,cost_key,correlation,cost_source,cost_error,process_group,"
            "sequence\n0,host,0,1,0,range,\"a,\"\"b\"\"\nc\",forward,,1000000,1900000,,0,3,,,,"
            "fitted,0.5,,\n");
}

TEST(CsvExport, HoldsOnlyWhatPandasReads) {
  Trace trace = sample_trace();
  trace.events.clear();
  trace.memory.truncate(1);
  trace.memory.update(
      0, [&](MemoryEvent& e) { e.stack = trace.strings.intern(std::string("a\nü\xff\0b", 7)); });
  trace.metadata = {{"model", "{\"a\": 1}"}};
  std::ostringstream out;
  write_memory_csv(trace, out);
  write_metadata_csv(trace, out);
  EXPECT_EQ(out.str(),
            "rank,time_ns,action,on_host,step,address,bytes,requested_bytes,pool,category,owner,"
            "phase,instruction,stack\n"
            "0,1000000,segment_alloc,0,1,4096,2097152,0,compute,,,forward,5,\"a\nü\xEF\xBF\xBD"
            "\xEF\xBF\xBD"
            "b\"\n"
            "key,value\nmodel,\"{\"\"a\"\": 1}\"\ndropped: ring full,3\n");
}

TEST(CsvExport, HasEveryChangeOfMemory) {
  Trace trace = sample_trace();
  erase_if(trace.memory, [](const MemoryEvent& e) { return e.rank != 1 || e.step > 1; });
  std::ostringstream out;
  write_memory_timeline_csv(trace, out);
  EXPECT_EQ(out.str(),
            "rank,time_ns,allocated_bytes,reserved_bytes,host_bytes\n"
            "1,1000000,0,2097152,0\n1,1000001,1024,2097152,0\n1,1000002,0,2097152,0\n");
}

TEST(CsvExport, MakesItsFolder) {
  const TemporaryFolder folder;
  ASSERT_TRUE(export_csv(sample_trace(), folder.path("a/b c")));
  EXPECT_EQ(read_file(folder.path("a/b c/steps.csv")).substr(0, 89),
            "rank,step,start_ns,end_ns,loss,gradient_norm,label\n"
            "0,1,1000000,1950000,5,0.25,step 1\n0,2,");
  EXPECT_FALSE(export_csv(sample_trace(), folder.path("a/b c/steps.csv")));
}

}  // namespace
}  // namespace foreshard::traces
