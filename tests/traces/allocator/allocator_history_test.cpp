// Real histories of PyTorch's allocator, predicted blind: the replay is given requests, frees, calls of
// empty_cache and the driver's answers, with the names of blocks made arbitrary, sizes of segments
// erased, releases left out and failures turned into plain requests. Every address, segment,
// release and failure must come out as recorded.
#include "traces/allocator/allocator_history.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <unordered_map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "models/allocator/virtual_segments.hpp"
#include "tests/models/lowering/recorded_cases.hpp"
#include "tests/outside_data.hpp"
#include "tests/temporary_folder.hpp"
#include "traces/allocator/allocator_replay.hpp"

namespace foreshard::traces {
namespace {

namespace fs = std::filesystem;
using Action = AllocatorAction;

struct Case {
  fs::path events, expected;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.events.filename().string();
}

// What was decided for one request: like ReplayDecision, but of the blind history's indices.
struct Decided {
  std::int64_t address = -1;
  bool out_of_memory = false;
  std::vector<std::int64_t> segments, releases;
  bool operator==(const Decided&) const = default;
};

void PrintTo(const Decided& d, std::ostream* out) {
  *out << "address " << d.address << (d.out_of_memory ? ", out of memory" : "") << ", segments";
  for (const auto bytes : d.segments) *out << ' ' << bytes;
  *out << ", releases";
  for (const auto bytes : d.releases) *out << ' ' << bytes;
}

struct Question {
  AllocatorHistory blind;
  std::map<std::size_t, Decided> answers;
};

Question ask(const AllocatorHistory& history) {
  Question q{history, {}};
  q.blind.events.clear();
  std::unordered_map<Address, Address> names;
  Decided pending;              // of the next request
  Decided* emptying = nullptr;  // the empty_cache whose releases follow
  Address next_name = 1;
  for (HistoryEvent event : history.events) {
    if (event.action == Action::segment_free || event.action == Action::segment_unmap) {
      (emptying ? *emptying : pending).releases.push_back(event.bytes);
      continue;
    }
    emptying = nullptr;
    const std::size_t index = q.blind.events.size();
    switch (event.action) {
      case Action::segment_alloc:
      case Action::segment_map: pending.segments.push_back(std::exchange(event.bytes, 0)); break;
      case Action::alloc:
      case Action::oom:
        pending.out_of_memory = event.action == Action::oom;
        if (event.action == Action::alloc) {
          pending.address = event.address;
          names[event.address] = next_name;
        }
        q.answers[index] = std::exchange(pending, {});
        event.action = Action::alloc;
        event.address = next_name++;
        break;
      case Action::free_requested:
      case Action::free_completed: {
        const auto name = names.find(event.address);
        const bool is_named = name != names.end();
        if (is_named) event.address = name->second;
        if (is_named && event.action == Action::free_completed) names.erase(name);
        break;
      }
      case Action::empty_cache: emptying = &q.answers[index]; break;
      default: break;
    }
    q.blind.events.push_back(event);
  }
  return q;
}

std::vector<Case> cases() {
  std::vector<Case> found;
  const fs::path root(FORESHARD_SOURCE_DIR);
  for (const char* name : {"mini", "expandable-dev1-oom"}) {
    const fs::path golden = root / "tests/golden/allocator";
    found.push_back({golden / (std::string(name) + ".jsonl.gz"),
                     golden / (std::string(name) + ".expect.json")});
  }
  const fs::path shared = root.parent_path() / "shared/traces/allocator";
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(shared / "events", missing)) {
    const std::string name = entry.path().stem().stem().string();
    found.push_back({entry.path(), shared / "expect" / (name + ".json")});
  }
  return found;
}

class AllocatorHistoryTest : public testing::TestWithParam<Case> {};

TEST_P(AllocatorHistoryTest, IsReproducedBlind) {
  const auto history = read_allocator_history(GetParam().events);
  ASSERT_TRUE(history) << history.error().text();
  const auto expected = nlohmann::json::parse(std::ifstream(GetParam().expected));
  const Question question = ask(*history);

  ReplayOptions options;
  std::int64_t failures = 0;
  for (const auto& failure : expected["oom_and_retry"]) {
    if (failure["kind"] != "oom") continue;
    options.capacity = failure["reserved_after_release"].get<std::int64_t>() +
                       failure["device_free"].get<std::int64_t>();
    ++failures;
  }
  const auto result = replay(question.blind, options);
  ASSERT_TRUE(result) << result.error().text();

  std::map<std::size_t, Decided> decided;
  for (const auto& d : result->decisions) {
    Decided& request = decided[d.index];
    using Kind = ReplayDecision::Kind;
    if (d.kind == Kind::address) request.address = d.value;
    if (d.kind == Kind::segment) request.segments.push_back(d.value);
    if (d.kind == Kind::release) request.releases.push_back(d.value);
    if (d.kind == Kind::out_of_memory) request.out_of_memory = true;
  }
  for (const auto& [index, answer] : question.answers) {
    ASSERT_EQ(decided[index], answer) << "request " << index;
  }

  const AllocatorStatistics& statistics = result->statistics;
  EXPECT_EQ(statistics.peak_allocated, expected["peak_allocated_bytes"]);
  EXPECT_EQ(statistics.peak_active, expected["peak_active_bytes"]);
  EXPECT_EQ(statistics.peak_reserved, expected["peak_reserved_bytes"]);
  EXPECT_EQ(statistics.allocated, expected["end_allocated_bytes"]);
  EXPECT_EQ(statistics.reserved, expected["end_reserved_bytes"]);
  EXPECT_EQ(statistics.segments_allocated, expected["segment_allocs"]);
  EXPECT_EQ(statistics.segments_released, expected["segment_frees"]);
  EXPECT_EQ(result->end.size(), expected["final_segments"]);
  EXPECT_EQ(statistics.out_of_memory, failures);
  for (const auto& failure : expected["oom_and_retry"]) {
    if (failure["kind"] != "oom") continue;
    ASSERT_EQ(result->failures.size(), 1U);
    EXPECT_EQ(result->failures[0].requested, failure["requested"]);
    EXPECT_EQ(result->failures[0].allocated, failure["allocated"]);
    EXPECT_EQ(result->failures[0].reserved, failure["reserved_after_release"]);
  }
}

// Replayed with its own addresses as names, a history shows how many of them came out equal.
TEST_P(AllocatorHistoryTest, CountsEqualAddresses) {
  const auto history = read_allocator_history(GetParam().events);
  ASSERT_TRUE(history) << history.error().text();
  const auto expected = nlohmann::json::parse(std::ifstream(GetParam().expected));
  const auto result = replay(*history, {});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->addresses_total, expected["allocs"]);
  // Without a capacity a request that failed is served, which may change what follows.
  if (expected["ooms"] == 0) {
    EXPECT_EQ(result->addresses_equal, expected["address_exact"]);
  }
}

INSTANTIATE_TEST_SUITE_P(Recorded, AllocatorHistoryTest, testing::ValuesIn(cases()),
                         [](const auto& param) {
                           std::string name = std::to_string(param.index) + "_" +
                                              param.param.events.stem().stem().string();
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Requests of training steps through the real allocator over a driver that hands out descending
// addresses: with the same driver of our own, nothing but the requests is given.
void expect_addresses(const fs::path& log) {
  const std::vector<nlohmann::json> events = log_lines(log);
  const bool has_completions = std::any_of(events.begin(), events.end(), [](const auto& event) {
    return event.value("action", "") == "free_completed";
  });
  VirtualSegments segments;
  CachingAllocator allocator(AllocatorRules{}, std::nullopt, segments);
  std::map<std::string, int> streams;
  std::unordered_map<Address, BlockId> blocks;
  for (const nlohmann::json& event : events) {
    const std::string action = event.value("action", "");
    if (action.empty() || action.starts_with("segment")) continue;  // the header and the answers
    const Address address = event["addr"];
    if (action == "alloc") {
      const int stream =
          streams.try_emplace(event["stream"], static_cast<int>(streams.size())).first->second;
      const auto allocation = allocator.allocate(event["size"], stream);
      ASSERT_TRUE(allocation);
      ASSERT_EQ(allocation->address, address) << event;
      blocks[address] = allocation->block;
    } else if (action == "free_requested") {
      allocator.request_free(blocks.at(address));
      if (!has_completions) allocator.complete_free(blocks.at(address));
    } else {
      ASSERT_EQ(action, "free_completed");
      allocator.complete_free(blocks.at(address));
    }
  }
}

TEST(VirtualSegments, GiveTheAddressesOfADescendingDriver) {
  int logs = 0;
  for (const fs::path& folder :
       {fs::path(FORESHARD_SOURCE_DIR) / "tests/golden/fsdp_requests/events",
        tests::evidence("memory/events")}) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      SCOPED_TRACE(entry.path().string());
      expect_addresses(entry.path());
      ++logs;
    }
  }
  EXPECT_GE(logs, 40);
}

// Other settings over the same requests must still account for every byte at the end.
TEST(AllocatorReplay, OtherSettings) {
  const auto history = read_allocator_history(
      fs::path(FORESHARD_SOURCE_DIR) / "tests/golden/allocator/expandable-dev1-oom.jsonl.gz");
  ASSERT_TRUE(history) << history.error().text();
  for (const bool expandable : {false, true}) {
    for (const std::int64_t split : {0, 64}) {
      for (const std::int64_t divisions : {0, 8}) {
        ReplayOptions options;
        options.rules = AllocatorSettings{.expandable_segments = expandable,
                                          .max_split_size_mb = split,
                                          .roundup_power2_divisions = divisions,
                                          .garbage_collection_threshold = 0.6,
                                          .memory_fraction = 0.95};
        options.capacity = 84 * kGiB.count;
        const auto result = replay(*history, options);
        ASSERT_TRUE(result) << result.error().text();
        std::int64_t reserved = 0, allocated = 0;
        for (const auto& segment : result->end) {
          reserved += segment.bytes;
          for (const auto& part : segment.blocks) {
            if (part.use == SegmentState::Use::allocated) allocated += part.bytes;
          }
        }
        EXPECT_EQ(reserved, result->statistics.reserved);
        EXPECT_EQ(allocated, result->statistics.allocated);
        EXPECT_LE(result->statistics.peak_reserved, options.capacity);
      }
    }
  }
}

TEST(AllocatorReplay, RefusesBlocksThatDoNotTileTheirSegment) {
  AllocatorHistory history;
  history.start = {
      {.address = 4096, .bytes = 2 << 20, .blocks = {{.address = 4096, .bytes = 512}}}};
  const auto result = replay(history, {});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("expected its end"), std::string::npos);
}

}  // namespace
}  // namespace foreshard::traces
