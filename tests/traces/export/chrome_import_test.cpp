// Chrome JSON read back: nothing of a trace is lost, damage is counted, other JSON is refused.
#include "traces/export/chrome_import.hpp"

#include <cmath>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "tests/traces/sample_trace.hpp"
#include "traces/export/chrome_export.hpp"
#include "traces/fst/fst_file.hpp"
#include "traces/open/read_trace.hpp"

namespace foreshard::traces {
namespace {

constexpr std::int64_t kLatest = std::int64_t{1} << 54;

rc::Gen<std::int64_t> time_ns() {
  return rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 5000),
                        rc::gen::inRange<std::int64_t>(-kLatest, kLatest + 1));
}

// Any bytes, now and then none, now and then long.
rc::Gen<std::string> any_text() {
  return rc::gen::oneOf(rc::gen::element<std::string>("", "forward", "ü€😀", "a\"b\\c\n\t\x01\x7f"),
                        rc::gen::arbitrary<std::string>(),
                        rc::gen::container<std::string>(rc::gen::arbitrary<char>()));
}

// Small traces with values at the ends of what a trace may hold.
Trace any_trace() {
  Trace trace;
  std::vector<StringId> texts;
  for (const auto& text :
       *rc::gen::resize(12, rc::gen::container<std::vector<std::string>>(any_text()))) {
    texts.push_back(trace.strings.intern(text));
  }
  texts.push_back(0);
  const auto text = [&] { return *rc::gen::elementOf(texts); };
  const auto number = [](auto least, auto most) { return *rc::gen::inRange(least, most); };
  const auto any32 = [] { return *rc::gen::arbitrary<std::int32_t>(); };
  const auto any_step = [&] { return std::abs(any32() / 2); };
  const int lanes = number(0, 5);
  for (int i = 0; i < lanes; ++i) trace.lanes.push_back({number(0, 3), number(0, 2) == 1, text()});
  for (int i = lanes == 0 ? 0 : number(0, 20); i > 0; --i) {
    Event e;
    e.start_ns = *time_ns();
    e.end_ns = std::min(kLatest, e.start_ns + number(std::int64_t{0}, std::int64_t{2000}));
    e.cpu_ns = number(std::int64_t{-1}, kLatest);
    e.lane = number(0, lanes);
    e.step = any_step();
    e.kind = static_cast<EventKind>(number(0, static_cast<int>(EventKind::kCount)));
    e.micro_step = *rc::gen::arbitrary<std::int16_t>();
    for (StringId* id : {&e.name, &e.phase, &e.unit, &e.stable_key, &e.cost_key}) *id = text();
    e.instruction = any32();
    e.cost_source = static_cast<CostSource>(number(0, static_cast<int>(CostSource::kCount)));
    e.cost_error = 0.001F * static_cast<float>(number(0, 3000));
    e.bytes = number(std::int64_t{0}, std::int64_t{1} << 56);
    e.correlation = *rc::gen::arbitrary<std::int64_t>();
    trace.events.push_back(e);
  }
  for (int i = number(0, 15); i > 0; --i) {
    MemoryEvent m;
    m.time_ns = *time_ns();
    m.rank = number(0, 4);
    m.action = static_cast<MemoryAction>(number(0, static_cast<int>(MemoryAction::kCount)));
    m.on_host = number(0, 2) == 1;
    m.step = any_step();
    m.address = *rc::gen::arbitrary<std::int64_t>();
    m.bytes = number(std::int64_t{0}, std::int64_t{1} << 40);
    m.requested = number(std::int64_t{0}, std::int64_t{1} << 56);
    m.lane = number(kNone, lanes);
    for (StringId* id : {&m.category, &m.owner, &m.phase, &m.stack}) *id = text();
    m.instruction = any32();
    trace.memory.push_back(m);
  }
  for (int i = number(0, 4); i > 0; --i) {
    const std::int64_t start = number(-kLatest, kLatest);
    trace.steps.push_back({number(0, 3), any_step(), start, kLatest, *rc::gen::arbitrary<double>(),
                           *rc::gen::arbitrary<double>(), text()});
  }
  trace.metadata = *rc::gen::arbitrary<std::map<std::string, std::string>>();
  trace.metadata["any bytes"] = *any_text();
  trace.dropped["ring full"] = number(std::int64_t{0}, std::int64_t{1} << 56);
  trace.complete = number(0, 2) == 1;
  trace.complete_until_ns = *time_ns();
  sort(trace);
  return trace;
}

RC_GTEST_PROP(ChromeImport, NothingIsLost, ()) {
  const TemporaryFolder folder;
  const Trace trace = any_trace();
  RC_ASSERT(export_chrome(trace, folder.path("a.json")).has_value());
  const auto back = read_chrome(folder.path("a.json"));
  RC_ASSERT(back.has_value());
  RC_ASSERT(difference(trace, *back) == "");
  RC_ASSERT(nlohmann::json::accept(read_file(folder.path("a.json"))));
}

TEST(ChromeImport, WhatIsNoNumberComesBackToo) {
  const TemporaryFolder folder;
  Trace trace = sample_trace();
  trace.steps[0].loss = std::nan("");
  trace.steps[1].loss = -HUGE_VAL;
  ASSERT_TRUE(export_chrome(trace, folder.path("a.json")));
  const auto back = read_chrome(folder.path("a.json"));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_TRUE(std::isnan(back->steps[0].loss));
  EXPECT_EQ(back->steps[1].loss, -HUGE_VAL);
}

TEST(ChromeImport, ATraceIsReadByItsContent) {
  const TemporaryFolder folder;
  const Trace trace = sample_trace();
  ASSERT_TRUE(export_chrome(trace, folder.path("json.fst")));
  ASSERT_TRUE(write_fst(folder.path("fst.json"), trace));
  EXPECT_TRUE(is_foreshard_export(folder.path("json.fst")));
  EXPECT_FALSE(is_foreshard_export(folder.path("fst.json")));
  EXPECT_FALSE(is_foreshard_export(folder.path("absent")));
  for (const char* name : {"json.fst", "fst.json"}) {
    const auto back = read_trace(folder.path(name));
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(difference(trace, *back), "") << name;
  }
  EXPECT_FALSE(read_trace(folder.path("absent")));
}

TEST(ChromeImport, DroppedRangesWereNamedLosses) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.json"), key = "\"dropped_ranges\":";
  ASSERT_TRUE(export_chrome(sample_trace(), path));
  std::string text = read_file(path);
  ASSERT_NE(text.find(key), text.npos);
  write_file(path, text.replace(text.find(key), key.size(), "\"losses\":"));
  const auto back = read_chrome(path);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(difference(sample_trace(), *back), "");
}

TEST(ChromeImport, CutAndDamagedFilesAreSalvaged) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.json");
  ASSERT_TRUE(export_chrome(sample_trace(), path));
  const std::string whole = read_file(path);
  const std::size_t header = whole.find('\n');
  for (std::size_t length = 0; length < whole.size(); length += 61) {
    write_file(path, whole.substr(0, length));
    const auto trace = read_chrome(path);
    EXPECT_EQ(trace.has_value(), length >= header) << length;
    if (!trace) {
      EXPECT_NE(trace.error().text().find("a.json"), std::string::npos);
      continue;
    }
    if (length + 3 >= whole.size()) continue;  // nothing but the end is missing
    EXPECT_FALSE(trace->complete) << length;
    EXPECT_EQ(trace->dropped.at("end of the file (truncated)"), 1);
  }
  std::string damaged = whole;
  damaged.replace(damaged.find("\"cat\":\"compute\""), 15, "\"cat\":\"compote\"");
  write_file(path, damaged);
  const auto trace = read_chrome(path);
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(trace->events.size(), sample_trace().events.size() - 1);
  EXPECT_EQ(trace->dropped.at("unreadable lines (damaged file)"), 1);
  EXPECT_FALSE(trace->complete);
  for (std::size_t at = 0; at < whole.size(); at += 17) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
    write_file(path, flipped);
    (void)read_chrome(path);
  }
}

// What ui.perfetto.dev needs.
TEST(ChromeExport, OverlappingWorkOfAStreamHasARowOfItsOwn) {
  Trace trace;
  trace.lanes = {{0, false, trace.strings.intern("thread")},
                 {0, true, trace.strings.intern("stream 7")}};
  const auto add = [&](std::int32_t lane, EventKind kind, std::int64_t start, std::int64_t end) {
    Event e;
    e.lane = lane;
    e.kind = kind;
    e.start_ns = start;
    e.end_ns = end;
    e.correlation = 5;
    trace.events.push_back(e);
  };
  add(0, EventKind::runtime, 0, 10);
  add(1, EventKind::range, 90, 400);  // around the kernels
  add(1, EventKind::compute, 100, 200);
  add(1, EventKind::compute, 150, 250);  // overlaps
  add(1, EventKind::compute, 160, 170);  // within both
  add(1, EventKind::compute, 300, 400);
  std::ostringstream out;
  write_chrome(trace, out);
  const auto json = nlohmann::json::parse(out.str());
  std::map<int, std::string> names;
  std::vector<std::string> rows;
  std::map<int, int> flows;
  for (const auto& e : json["traceEvents"]) {
    if (e["name"] == "thread_name") names[e["tid"]] = e["args"]["name"];
    if (e["ph"] == "X") rows.push_back(names.at(e["tid"]));
    if (e["ph"] == "s") ++flows[e["id"]];
    if (e["ph"] == "f") {
      EXPECT_EQ(e["bp"], "e");
      --flows[e["id"]];
    }
  }
  const std::string over = "stream 7 (overlapping)";
  EXPECT_EQ(rows,
            (std::vector<std::string>{"thread", "stream 7", "stream 7", over, over, "stream 7"}));
  EXPECT_EQ(names.size(), 4U);  // two rows of what overlaps
  EXPECT_EQ(flows, (std::map<int, int>{{1, 0}, {2, 0}, {3, 0}, {4, 0}}));
}

}  // namespace
}  // namespace foreshard::traces
