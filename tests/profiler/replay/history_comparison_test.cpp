// Compared histories: recordings of PyTorch against themselves, changed at a known place, and cut so
// that they begin in the middle of a run.
#include "profiler/replay/history_comparison.hpp"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "tests/outside_data.hpp"
#include "traces/allocator/allocator_replay.hpp"

namespace foreshard::profiler {
namespace {

namespace fs = std::filesystem;

using traces::AllocatorAction;
using traces::LabelledHistory;

const fs::path kRecordings =
    fs::path(FORESHARD_SOURCE_DIR) / "traces/samples/pytorch_gpu/h100/events";

LabelledHistory read(const fs::path& file) {
  auto history = traces::read_labelled_history(file);
  EXPECT_TRUE(history) << history.error().text();
  return history ? std::move(*history) : LabelledHistory{};
}

LabelledHistory recording() {
  return read(kRecordings / "ev01_layers_w3.jsonl.gz");
}

bool is_compared(const traces::HistoryEvent& event) {
  return event.action == AllocatorAction::alloc || event.action == AllocatorAction::free_requested;
}

// The event that is the n-th one to be compared.
std::size_t compared_event(const LabelledHistory& history, std::size_t n) {
  const auto& events = history.history.events;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (is_compared(events[i]) && n-- == 0) return i;
  }
  return events.size();
}

TEST(HistoryComparison, ARecordingEqualsItself) {
  const LabelledHistory history = recording();
  const HistoryComparison c = compare_histories(history, history);
  EXPECT_TRUE(c.is_identical());
  EXPECT_EQ(c.equal,
            static_cast<std::size_t>(std::count_if(history.history.events.begin(),
                                                   history.history.events.end(), is_compared)));
  // The figures of the recording's first line.
  EXPECT_EQ(c.baseline.peak_allocated, 123199488);
  EXPECT_EQ(c.baseline.peak_reserved, 192937984);
  EXPECT_TRUE(c.before.empty());
  EXPECT_TRUE(c.surplus.empty());
}

// Streams called otherwise are the same streams.
TEST(HistoryComparison, StreamsCorrespondInTheOrderOfTheirAppearance) {
  const LabelledHistory history = recording();
  LabelledHistory renamed = history;
  for (std::string& name : renamed.streams) name += " renamed";
  const HistoryComparison c = compare_histories(history, renamed);
  EXPECT_TRUE(c.is_identical());
  for (const auto& [baseline, candidate] : c.streams) EXPECT_EQ(candidate, baseline + " renamed");
}

TEST(HistoryComparison, ShowsTheFirstDifference) {
  const LabelledHistory history = recording();
  LabelledHistory changed = history;
  const std::size_t at = compared_event(history, 710);
  ASSERT_EQ(changed.history.events[at].action, AllocatorAction::alloc);
  changed.history.events[at].bytes += 8;
  const HistoryComparison c = compare_histories(history, changed);
  EXPECT_FALSE(c.is_identical());
  EXPECT_EQ(c.equal, 710u);
  ASSERT_TRUE(c.first_difference);
  EXPECT_EQ(c.first_difference->baseline->event, at);
  EXPECT_EQ(c.first_difference->candidate->bytes, c.first_difference->baseline->bytes + 8);
  EXPECT_FALSE(c.first_difference->baseline->op.empty());
  ASSERT_EQ(c.before.size(), 6u);
  ASSERT_EQ(c.after.size(), 6u);
  EXPECT_EQ(c.before[5].candidate->event, compared_event(history, 709));
  EXPECT_EQ(c.after[0].baseline->event, compared_event(history, 711));
  // One request of each size is more in either.
  ASSERT_EQ(c.surplus.size(), 2u);
  for (const RequestSurplus& surplus : c.surplus) {
    EXPECT_EQ(surplus.count, 1);
    EXPECT_EQ(surplus.op, c.first_difference->baseline->op);
    EXPECT_EQ(surplus.bytes, surplus.is_of_candidate ? c.first_difference->candidate->bytes
                                                     : c.first_difference->baseline->bytes);
  }
}

TEST(HistoryComparison, TellsWhereOneEnds) {
  const LabelledHistory history = recording();
  LabelledHistory shorter = history;
  const std::size_t end = compared_event(history, 1000);
  shorter.history.events.resize(end);
  shorter.labels.resize(end);
  const HistoryComparison c = compare_histories(history, shorter);
  EXPECT_EQ(c.equal, 1000u);
  EXPECT_FALSE(c.first_difference);
  EXPECT_FALSE(c.is_identical());
  ASSERT_EQ(c.after.size(), 6u);
  EXPECT_FALSE(c.after[0].candidate);
  EXPECT_EQ(c.after[0].baseline->event, end);
}

// Two blocks of one size, freed in another order: the same sizes, and yet not the same.
TEST(HistoryComparison, NoticesFreesOfOtherRequests) {
  LabelledHistory history;
  history.streams = {"0"};
  history.history.streams = {0};
  const auto add = [](LabelledHistory& to, AllocatorAction action, Address address) {
    to.history.events.push_back({.action = action, .address = address, .bytes = 512});
    to.labels.emplace_back();
  };
  add(history, AllocatorAction::alloc, 512);
  add(history, AllocatorAction::alloc, 1024);
  LabelledHistory other = history;
  add(history, AllocatorAction::free_requested, 512);
  add(other, AllocatorAction::free_requested, 1024);
  const HistoryComparison c = compare_histories(history, other);
  EXPECT_EQ(c.equal, 3u);
  EXPECT_FALSE(c.first_difference);
  EXPECT_EQ(c.frees_of_other_requests, 1u);
  EXPECT_FALSE(c.is_identical());
}

// What is left of a history after its first events: the state they led to, and the others.
LabelledHistory cut(const LabelledHistory& history, std::size_t events) {
  LabelledHistory rest = history;
  traces::ReplayOptions options;
  options.events = events;
  const auto before = traces::replay(history.history, options);
  EXPECT_TRUE(before) << before.error().text();
  rest.history.start = before->end;
  const auto from = static_cast<std::ptrdiff_t>(events);
  rest.history.events.erase(rest.history.events.begin(), rest.history.events.begin() + from);
  rest.labels.erase(rest.labels.begin(), rest.labels.begin() + from);
  return rest;
}

TEST(HistoryComparison, FindsWhereACutHistoryBegins) {
  const LabelledHistory history = recording();
  for (const std::size_t first : {40u, 700u, 1500u}) {
    const std::size_t event = compared_event(history, first);
    const LabelledHistory rest = cut(history, event);
    const HistoryComparison c = compare_histories(rest, history);
    EXPECT_TRUE(c.aligned_at);
    EXPECT_EQ(c.baseline.first, 0u);
    EXPECT_EQ(c.candidate.first, event);
    EXPECT_EQ(c.equal, c.baseline.compared);
    EXPECT_EQ(c.equal, c.candidate.compared);
    EXPECT_EQ(c.frees_of_other_requests, 0u);
    EXPECT_TRUE(c.surplus.empty());
  }
}

void expect_equal(const LabelledHistory& baseline, const LabelledHistory& candidate) {
  const HistoryComparison c = compare_histories(baseline, candidate);
  EXPECT_GT(c.equal, 0u);
  EXPECT_FALSE(c.first_difference);
  EXPECT_EQ(c.equal, c.baseline.compared);
  EXPECT_EQ(c.equal, c.candidate.compared);
}

// The same cases on a device that computes nothing and on an H100, recorded apart.
TEST(HistoryComparison, RecordingsOfEqualRunsAreEqual) {
  const fs::path others = tests::evidence("memory/events");
  int compared = 0;
  for (const auto& entry : fs::directory_iterator(others)) {
    const fs::path mine = kRecordings / entry.path().filename();
    if (!fs::exists(mine)) continue;
    SCOPED_TRACE(mine.string());
    ++compared;
    expect_equal(read(entry.path()), read(mine));
  }
  EXPECT_EQ(compared, 34);
}

}  // namespace
}  // namespace foreshard::profiler
