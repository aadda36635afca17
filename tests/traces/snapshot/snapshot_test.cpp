// Small snapshots made by hand (tests/fuzz/corpus/snapshot): a sharded parameter, an all-gather, an
// unsharded parameter and a layer's output, until memory runs out; the same in every protocol, in an
// old schema, with expandable segments, and cut short.
#include "traces/snapshot/snapshot.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <zlib.h>

#include "profiler/replay/memory_holders.hpp"
#include "tests/temporary_folder.hpp"
#include "traces/allocator/allocator_replay.hpp"
#include "traces/snapshot/history.hpp"

namespace foreshard::traces {
namespace {

constexpr std::int64_t kMi = 1 << 20;
constexpr Address kBase = 0x7f0000000000;
using Action = AllocatorAction;

std::string corpus(const std::string& name) {
  return FORESHARD_SOURCE_DIR "/tests/fuzz/corpus/snapshot/" + name + ".pickle";
}
std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Trace import(const std::string& name) {
  auto trace = import_snapshot(corpus(name), ImportOptions{});
  EXPECT_TRUE(trace) << trace.error().text();
  return trace ? std::move(*trace) : Trace{};
}

std::string told(const Trace& trace) {
  std::ostringstream text;
  for (const MemoryEvent& e : trace.memory) {
    text << e.time_ns << ' ' << name(e.action) << ' ' << e.address - kBase << ' ' << e.bytes << ' '
         << e.requested << ' ' << trace.strings[e.category] << ' ' << trace.strings[e.owner]
         << '\n';
  }
  return text.str();
}

TEST(SnapshotTest, IsTheSameInEveryProtocol) {
  const std::string expected =
      "0 segment_alloc 0 20971520 20971520  \n"
      "0 alloc 0 2097152 2097152 parameters sharded parameters\n"
      "1000 segment_alloc 67108864 16777216 16777216  \n"
      "1000 alloc 67108864 16777216 16777216 all_gather layers.0: all-gather output\n"
      "2000 alloc 2097152 16777216 16777216 unsharded_parameters layers.0: unsharded parameter\n"
      "3000 free_requested 67108864 16777216 16777216 all_gather layers.0: all-gather output\n"
      "3000 free_completed 67108864 16777216 16777216 all_gather layers.0: all-gather output\n"
      "4000 segment_alloc 100663296 20971520 20971520  \n"
      "4000 alloc 100663296 4194304 4194304 activations layers.0: linear\n"
      "5000 free_requested 2097152 16777216 16777216 unsharded_parameters layers.0: unsharded "
      "parameter\n"
      "5000 free_completed 2097152 16777216 16777216 unsharded_parameters layers.0: unsharded "
      "parameter\n"
      "6000 segment_free 67108864 16777216 16777216  \n";
  for (const char* name : {"protocol0", "protocol2", "protocol4"}) {
    const Trace trace = import(name);
    const std::string text = told(trace);
    EXPECT_EQ(text.substr(0, expected.size()), expected) << name;
    EXPECT_NE(text.find("7000 out_of_memory"), std::string::npos);
    EXPECT_TRUE(trace.complete);
    EXPECT_EQ(trace.dropped, (std::map<std::string, std::int64_t>{}));
    EXPECT_EQ(trace.complete_until_ns, 7000);
    EXPECT_EQ(trace.metadata.at("source") + trace.metadata.at("cpu_model"), "snapshot");
    ASSERT_EQ(trace.events.size(), 1u);
    EXPECT_EQ(trace.strings[trace.events[0].name], "FSDP::pre_forward (layers.0)");
    EXPECT_EQ(trace.strings[trace.events[0].unit], "layers.0");
  }
}

TEST(SnapshotTest, KeepsStacksWhereAsked) {
  const Trace trace = import("protocol4");
  std::string stack;
  for (const MemoryEvent& e : trace.memory) {
    if (trace.strings[e.category] == "activations") stack = trace.strings[e.stack];
  }
  EXPECT_EQ(stack,
            "forward /x/torch/nn/modules/linear.py:134\n"
            "_call_impl /x/torch/nn/modules/module.py:10");
  const auto bare = import_snapshot(corpus("protocol4"), {.keeps_stacks = false});
  ASSERT_TRUE(bare);
  for (const MemoryEvent& e : bare->memory) EXPECT_EQ(e.stack, 0);
}

TEST(SnapshotTest, BecomesAHistoryWithTheDevicesCapacity) {
  const auto snapshot = read_snapshot(corpus("protocol4"));
  ASSERT_TRUE(snapshot) << snapshot.error().text();
  EXPECT_EQ(recorded_devices(*snapshot), std::vector<int>{0});
  const SnapshotHistory found = history_of(*snapshot, 0);
  EXPECT_EQ(found.misfits, 0);
  // 40 MiB were reserved when memory ran out, 12345 bytes free; 56 MiB at the peak.
  EXPECT_EQ(found.history.capacity, 56 * kMi);
  ReplayOptions options;
  options.capacity = *found.history.capacity;
  const auto result = replay(found.history, options);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->addresses_equal, 3);
  EXPECT_EQ(result->addresses_total, 3);
  EXPECT_EQ(result->failures.size(), 1u);
  EXPECT_EQ(result->statistics.peak_reserved, 56 * kMi);
}

TEST(SnapshotTest, TellsAnEmptiedCacheFromAFullDevice) {
  Snapshot snapshot;
  snapshot.texts = {"", "empty_cache", "malloc"};
  snapshot.frames = {{1, 0, 1}, {2, 0, 1}};
  snapshot.stacks = {{0}, {1}};
  using Did = AllocatorAction;
  const auto event = [](Did action, Address address, std::int64_t bytes, StackId stack = -1) {
    SnapshotEvent e;
    e.action = action;
    e.address = address;
    e.bytes = bytes;
    e.stack = stack;
    return e;
  };
  // 40 MiB reserved once; 20 of them released; then a new segment of `next`.
  const auto inferred = [&](std::int64_t next, StackId stack) {
    snapshot.devices = {{event(Did::segment_alloc, kBase, 20 * kMi),
                         event(Did::segment_alloc, kBase + 20 * kMi, 20 * kMi),
                         event(Did::segment_free, kBase, 20 * kMi, stack),
                         event(Did::segment_alloc, kBase + 64 * kMi, next)}};
    snapshot.segments.clear();
    std::vector<Action> found;
    for (const HistoryEvent& e : history_of(snapshot, 0).history.events) {
      if (e.action == Action::empty_cache || e.action == Action::device_full) {
        found.push_back(e.action);
      }
    }
    return found;
  };
  EXPECT_EQ(inferred(20 * kMi, 0), std::vector{Action::empty_cache});
  EXPECT_EQ(inferred(20 * kMi, 1), std::vector{Action::device_full});
  EXPECT_EQ(inferred(30 * kMi, -1), std::vector{Action::device_full});
  snapshot.devices[0].pop_back();
  EXPECT_EQ(history_of(snapshot, 0).history.events[2].action, Action::empty_cache);
}

// A graph's pool and a MemPool beside the default one, whose free memory would have served each
// other's requests; what the device's refusal released, what the end of each pool, and when.
TEST(SnapshotTest, ReplaysPrivatePools) {
  const auto snapshot = read_snapshot(corpus("private_pools"));
  ASSERT_TRUE(snapshot) << snapshot.error().text();
  EXPECT_TRUE(snapshot->events_name_pools);
  const SnapshotHistory found = history_of(*snapshot, 0);
  EXPECT_EQ(found.misfits, 0);
  EXPECT_EQ(found.left_out, 0);
  const AllocatorHistory& history = found.history;
  EXPECT_EQ(history.pool_ids, (std::vector<PoolId>{{0, 1}, {2, 0}}));
  EXPECT_TRUE(history.private_pools[0].releases_cache);
  EXPECT_FALSE(history.private_pools[1].releases_cache);
  std::vector<std::pair<Action, std::optional<std::size_t>>> from_outside;
  for (const HistoryEvent& e : history.events) {
    if (is_external_event(e.action)) from_outside.emplace_back(e.action, e.pool);
  }
  using Pool = std::optional<std::size_t>;
  EXPECT_EQ(from_outside, (std::vector<std::pair<Action, Pool>>{{Action::device_full, Pool()},
                                                                {Action::release_pool, Pool(0)},
                                                                {Action::empty_cache, Pool(0)},
                                                                {Action::release_pool, Pool(1)},
                                                                {Action::empty_cache, Pool()}}));

  const auto listed =
      read_allocator_history(FORESHARD_SOURCE_DIR "/tests/fuzz/corpus/history/private_pools.jsonl");
  ASSERT_TRUE(listed) << listed.error().text();
  for (const AllocatorHistory* each : {&history, &*listed}) {
    ReplayOptions options;
    options.capacity = *each->capacity;
    const auto result = replay(*each, options);
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_EQ(result->addresses_equal, 7);
    EXPECT_EQ(result->addresses_total, 7);
    EXPECT_TRUE(result->failures.empty());
    EXPECT_EQ(result->statistics.peak_reserved, 150 * kMi);
    EXPECT_EQ(result->statistics.segments_allocated, 5);
    EXPECT_EQ(result->statistics.segments_released, 4);
    EXPECT_EQ(result->statistics.reserved, 2 * kMi);
  }
}

// Before PyTorch 2.12 events do not name their pool; the segments at the end do.
TEST(SnapshotTest, FindsPrivatePoolsBySegments) {
  const auto snapshot = read_snapshot(corpus("private_pools_old"));
  ASSERT_TRUE(snapshot) << snapshot.error().text();
  EXPECT_FALSE(snapshot->events_name_pools);
  const SnapshotHistory found = history_of(*snapshot, 0);
  EXPECT_EQ(found.misfits, 0);
  EXPECT_EQ(found.history.pool_ids, (std::vector<PoolId>{{0, 1}, {2, 0}}));
  EXPECT_FALSE(found.history.private_pools[0].releases_cache);
  ReplayOptions options;
  options.capacity = *found.history.capacity;
  const auto result = replay(found.history, options);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->addresses_equal, 6);
  EXPECT_EQ(result->addresses_total, 6);
  EXPECT_EQ(result->statistics.segments_released, 1);
}

TEST(SnapshotTest, LeavesOutStreamsBeyondTheFirstThousand) {
  Snapshot snapshot;
  auto& events = snapshot.devices.emplace_back();
  for (int i = 0; i < 40'000; ++i) {
    SnapshotEvent event;
    event.address = kBase + i * 2 * kMi;
    event.bytes = 512;
    event.stream = i;
    events.push_back(event);
  }
  const SnapshotHistory found = history_of(snapshot, 0);
  EXPECT_EQ(found.left_out, 40'000 - 1024);
  EXPECT_EQ(replay(found.history, {})->statistics.allocations, 1024);
}

TEST(SnapshotTest, ReadsExpandableSegments) {
  const Trace trace = import("expandable");
  EXPECT_EQ(trace.dropped, (std::map<std::string, std::int64_t>{}));
  const auto snapshot = read_snapshot(corpus("expandable"));
  const SnapshotHistory found = history_of(*snapshot, 0);
  EXPECT_TRUE(found.history.rules.expandable_segments);
  EXPECT_EQ(found.misfits, 0);
  EXPECT_TRUE(found.history.start.empty());
}

TEST(SnapshotTest, ReadsSegmentsAloneOfAnOldSchema) {
  const auto snapshot = read_snapshot(corpus("old_segments"));
  ASSERT_TRUE(snapshot) << snapshot.error().text();
  ASSERT_EQ(snapshot->segments.size(), 2u);
  ASSERT_EQ(snapshot->segments[1].blocks.size(), 2u);
  EXPECT_EQ(snapshot->segments[1].blocks[1].address, kBase + 100 * kMi);
  const Trace trace = import("old_segments");
  std::int64_t allocated = 0;
  for (const MemoryEvent& e : trace.memory) {
    EXPECT_EQ(e.time_ns, 0);
    if (e.action == MemoryAction::alloc) allocated += e.bytes;
  }
  EXPECT_EQ(allocated, 6 * kMi);
}

TEST(SnapshotTest, SaysWhatHeldTheMemory) {
  const profiler::MemoryHolders found = profiler::memory_holders(import("protocol4"), 0);
  EXPECT_TRUE(found.out_of_memory);
  EXPECT_EQ(found.requested, std::int64_t{1} << 33);
  EXPECT_EQ(found.allocated, 6 * kMi);
  ASSERT_EQ(found.categories.size(), 2u);
  EXPECT_EQ(found.categories[0].category, "activations");
  EXPECT_EQ(found.categories[1].bytes, 2 * kMi);
  ASSERT_EQ(found.gathered.size(), 2u);
  EXPECT_EQ(found.gathered[0].made.blocks, 1);
  EXPECT_EQ(found.gathered[0].peak_live, 1);
  EXPECT_EQ(found.gathered[0].left, 0);
}

std::size_t records_of(const Snapshot& snapshot) {
  std::size_t records = snapshot.segments.size();
  for (const auto& events : snapshot.devices) records += events.size();
  return records;
}

TEST(SnapshotTest, EveryCutIsSalvagedOrRefused) {
  const std::string whole = bytes_of(corpus("protocol4"));
  std::size_t most = 0;
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const auto snapshot = parse_snapshot(std::string_view(whole).substr(0, n), "cut.pickle");
    if (!snapshot) {
      EXPECT_NE(snapshot.error().text().find("cut.pickle"), std::string::npos);
      EXPECT_EQ(most, 0u) << "nothing is left of what a shorter cut had, at " << n;
      continue;
    }
    EXPECT_NE(snapshot->incomplete_reason.find("truncated"), std::string::npos);
    const std::size_t records = records_of(*snapshot);
    EXPECT_GE(records + 1, most) << "at " << n;  // the last record may lose a part again
    most = std::max(most, records);
    EXPECT_FALSE(import_snapshot(*snapshot, "cut.pickle", {}).complete);
  }
  EXPECT_EQ(most, 13u);
  EXPECT_FALSE(import("cut").complete);
}

// Damage yields what a cut at the same byte does.
TEST(SnapshotTest, EveryDamageIsSalvagedOrRefused) {
  const std::string whole = bytes_of(corpus("protocol4"));
  std::size_t salvaged = 0;
  for (std::size_t n = 0; n < whole.size(); ++n) {
    for (const char byte : {'\xff', '.', 'R', 'K', '\x94'}) {
      std::string damaged = whole;
      damaged[n] = byte;
      const auto snapshot = parse_snapshot(damaged, "bad.pickle");
      if (!snapshot) {
        EXPECT_NE(snapshot.error().text().find("bad.pickle"), std::string::npos);
        continue;
      }
      if (snapshot->incomplete_reason.empty()) continue;
      ASSERT_TRUE(snapshot->incomplete_reason.starts_with("byte "));
      const std::size_t at = std::stoul(snapshot->incomplete_reason.substr(5));
      EXPECT_EQ(snapshot->dropped.at("bytes after the damage"),
                static_cast<std::int64_t>(damaged.size() - at));
      const auto cut = parse_snapshot(std::string_view(damaged).substr(0, at), "cut.pickle");
      ASSERT_TRUE(cut);
      EXPECT_EQ(records_of(*snapshot), records_of(*cut)) << n;
      const Trace trace = import_snapshot(*snapshot, "bad.pickle", {});
      EXPECT_FALSE(trace.complete);
      EXPECT_EQ(trace.metadata.contains("trouble.0"), !recorded_devices(*snapshot).empty());
      ++salvaged;
    }
  }
  EXPECT_GT(salvaged, whole.size());
}

TEST(SnapshotTest, RefusesDamageBeforeAnythingWasRead) {
  for (const std::string bytes : {"](K\x01\xff", "}(X\x08", "some text", "(lorem ipsum"}) {
    const auto snapshot = parse_snapshot(bytes, "x.pickle");
    ASSERT_FALSE(snapshot) << bytes;
    EXPECT_NE(snapshot.error().text().find("is not a pickle ("), std::string::npos)
        << snapshot.error().text();
  }
  const auto snapshot = parse_snapshot("\x80\x04}(\xff", "x.pickle");
  ASSERT_FALSE(snapshot);
  EXPECT_EQ(snapshot.error().field, "byte 4");
}

TEST(SnapshotTest, SaysWhatAnotherFileIs) {
  for (const auto& [bytes, word] :
       {std::pair("{\"traceEvents\": []}", "JSON from PyTorch's profiler"),
        {"PK\x03\x04", "zip archive"},
        {"[batch]\n", "text, but not JSON"}}) {
    const auto snapshot = parse_snapshot(bytes, "x.pickle");
    ASSERT_FALSE(snapshot) << bytes;
    EXPECT_NE(snapshot.error().text().find(word), std::string::npos) << snapshot.error().text();
  }
}

TEST(SnapshotTest, ReadsGzip) {
  const tests::TemporaryFolder folder;
  const std::string whole = bytes_of(corpus("protocol4")), path = folder.path("x.pickle.gz");
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, whole.data(), static_cast<unsigned>(whole.size()));
  gzclose(file);
  const auto trace = import_snapshot(path, ImportOptions{});
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(told(*trace), told(import("protocol4")));
}

// Opcodes of protocol 1.
std::string text(const std::string& value) {
  return "X" + std::string(1, static_cast<char>(value.size())) + std::string(3, '\0') + value;
}
std::string dict(const std::string& keys_and_values) {
  return "}(" + keys_and_values + "u";
}
std::string list(const std::string& values) {
  return "](" + values + "e";
}

TEST(SnapshotTest, CountsWhatItCannotUse) {
  const std::string odd = dict(text("action") + text("odd"));
  const std::string bare = dict(text("action") + text("alloc"));
  const std::string bytes =
      dict(text("segments") + list("}") + text("device_traces") + list(list(odd + bare))) + ".";
  const auto snapshot = parse_snapshot(bytes, "x.pickle");
  ASSERT_TRUE(snapshot) << snapshot.error().text();
  EXPECT_EQ(snapshot->dropped.at("segments without address, size or device"), 1);
  EXPECT_EQ(snapshot->dropped.at("events of an unknown action"), 1);
  EXPECT_EQ(snapshot->dropped.at("events without address or size"), 1);
}

TEST(SnapshotTest, RefusesWhatIsNoSnapshot) {
  for (const std::string bytes : {"}.", "K\x01.", "N."}) {
    const auto snapshot = parse_snapshot(bytes, "x.pickle");
    ASSERT_FALSE(snapshot);
    EXPECT_NE(snapshot.error().text().find("PyTorch memory snapshot"), std::string::npos);
  }
  EXPECT_FALSE(read_snapshot(FORESHARD_SOURCE_DIR));
  EXPECT_FALSE(read_snapshot("/nowhere/x.pickle"));
}

// One device's trace, named two hundred times: the file has some hundred entries and describes forty
// thousand.
TEST(SnapshotTest, RefusesToRepeatWithoutEnd) {
  std::string again;
  for (int i = 0; i < 200; ++i) again += std::string("h\1", 2);
  const std::string trace = list(std::string(200, '}')) + std::string("q\1", 2);
  const auto snapshot =
      parse_snapshot(dict(text("device_traces") + list(trace + again)) + ".", "x.pickle");
  ASSERT_FALSE(snapshot);
  EXPECT_NE(snapshot.error().text().find("refers to its records"), std::string::npos);
}

}  // namespace
}  // namespace foreshard::traces
