// The built-in queries do what they say: run on a trace, they agree with the
// analysis in C++, or with a count by hand where there is none.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "profiler/analysis/analysis.hpp"
#include "tests/traces/sample_trace.hpp"
#include "traces/fst/fst_file.hpp"
#include "traces/query/builtin_queries.hpp"

namespace foreshard::traces {
namespace {

constexpr std::int64_t kGap = 100'000;  // ns, as on the page

// Two ranks, three steps: kernels, collectives that overlap them and each other, gaps of all sizes, a
// host that works and waits, blocks of three categories that come and go.
Trace busy_trace() {
  Trace trace;
  std::mt19937 random(4);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random()) % n; };
  const auto text = [&](const std::string& t) { return trace.strings.intern(t); };
  const auto numbered = [&](const char* word, std::int64_t n) {
    return text(word + std::to_string(n));
  };
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    trace.lanes.push_back({rank, false, text("host")});
    trace.lanes.push_back({rank, true, text("compute")});
    trace.lanes.push_back({rank, true, text("compute 2")});
    trace.lanes.push_back({rank, true, text("all_gather")});
    trace.lanes.push_back({rank, true, text("reduce_scatter")});
    std::vector<std::int64_t> clock(5, 0);  // of the rank's lanes
    std::vector<MemoryEvent> held;
    const auto add = [&](std::int32_t lane, EventKind kind, StringId name, std::int64_t pause,
                         std::int64_t duration, std::int32_t step) {
      std::int64_t& now = clock[static_cast<std::size_t>(lane)];
      Event e;
      e.lane = rank * 5 + lane;
      e.kind = kind;
      e.name = name;
      e.step = step;
      e.start_ns = now + pause;
      now = e.end_ns = e.start_ns + duration;
      trace.events.push_back(e);
    };
    for (std::int32_t step = 1; step <= 3; ++step) {
      for (int i = 0; i < 60; ++i) {
        const std::int64_t pause = below(10) == 0 ? below(4 * kGap) : below(2000);
        add(1, EventKind::compute, numbered("kernel ", below(14)), pause, 1 + below(50'000), step);
        clock[2] = std::max(clock[2], clock[1] - below(30'000));
        add(2, EventKind::compute, numbered("kernel ", below(14)), 0, 1 + below(9000), step);
        trace.events.update_last([&](Event& e) {
          e.cost_source = i % 3 == 0 ? CostSource::fitted : CostSource::modelled;
          e.correlation = 100 * step + i;
        });
        const EventKind host = below(2) == 0 ? EventKind::host : EventKind::host_wait;
        add(0, host, numbered("call ", below(9)), below(3000), 1 + below(60'000), step);
        trace.events.update_last([&](Event& e) { e.correlation = 100 * step + i; });
        if (i % 5 == 0) {
          add(3, EventKind::communication, text("all_gather"), below(30'000), 1 + below(90'000),
              step);
          trace.events.update_last([&](Event& e) { e.unit = numbered("layers.", i / 20); });
        }
        if (i % 7 == 0) {
          add(4, EventKind::communication, text("reduce_scatter"), below(9000), 1 + below(200'000),
              step);
          trace.events.update_last([&](Event& e) {
            e.unit = numbered("layers.", i / 20);
            e.stable_key = numbered("reduce/", i);
          });
        }
        MemoryEvent m;
        m.rank = rank;
        m.time_ns = clock[1];
        if (!held.empty() && below(5) < 2) {
          std::swap(held[static_cast<std::size_t>(below(static_cast<std::int64_t>(held.size())))],
                    held.back());
          m = held.back();
          held.pop_back();
          m.time_ns = clock[1];
          m.action = MemoryAction::free_requested;
        } else {
          m.address = 4096 * (step * 100 + i % 50);
          while (std::any_of(held.begin(), held.end(),
                             [&](const MemoryEvent& h) { return h.address == m.address; })) {
            m.address += 1 << 20;
          }
          m.bytes = 512 * (1 + below(90));
          m.category = numbered("category ", below(3));
          m.on_host = below(9) == 0;
          held.push_back(m);
        }
        trace.memory.push_back(m);
      }
    }
  }
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    for (const char* name : {"SMs Active", "power"}) {
      Counter& counter = trace.counters.emplace_back();
      counter.rank = rank;
      counter.name = text(name);
      counter.unit = text(name == std::string("power") ? "" : "%");
      for (std::int64_t ns = 50'000; ns < 3'000'000; ns += 1 + below(200'000))
        counter.samples.push_back({ns, static_cast<double>(below(100))});
    }
  }
  sort(trace);
  return trace;
}

// Three steps on each rank, with time between them.
void add_steps(Trace& trace) {
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    for (std::int32_t step = 1; step <= 3; ++step)
      trace.steps.push_back({rank, step, 900'000 * step, 900'000 * step + 700'000, 0, 0});
  }
}

using Rows = std::vector<std::vector<std::string>>;

std::int64_t whole(const std::string& cell) {
  return std::llround(std::stod(cell));
}
std::int64_t from_ms(const std::string& cell) {
  return std::llround(std::stod(cell) * 1e6);
}

class Queries : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_fst(folder_.path("a.fst"), trace_));
    ASSERT_EQ(sqlite3_open(folder_.path("a.fst").c_str(), &database_), SQLITE_OK);
    for (const BuiltinQuery& query : builtin_queries()) {  // some are made of others
      const std::string view =
          "CREATE TEMP VIEW " + std::string(query.name) + " AS " + std::string(query.sql);
      ASSERT_EQ(sqlite3_exec(database_, view.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    }
  }
  void TearDown() override { sqlite3_close(database_); }

  Rows run(std::string_view name) {
    const auto& known = builtin_queries();
    const auto query = std::find_if(known.begin(), known.end(),
                                    [&](const BuiltinQuery& each) { return each.name == name; });
    EXPECT_NE(query, known.end()) << name;
    Rows rows;
    char* error = nullptr;
    sqlite3_exec(
        database_, std::string(query->sql).c_str(),
        [](void* result, int columns, char** cells, char**) {
          auto& row = static_cast<Rows*>(result)->emplace_back();
          for (int i = 0; i < columns; ++i) row.emplace_back(cells[i] ? cells[i] : "NULL");
          return 0;
        },
        &rows, &error);
    EXPECT_EQ(error, nullptr) << error;
    sqlite3_free(error);
    return rows;
  }

  Trace trace_ = busy_trace();
  const profiler::Analysis analysis_ = profiler::analyse(trace_);

 private:
  TemporaryFolder folder_;
  sqlite3* database_ = nullptr;
};

TEST_F(Queries, ExposedCommunicationByUnit) {
  struct Cost {
    std::int64_t count = 0, total = 0, exposed = 0;
    bool operator==(const Cost&) const = default;
  };
  std::map<std::string, Cost> want, got;
  for (const auto& collective : analysis_.collectives) {
    Cost& cost = want[collective.unit];
    cost.count += collective.count;
    cost.total += collective.total_ns;
    cost.exposed += collective.exposed_ns;
  }
  std::int64_t previous = INT64_MAX;
  for (const auto& row : run("exposed_communication")) {
    got[row[0]] = {whole(row[1]), from_ms(row[2]), from_ms(row[3])};
    EXPECT_LE(from_ms(row[3]), previous);
    previous = from_ms(row[3]);
  }
  EXPECT_EQ(got, want);
  ASSERT_EQ(want.size(), 3U);
  for (const auto& [unit, cost] : want) {
    EXPECT_GT(cost.exposed, 0);
    EXPECT_LT(cost.exposed, cost.total);
  }
}

// One by one they add up to those of their rank, and the most exposed comes first.
TEST_F(Queries, ExposedCommunicationByCollective) {
  std::map<std::int64_t, std::int64_t> got;
  std::int64_t previous = INT64_MAX, collectives = 0;
  for (const auto& row : run("exposed_collectives")) {
    const std::int64_t exposed = whole(row[5]);
    got[whole(row[0])] += exposed;
    EXPECT_LE(exposed, std::min(previous, whole(row[7])));
    previous = exposed;
    ++collectives;
  }
  for (const auto& rank : analysis_.ranks)
    EXPECT_EQ(got[rank.rank], rank.time.exposed_communication_ns);
  EXPECT_EQ(collectives, std::ranges::count(trace_.events, EventKind::communication, &Event::kind));
}

TEST_F(Queries, CountersOfEachStep) {
  TearDown();
  add_steps(trace_);
  SetUp();
  std::size_t rows = 0;
  for (const auto& row : run("step_counters")) {
    const auto rank = static_cast<std::int32_t>(whole(row[0])),
               step = static_cast<std::int32_t>(whole(row[1]));
    const auto counter = std::ranges::find_if(trace_.counters, [&](const Counter& one) {
      return one.rank == rank && trace_.strings[one.name] == row[2];
    });
    const auto at = std::ranges::find_if(
        trace_.steps, [&](const Step& one) { return one.rank == rank && one.step == step; });
    EXPECT_EQ(row[3], trace_.strings[counter->unit]);
    double sum = 0, highest = -1e300;
    std::int64_t held = 0;
    for (std::size_t n = 0; n < counter->samples.size(); ++n) {
      const auto& [time, value] = counter->samples[n];
      const std::int64_t end =
          n + 1 < counter->samples.size() ? counter->samples[n + 1].time_ns : at->end_ns;
      const std::int64_t within = std::min(end, at->end_ns) - std::max(time, at->start_ns);
      if (within <= 0) continue;
      held += within;
      sum += value * static_cast<double>(within);
      highest = std::max(highest, value);
    }
    EXPECT_NEAR(std::stod(row[4]), sum / static_cast<double>(held), 1e-9);
    EXPECT_EQ(std::stod(row[5]), highest);
    ++rows;
  }
  EXPECT_EQ(rows, 2 * trace_.steps.size());
}

TEST_F(Queries, LaunchQueue) {
  std::map<std::int32_t, std::int64_t> longest;
  for (const auto& row : run("launch_queue")) {
    const auto rank = static_cast<std::int32_t>(whole(row[0]));
    const std::int64_t time = from_ms(row[1]);
    std::map<std::int64_t, int> of_launch;  // bits: launched, begun
    for (const Event& e : trace_.events) {
      if (trace_.lanes[static_cast<std::size_t>(e.lane)].rank != rank || e.correlation == 0)
        continue;
      if (e.start_ns <= time) of_launch[e.correlation] |= is_device_work(e.kind) ? 2 : 1;
    }
    EXPECT_EQ(whole(row[2]),
              std::ranges::count(of_launch, 1, [](const auto& l) { return l.second; }));
    longest[rank] = std::max(longest[rank], whole(row[2]));
  }
  for (const auto& rank : analysis_.ranks) {
    EXPECT_GT(rank.launches.longest_queue, 5);
    EXPECT_EQ(longest[rank.rank], rank.launches.longest_queue);
  }
}

TEST_F(Queries, CostliestOperatorsOfEachStep) {
  std::map<std::int32_t, std::map<std::pair<std::string, std::string>, std::int64_t>> totals;
  for (const Event& e : trace_.events) {
    if (!is_device_work(e.kind)) continue;
    totals[e.step][{trace_.strings[e.name], std::string(name(e.kind))}] += e.end_ns - e.start_ns;
  }
  Rows want;
  for (const auto& [step, of_step] : totals) {
    std::vector<std::pair<std::int64_t, std::string>> sorted;
    for (const auto& [key, ns] : of_step) sorted.emplace_back(-ns, key.first);
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < 10; ++i) {
      want.push_back({std::to_string(step), std::to_string(i + 1), sorted[i].second,
                      std::to_string(-sorted[i].first)});
    }
  }
  Rows got;
  double percent = 0;
  for (const auto& row : run("step_operators")) {
    got.push_back({row[0], row[1], row[2], std::to_string(from_ms(row[5]))});
    percent += std::stod(row[6]);
  }
  EXPECT_EQ(got, want);
  EXPECT_GT(percent, 150);  // of three steps
  EXPECT_LT(percent, 300);
}

TEST_F(Queries, MemoryAtThePeak) {
  std::map<std::pair<std::int32_t, std::string>, std::int64_t> want, got;
  std::map<std::int32_t, std::int64_t> at_want, at_got;
  for (const auto& rank : analysis_.ranks) {
    at_want[rank.rank] = rank.peak.time_ns;
    for (const auto& [category, bytes] : rank.peak.by_category) {
      if (bytes != 0) want[{rank.rank, category}] = bytes;
    }
  }
  for (const auto& row : run("memory_peak")) {
    const auto rank = static_cast<std::int32_t>(whole(row[0]));
    at_got[rank] = from_ms(row[1]);
    got[{rank, row[2]}] = whole(row[4]);
  }
  EXPECT_EQ(got, want);
  EXPECT_EQ(at_got, at_want);
  EXPECT_EQ(got.size(), 6U);  // three categories on two ranks
}

TEST_F(Queries, SourcesOfPredictedTimes) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> want, got;
  for (const auto& one : analysis_.cost_sources) {
    want[std::string(name(one.source))] = {one.count, one.total_ns};
  }
  double percent = 0;
  for (const auto& row : run("cost_sources")) {
    got[row[0]] = {whole(row[1]), from_ms(row[2])};
    percent += std::stod(row[3]);
  }
  EXPECT_EQ(got, want);
  EXPECT_EQ(got.size(), 2u);
  EXPECT_NEAR(percent, 100, 1e-6);
}

TEST_F(Queries, LongIdleGaps) {
  struct Gap {
    std::int64_t length = 0, from = 0;
    std::int32_t rank = 0;
  };
  std::vector<Gap> gaps;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    std::map<std::int64_t, std::int64_t> kernels;  // start -> end
    for (const Event& e : trace_.events) {
      if (e.kind != EventKind::compute || e.lane / 5 != rank) continue;
      kernels[e.start_ns] = std::max(kernels[e.start_ns], e.end_ns);
    }
    std::int64_t busy_until = kernels.begin()->second;
    for (const auto& [start, end] : kernels) {
      if (start - busy_until > kGap) gaps.push_back({start - busy_until, busy_until, rank});
      busy_until = std::max(busy_until, end);
    }
  }
  std::sort(gaps.begin(), gaps.end(),
            [](const Gap& a, const Gap& b) { return a.length > b.length; });
  ASSERT_GT(gaps.size(), 20U);
  const Rows rows = run("idle_gaps");
  ASSERT_EQ(rows.size(), 20U);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Gap& gap = gaps[i];
    EXPECT_EQ(whole(rows[i][0]), gap.rank);
    EXPECT_EQ(from_ms(rows[i][1]), gap.from);
    EXPECT_EQ(std::llround(std::stod(rows[i][2]) * 1e3), gap.length);
    std::optional<Event> longest;  // on the rank's only thread
    std::int64_t most = 0;
    for (const Event& e : trace_.events) {
      if (e.lane != gap.rank * 5) continue;
      const std::int64_t common =
          std::min(e.end_ns, gap.from + gap.length) - std::max(e.start_ns, gap.from);
      if (common > most) {
        most = common;
        longest = e;
      }
    }
    EXPECT_EQ(rows[i][4], !longest ? "NULL" : trace_.strings[longest->name]);
    EXPECT_EQ(rows[i][3], !longest ? "NULL" : name(longest->kind));
  }
}

TEST_F(Queries, Stragglers) {
  std::map<std::int64_t, std::vector<std::int64_t>> want, got;
  for (const auto& rank : analysis_.waits) {
    want[rank.rank] = {rank.collectives, rank.arrived_last, rank.waited_ns};
  }
  for (const auto& row : run("late_ranks")) {
    got[whole(row[0])] = {whole(row[1]), whole(row[2]), from_ms(row[3])};
  }
  EXPECT_EQ(got, want);
  ASSERT_EQ(want.size(), 2U);
  EXPECT_EQ(want[0][0], 63);  // of each of 3 steps: 12 all-gathers, 9 reduce-scatters
}

}  // namespace
}  // namespace foreshard::traces
