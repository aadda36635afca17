// Recordings that are cut, damaged or no recordings: what is whole is there, the rest is counted, and
// what cannot be read is an error that names the file.
#include <cstdint>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "tests/traces/kineto/kineto_sample.hpp"

namespace foreshard::traces {
namespace {

std::string kernels(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    out += std::string(i == 0 ? "" : ",\n  ") + R"({"ph": "X", "cat": "kernel", "name": "k)" +
           std::to_string(i) + R"( {lambda()#1}, {x", "pid": 0, "tid": 7, "ts": )" +
           std::to_string(i) + R"(.25, "dur": 0.5, "args": {"device": 0, "grid": [1, 2, 3]}})";
  }
  return out;
}

TEST(KinetoDamage, CutAtAnyByte) {
  const std::string whole = kineto_file(kernels(8));
  const TemporaryFolder folder;
  for (std::size_t size = 0; size < whole.size() - 1; ++size) {
    const std::string part = whole.substr(0, size);
    std::size_t ends = 0;
    for (std::size_t at = part.find("]}}"); at != std::string::npos;
         at = part.find("]}}", at + 1)) {
      ++ends;
    }
    const auto traces = import_kineto({folder.write("cut.json", part)});
    if (!traces) {
      EXPECT_EQ(ends, 0U) << size;
      EXPECT_NE(traces.error().text().find("cut.json"), std::string::npos);
      continue;
    }
    const Trace& trace = traces->at(0);
    EXPECT_EQ(trace.events.size(), ends) << size;
    EXPECT_EQ(trace.complete, part.find("\n]\n}") != std::string::npos) << size;
    // Kineto writes calls before the work that they launched: no moment is known to be complete.
    if (!trace.complete) {
      EXPECT_EQ(trace.complete_until_ns, 0) << size;
    }
  }
}

TEST(KinetoDamage, CutCompressedFiles) {
  const TemporaryFolder folder;
  const std::string path = write_gzip(folder, "whole.json.gz", kineto_file(kernels(5000)));
  const auto size = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, size * 3 / 4);
  const auto traces = import_kineto({path});
  ASSERT_TRUE(traces) << traces.error().text();
  EXPECT_FALSE(traces->at(0).complete);
  EXPECT_EQ(traces->at(0).metadata.at("trouble.0"), "the compressed data is truncated");
  EXPECT_GT(traces->at(0).events.size(), 3000U);
  EXPECT_LT(traces->at(0).events.size(), 5000U);
}

TEST(KinetoDamage, OneEventIsLostPerDamage) {
  for (const std::string damage : {"\"", "{", "}", "\\", "x", "]", "\x01\xff"}) {
    std::string text = kineto_file(kernels(5000));
    text.replace(text.find("k2500 ") - 1, damage.size(), damage);  // the name's opening quote
    text.insert(text.find("k4000") - 3, damage);
    const Trace trace = import_text(text);
    EXPECT_GE(trace.events.size(), 4995U) << damage;
    EXPECT_EQ(trace.complete, trace.dropped.empty()) << damage;
  }
}

TEST(KinetoDamage, TextIsMendedWhereNothingElseIsWrong) {
  std::string text = kineto_file(kernels(10));
  text.replace(text.find("k3 {"), 4, "\x02\xfe\ttab");
  const Trace trace = import_text(text);
  EXPECT_EQ(trace.events.size(), 10U);
  EXPECT_TRUE(trace.complete);
  EXPECT_EQ(trace.metadata.at("mended_events"), "1");
}

TEST(KinetoDamage, EventsThatMakeNoSenseAreCounted) {
  const Trace trace = import_text(kineto_file(
      R"({"ph":"X","cat":"kernel","name":"a","ts":NaN,"dur":1},{"ph":"X","cat":"kernel","name":"a","ts":1},
      {"ph":"X","cat":"kernel","name":"a","ts":1,"dur":-5},{"ph":"X","cat":"new","name":"a","ts":1,"dur":5},
      {"ph":"X","cat":"kernel","name":"a","ts":1e300,"dur":5},{"ph":"C","name":"c","ts":1},{"name":"none"},
      {"ph":"X","cat":"kernel","name":"kept","pid":0,"tid":1,"ts":1,"dur":5},{"ph":"i","name":"odd","ts":1})"));
  EXPECT_EQ(trace.events.size(), 1U);
  const std::map<std::string, std::int64_t> expected{
      {"events with an impossible time or duration", 1},
      {"events of category new", 1},
      {"counters without a number", 1},
      {"events without a duration", 1},
      {"events without a timestamp", 2},
      {"instant events named odd", 1},
      {"objects without a phase", 1}};
  EXPECT_EQ(trace.dropped, expected);
}

TEST(KinetoDamage, MissingInstantsOfTheAllocatorAreMadeUpFor) {
  const auto instant = [](int time, int bytes, int total) {
    return R"({"ph":"i","name":"[memory]","pid":1,"tid":1,"ts":)" + std::to_string(time) +
           R"(,"args":{"Device Type":1,"Device Id":0,"Addr":)" + std::to_string(1000 + time) +
           R"(,"Bytes":)" + std::to_string(bytes) + R"(,"Total Allocated":)" +
           std::to_string(total) + "}}";
  };
  const Trace trace = import_text(
      kineto_file(instant(1, 100, 100) + "," + instant(2, 50, 450) + "," + instant(3, 10, 20)));
  std::int64_t level = 0;
  std::map<std::int64_t, std::int64_t> levels;
  for (const MemoryEvent& event : trace.memory) {
    if (event.action == MemoryAction::alloc) level += event.bytes;
    if (event.action == MemoryAction::free_requested) level -= event.bytes;
    levels[event.time_ns] = level;
  }
  EXPECT_EQ(levels, (std::map<std::int64_t, std::int64_t>{{0, 100}, {1000, 450}, {2000, 20}}));
  EXPECT_EQ(trace.dropped.at("missing [memory] events (lower bound)"), 2);
  // They are missing between the first instant and the last one.
  EXPECT_EQ(trace.dropped_ranges, (std::vector<DroppedRange>{{0, true, 0, 2000, 2}}));
}

// Looking for ends that are not there must not take longer the more of them there are.
TEST(KinetoDamage, DamageEverywhereIsSkipped) {
  for (const std::string piece : {R"({"ph":"X","args":{")", R"({"ph":"X","args":[[[)", R"({")"}) {
    std::string text = R"({"traceEvents": [)";
    for (int i = 0; i < 200'000; ++i) text += piece;
    const Trace trace = import_text(text);
    EXPECT_TRUE(trace.events.empty());
    EXPECT_FALSE(trace.complete);
  }
}

TEST(KinetoDamage, WhatIsNoRecordingIsAnError) {
  const std::map<std::string, std::string> cases{
      {"", "is empty"},
      {"   \n", "is text, but not JSON"},
      {std::string("SQLite format 3\0....", 20), "SQLite"},
      {"\x80\x04\x95 pickle", "pickle"},
      {"PK\x03\x04 zip", "zip"},
      {"hello", "text, but not JSON"},
      {std::string("\x01\x02\x03", 3), "binary data"},
      {"{}", "without traceEvents"},
      {R"({"traceEvents": 7})", "without traceEvents"},
      {R"({"schemaVersion": 1, "devi)", "truncated"},
      {"[[1, 2], [3, 4]]", "not a list of events"},
      {R"([{"a": 1}, {"b": 2}])", "JSON without events"},
      {"{" + std::string(100'000, '['), "traceEvents"}};
  const TemporaryFolder folder;
  for (const auto& [content, message] : cases) {
    for (const bool is_compressed : {false, true}) {
      const std::string path = is_compressed ? write_gzip(folder, "other.gz", content)
                                             : folder.write("other.json", content);
      const auto traces = import_kineto({path});
      ASSERT_FALSE(traces) << content;
      EXPECT_NE(traces.error().text().find(message), std::string::npos) << traces.error().text();
      EXPECT_NE(traces.error().text().find("expected"), std::string::npos);
      EXPECT_EQ(traces.error().file, path);
    }
  }
  EXPECT_FALSE(import_kineto({folder.path("missing.json")}));
  EXPECT_FALSE(import_kineto({}));
  EXPECT_FALSE(import_kineto({folder.path()}));  // none of its files is a recording
}

}  // namespace
}  // namespace foreshard::traces
