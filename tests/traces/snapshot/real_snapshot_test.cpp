// Snapshots of real jobs, where they are at hand, and our own sample: the histories read from the pickles equal the event
// lists made from them independently, and are replayed to the byte; every file imports; the one of a
// Llama that ran out of memory under FSDP adds up.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "profiler/replay/memory_holders.hpp"
#include "tests/outside_data.hpp"
#include "traces/allocator/allocator_replay.hpp"
#include "traces/snapshot/history.hpp"

namespace foreshard::traces {
namespace {

using profiler::MemoryHolders;
using profiler::with_unsharded_freed;

namespace fs = std::filesystem;

const fs::path kShared = tests::outside_data("traces");
const fs::path kSamples = fs::path(FORESHARD_SOURCE_DIR) / "traces/samples";
const char* const kLlama = "llama3-8b-torchtitan-fsdp4-a100-40g/rank0_memory_snapshot.pickle";

struct Case {
  const char* pickle;
  int device;
  const char* events;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.events;
}

class RealHistoryTest : public testing::TestWithParam<Case> {};

TEST_P(RealHistoryTest, EqualsTheEventListAndIsReplayedExactly) {
  const fs::path pickle = kShared / "snapshots" / GetParam().pickle;
  if (!fs::exists(pickle)) GTEST_SKIP() << tests::missing(pickle);
  const auto snapshot = read_snapshot(pickle.string());
  ASSERT_TRUE(snapshot) << snapshot.error().text();
  const SnapshotHistory found = history_of(*snapshot, GetParam().device);
  const AllocatorHistory& history = found.history;
  const auto listed = read_allocator_history(kShared / "allocator/events" /
                                             (std::string(GetParam().events) + ".jsonl.gz"));
  ASSERT_TRUE(listed) << listed.error().text();

  EXPECT_EQ(history.start, listed->start);
  EXPECT_EQ(history.streams, listed->streams);
  EXPECT_EQ(history.capacity, listed->capacity);
  ASSERT_EQ(history.events.size(), listed->events.size());
  for (std::size_t i = 0; i < history.events.size(); ++i) {
    const HistoryEvent &mine = history.events[i], &theirs = listed->events[i];
    ASSERT_EQ(mine.action, theirs.action) << i;
    ASSERT_EQ(mine.stream, theirs.stream) << i;
    ASSERT_EQ(mine.address, theirs.address) << i;
    ASSERT_EQ(mine.bytes, theirs.bytes) << i;
    ASSERT_EQ(mine.device_free, theirs.device_free) << i;
  }

  ReplayOptions options;
  if (history.capacity) options.capacity = *history.capacity;
  const auto result = replay(history, options);
  ASSERT_TRUE(result) << result.error().text();
  const RecordedFigures recorded = recorded_figures(history);
  EXPECT_EQ(result->addresses_equal, recorded.allocations);
  EXPECT_EQ(result->addresses_total, recorded.allocations);
  EXPECT_EQ(result->statistics.peak_reserved, recorded.peak_reserved);
  EXPECT_EQ(result->statistics.segments_allocated, recorded.segments_allocated);
  EXPECT_EQ(result->statistics.segments_released, recorded.segments_released);
  EXPECT_EQ(static_cast<std::int64_t>(result->failures.size()), recorded.out_of_memory);
}

INSTANTIATE_TEST_SUITE_P(
    Files, RealHistoryTest,
    testing::Values(Case{"cs336/memory_ctx128_forward_.pickle", 0, "cs336-ctx128-forward"},
                    Case{"cs336/memory_ctx128_fullstep_.pickle", 0, "cs336-ctx128-fullstep"},
                    Case{"cs336/memory_ctx512_forward_mixed.pickle", 0,
                         "cs336-ctx512-forward-mixed"},
                    Case{"expandable_segments_oom.pickle", 0, "expandable-dev0"},
                    Case{"expandable_segments_oom.pickle", 1, "expandable-dev1-oom"},
                    Case{kLlama, 0, "llama3-8b-fsdp4-oom"},
                    Case{"mini_snapshot.pickle", 0, "mini"}));

// The trace's own curves are the allocator's: what is allocated and reserved at the end is what the
// replay finds, and nothing is left out.
TEST(RealSnapshotTest, ImportsAddUp) {
  std::vector<fs::directory_entry> files;
  for (const fs::path& folder : {kSamples, kShared / "snapshots"}) {
    if (!fs::exists(folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".pickle") files.push_back(entry);
    }
  }
  EXPECT_GE(files.size(), fs::exists(kShared / "snapshots") ? 7u : 1u);
  for (const auto& entry : files) {
    const auto snapshot = read_snapshot(entry.path().string());
    ASSERT_TRUE(snapshot) << snapshot.error().text();
    const Trace trace = import_snapshot(*snapshot, entry.path().string(), {});
    EXPECT_TRUE(trace.complete);
    EXPECT_TRUE(
        trace.dropped.empty());  // though the segments of mini_snapshot are newer than its trace
    for (const int device : recorded_devices(*snapshot)) {
      std::int64_t allocated = 0, reserved = 0;
      std::map<std::int64_t, std::int64_t> blocks;
      for (const MemoryEvent& e : trace.memory) {
        if (e.rank != device) continue;
        if (e.action == MemoryAction::alloc) allocated += blocks[e.address] = e.bytes;
        if (e.action == MemoryAction::free_requested) allocated -= blocks[e.address];
        if (e.action == MemoryAction::segment_alloc) reserved += e.bytes;
        if (e.action == MemoryAction::segment_free) reserved -= e.bytes;
      }
      const SnapshotHistory found = history_of(*snapshot, device);
      ReplayOptions options;
      if (found.history.capacity) options.capacity = *found.history.capacity;
      const auto result = replay(found.history, options);
      ASSERT_TRUE(result);
      EXPECT_EQ(allocated, result->statistics.allocated) << entry.path() << " " << device;
      EXPECT_EQ(reserved, result->statistics.reserved) << entry.path() << " " << device;
    }
  }
}

// PyTorch 2.11's own answers to the same requests: with expandable segments the job ran out of memory
// at the same request, with 232,843,776 bytes allocated and 246 MiB reserved.
TEST(SampleSnapshotTest, IsReplayedAsPyTorchDecides) {
  const auto snapshot = read_snapshot((kSamples / "snapshot.pickle").string());
  ASSERT_TRUE(snapshot) << snapshot.error().text();
  const AllocatorHistory history = history_of(*snapshot, 0).history;
  EXPECT_EQ(history.capacity, 256 << 20);
  ReplayOptions options;
  options.capacity = *history.capacity;
  const auto result = replay(history, options);
  ASSERT_TRUE(result);
  const RecordedFigures recorded = recorded_figures(history);
  EXPECT_EQ(result->addresses_equal, recorded.allocations);
  EXPECT_EQ(result->statistics.peak_reserved, recorded.peak_reserved);
  EXPECT_EQ(result->failures.size(), 1u);
  options.rules = history.rules;
  options.rules->expandable_segments = true;
  const auto expandable = replay(history, options);
  ASSERT_TRUE(expandable);
  ASSERT_EQ(expandable->failures.size(), 1u);
  EXPECT_EQ(expandable->failures[0].requested, 32 << 20);
  EXPECT_EQ(expandable->failures[0].reserved, 246 << 20);
  EXPECT_EQ(expandable->statistics.peak_allocated, 232'843'776);
}

TEST(SampleSnapshotTest, CategoriesAddUpWhenMemoryRanOut) {
  const std::string path = (kSamples / "snapshot.pickle").string();
  const auto snapshot = read_snapshot(path);
  ASSERT_TRUE(snapshot) << snapshot.error().text();
  const MemoryHolders found = profiler::memory_holders(import_snapshot(*snapshot, path, {}), 0);
  EXPECT_TRUE(found.out_of_memory);
  EXPECT_EQ(found.requested, 32 << 20);
  std::int64_t sum = 0;
  for (const auto& group : found.categories) sum += group.bytes;
  EXPECT_EQ(sum, found.allocated);
}

class LlamaSnapshotTest : public testing::Test {
 protected:
  void SetUp() override {
    const fs::path pickle = kShared / "snapshots" / kLlama;
    if (!fs::exists(pickle)) GTEST_SKIP() << tests::missing(pickle);
    auto snapshot = read_snapshot(pickle.string());
    ASSERT_TRUE(snapshot) << snapshot.error().text();
    snapshot_ = std::move(*snapshot);
    trace_ = import_snapshot(snapshot_, pickle.string(), {});
  }
  Snapshot snapshot_;
  Trace trace_;
};

TEST_F(LlamaSnapshotTest, CategoriesAddUpWhenMemoryRanOut) {
  const MemoryHolders found = profiler::memory_holders(trace_, 0);
  EXPECT_TRUE(found.out_of_memory);
  EXPECT_EQ(found.requested, 4'202'692'608);
  EXPECT_EQ(found.allocated, 36'227'704'832);
  std::map<std::string, std::int64_t> by_category;
  std::int64_t sum = 0;
  for (const auto& group : found.categories) sum += by_category[group.category] = group.bytes;
  EXPECT_EQ(sum, found.allocated);
  EXPECT_EQ(by_category["parameters"], 4'015'130'624);  // 8,030,261,248 of 2 bytes over 4 ranks
  EXPECT_EQ(by_category["unsharded_parameters"], 1'050'681'344);  // norm and head
  EXPECT_EQ(by_category["loss"], 4'202'692'608);
  EXPECT_EQ(by_category["workspaces"], 8'519'680);
  const std::int64_t unknown = by_category["unattributed"] + by_category["before the recording"];
  EXPECT_LE(unknown, found.allocated / 50);
}

TEST_F(LlamaSnapshotTest, NamesWhatWasGathered) {
  const MemoryHolders found = profiler::memory_holders(trace_, 0);
  const auto layers = std::find_if(found.gathered.begin(), found.gathered.end(),
                                   [](const auto& g) { return g.made.block_bytes == 436'224'000; });
  ASSERT_NE(layers, found.gathered.end());
  EXPECT_EQ(layers->made.blocks, 32);
  EXPECT_EQ(layers->made.category, "all_gather");
  EXPECT_EQ(layers->left, 0);
  std::set<std::string> units;
  for (const MemoryEvent& e : trace_.memory) {
    if (e.action == MemoryAction::alloc && e.bytes == 436'224'000) {
      units.insert(trace_.strings[e.owner]);
    }
  }
  EXPECT_EQ(units.size(), 32u);
  EXPECT_TRUE(units.contains("layers.31: all-gather output"));
}

TEST_F(LlamaSnapshotTest, WouldHaveFittedWithoutFragmentation) {
  const AllocatorHistory history = history_of(snapshot_, 0).history;
  EXPECT_EQ(history.capacity, 41'102'213'120);
  ReplayOptions options;
  options.capacity = *history.capacity;
  EXPECT_EQ(replay(history, options)->failures.size(), 1u);
  EXPECT_TRUE(replay(with_unsharded_freed(history, trace_, 0), options)->failures.empty());
  options.rules = history.rules;
  options.rules->expandable_segments = true;
  EXPECT_TRUE(replay(history, options)->failures.empty());
}

}  // namespace
}  // namespace foreshard::traces
