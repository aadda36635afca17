// foreshard replay from outside: the contract of its answer, decisions, other settings, and what it
// reports for input that is none. The snapshot is a small one made by hand, which runs out of memory.
#include <fstream>

#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

using nlohmann::json;

const std::string kSnapshot = FORESHARD_SOURCE_DIR "/tests/fuzz/corpus/snapshot/protocol4.pickle";
const std::string kList = FORESHARD_SOURCE_DIR "/tests/golden/allocator/mini.jsonl.gz";
const std::string kFull =
    FORESHARD_SOURCE_DIR "/tests/golden/allocator/expandable-dev1-oom.jsonl.gz";

// Sentences that fill several lines, each on one.
std::string unwrapped(std::string text) {
  for (std::size_t at = 0; (at = text.find("\n  ", at)) != std::string::npos;) {
    text.replace(at, 3, " ");
  }
  return text;
}

TEST(Replay, AnswersForAnEventList) {
  const Workplace place;
  const json answer = place.run_json({"replay", kList, "--decisions", "d.jsonl"});
  const json expected = {{"events", 50},
                         {"peak_allocated_bytes", 402753536},
                         {"peak_reserved_bytes", 421527552},
                         {"segments_allocated", 14},
                         {"segments_released", 0},
                         {"ooms", 0},
                         {"addresses_equal", 28},
                         {"addresses_total", 28}};
  for (const auto& [field, value] : expected.items()) EXPECT_EQ(answer.at(field), value) << field;
  EXPECT_TRUE(answer.at("contents").is_null());
  EXPECT_TRUE(answer.at("what_if").empty());
  std::ifstream file(place.path("d.jsonl"));
  std::int64_t addresses = 0, segments = 0;
  for (std::string line; std::getline(file, line);) {
    const json decision = json::parse(line);
    addresses += decision.contains("addr");
    segments += decision.contains("segment_bytes");
  }
  EXPECT_EQ(addresses, 28);
  EXPECT_EQ(segments, 14);
}

TEST(Replay, KnowsWhereTheRecordingRanOutOfMemory) {
  const Workplace place;
  const json answer = place.run_json({"replay", kFull});
  EXPECT_EQ(answer.at("ooms"), 1);
  EXPECT_EQ(answer.at("addresses_equal"), answer.at("addresses_total"));
  EXPECT_EQ(answer.at("capacity_bytes"), 84298432512);
  EXPECT_EQ(answer.at("recorded").at("ooms"), 1);
  EXPECT_GE(answer.at("what_if").size(), 4u);
  const json larger = place.run_json({"replay", kFull, "--capacity", "96GiB"});
  EXPECT_EQ(larger.at("ooms"), 0);
  const json smaller = place.run_json({"replay", kFull, "--device-memory", "60GiB"});
  EXPECT_GT(smaller.at("ooms"), 1);
}

TEST(Replay, SaysWhatASnapshotHeld) {
  const Workplace place;
  const json answer = place.run_json({"replay", kSnapshot});
  EXPECT_EQ(answer.at("device"), 0);
  EXPECT_EQ(answer.at("addresses_equal"), 3);
  const json& held = answer.at("contents");
  EXPECT_TRUE(held.at("out_of_memory"));
  EXPECT_EQ(held.at("by_category_bytes"),
            json({{"activations", 4 << 20}, {"parameters", 2 << 20}}));
  EXPECT_EQ(held.at("gathered").size(), 2u);
  const Outcome text = place.run({"replay", kSnapshot});
  EXPECT_EQ(text.status, 0);
  EXPECT_NE(unwrapped(text.out).find("all 3 addresses match"), std::string::npos) << text.out;
  EXPECT_NE(unwrapped(text.out).find("The cause is not fragmentation"), std::string::npos)
      << text.out;
  EXPECT_NE(text.out.find("1 block of 4,194,304 B"), std::string::npos) << text.out;
}

// A list by hand: 30 of 40 MiB are held, cut up so that 8 MiB fit nowhere, and the program freed a
// neighbour too late.
TEST(Replay, SaysFirstWhetherTheRunWouldHaveBeenSaved) {
  const Workplace place;
  std::string list = R"({"settings": {}})"
                     "\n";
  const auto add = [&](const char* action, int address_mib, int mib, const char* more = "") {
    list += R"({"action": ")" + std::string(action) + R"(", "addr": )" +
            std::to_string(std::int64_t{address_mib} << 20) + R"(, "size": )" +
            std::to_string(std::int64_t{mib} << 20) + R"(, "stream": 0)" + more + "}\n";
  };
  for (const int segment : {100, 200}) {
    add("segment_alloc", segment, 20);
    add("alloc", segment, 8);
    add("alloc", segment + 8, 8);
  }
  for (const int freed : {108, 208}) {
    add("free_requested", freed, 8);
    add("free_completed", freed, 8);
  }
  add("oom", 0, 18, R"(, "device_free": 0)");
  place.write("list.jsonl", list);
  const json answer = place.run_json({"replay", "list.jsonl"});
  EXPECT_EQ(answer.at("ooms"), 1);
  EXPECT_FALSE(answer.at("fits"));
  EXPECT_EQ(answer.at("spare_bytes"), -(18 << 20));
  EXPECT_TRUE(answer.at("recorded").at("is_reproduced"));
  EXPECT_EQ(answer.at("recorded").at("first_failure_event"), 10);
  const json& held = answer.at("at_first_failure");
  EXPECT_EQ(held.at("fragmentation_bytes"), 24 << 20);
  EXPECT_EQ(held.at("largest_free_block_bytes"), 12 << 20);
  ASSERT_EQ(answer.at("what_if").at(0).at("change"), "expandable_segments=true");
  EXPECT_EQ(answer.at("what_if").at(0).at("how"),
            "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");

  const Outcome recorded = place.run({"replay", "list.jsonl"});
  EXPECT_NE(unwrapped(recorded.out)
                .find("\nOut of memory: allocating 18.00 MiB failed with 16.00 MiB "
                      "allocated.\n"),
            std::string::npos)
      << recorded.out;
  EXPECT_NE(unwrapped(recorded.out)
                .find("24.00 MiB (60.0 % of the reserved memory) was free but fragmented"),
            std::string::npos);
  const Outcome larger = place.run({"replay", "list.jsonl", "--capacity", "60MiB"});
  EXPECT_NE(unwrapped(larger.out)
                .find("\nOn a device with 60.00 MiB for the allocator the run would have "
                      "fitted: peak reserved 58.00 of 60.00 MiB, 2.00 MiB to spare.\n"),
            std::string::npos)
      << larger.out;
  const Outcome other = place.run({"replay", "list.jsonl", "--allocator", "max_split_size_mb=64"});
  EXPECT_NE(unwrapped(other.out).find(
                "With max_split_size_mb=64 the run would have run out of memory all the "
                "same, at the same request: allocating 18.00 MiB failed, 18.00 MiB short."),
            std::string::npos)
      << other.out;
}

TEST(Replay, ProvesNothingWithoutAnAllocation) {
  const Workplace place;
  place.write("list.jsonl", "{\"settings\": {}}\n{\"action\": \"empty_cache\"}\n");
  EXPECT_FALSE(place.run_json({"replay", "list.jsonl"}).at("recorded").at("is_reproduced"));
  const Outcome text = place.run({"replay", "list.jsonl"});
  EXPECT_EQ(unwrapped(text.out).find("addresses match"), std::string::npos) << text.out;
  EXPECT_NE(unwrapped(text.out).find("Replay check: not possible"), std::string::npos) << text.out;
}

TEST(Replay, TakesOtherSettings) {
  const Workplace place;
  const json answer = place.run_json({"replay", kList, "--allocator", "expandable_segments=true"});
  EXPECT_LT(answer.at("addresses_equal"), answer.at("addresses_total"));
  EXPECT_EQ(answer.at("peak_reserved_bytes").get<std::int64_t>() % (2 << 20), 0);
}

TEST(Replay, RefusesWhatMakesNoSense) {
  const Workplace place;
  place.write("empty.jsonl", "");
  place.write("text.pickle", "no pickle at all");
  // Without memory events there is nothing to replay, and nothing that would be proven.
  place.write("kineto.json", R"({"schemaVersion": 1, "traceEvents": [{"ph": "X", "ts": 1}]})");
  place.write("deep.jsonl", "{\"settings\": {}}\n{\"action\": \"alloc\", \"stream\": " +
                                std::string(400'000, '[') + std::string(400'000, ']') + "}\n");
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{kList, "--allocator", "expandable_segment=1"}, "did you mean 'expandable_segments'?"},
      {{kList, "--allocator", "max_split_size_mb=3"}, "more than 20"},
      {{kList, "--capacity", "many"}, "--device-memory"},
      {{kList, "--device", "0"}, "--device"},
      {{kSnapshot, "--device", "5"}, "nothing of device 5"},
      {{kList, "--decisions", "nowhere/d.jsonl"}, "nowhere"},
      {{"missing.pickle"}, "missing.pickle"},
      {{"empty.jsonl"}, "empty.jsonl"},
      {{"text.pickle"}, "text, but not JSON"},
      {{"kineto.json"}, "JSON from PyTorch's profiler"},
      {{"deep.jsonl"}, "nests deeper"},
      {{"model"}, "folder"},
  };
  for (const auto& [arguments, word] : cases) {
    std::vector<std::string> all = {"replay"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Outcome outcome = place.run(all);
    EXPECT_EQ(outcome.status, 2) << word;
    EXPECT_TRUE(outcome.err.starts_with("foreshard: error: ")) << outcome.err;
    EXPECT_NE(outcome.err.find(word), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
}

}  // namespace
}  // namespace foreshard::cli_tests
