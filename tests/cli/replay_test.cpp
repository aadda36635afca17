// foreshard replay from outside: the contract of its answer, decisions, other settings, and what it
// says to input that is none. The snapshot is a small one made by hand, which runs out of memory.
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
  const json smaller = place.run_json({"replay", kFull, "--capacity", "60GiB"});
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
  EXPECT_NE(text.out.find("all 3 addresses are equal"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("Too much, not fragmentation"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("1 block of 4,194,304 B"), std::string::npos) << text.out;
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
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{kList, "--allocator", "expandable_segment=1"}, "expandable_segments, perhaps"},
      {{kList, "--allocator", "max_split_size_mb=3"}, "more than 20"},
      {{kList, "--capacity", "many"}, "--capacity"},
      {{kList, "--device", "0"}, "--device"},
      {{kSnapshot, "--device", "5"}, "nothing of device 5"},
      {{kList, "--decisions", "nowhere/d.jsonl"}, "nowhere"},
      {{"missing.pickle"}, "missing.pickle"},
      {{"empty.jsonl"}, "empty.jsonl"},
      {{"text.pickle"}, "text.pickle"},
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
