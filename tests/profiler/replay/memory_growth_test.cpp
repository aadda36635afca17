// What grew between two recordings, drawn by hand.
#include "profiler/replay/memory_growth.hpp"

#include <gtest/gtest.h>

#include "tests/profiler/analysis/hand_made_trace.hpp"

namespace foreshard::profiler {
namespace {

using traces::MemoryAction;

constexpr std::int64_t kMi = 1 << 20;

// Blocks of 1 MiB that nobody frees, after one that is freed.
HandMadeTrace recording(int leaked, std::int64_t first_address, const std::string& stack) {
  HandMadeTrace t;
  const auto alloc = [&](std::int64_t address, std::int64_t bytes, const std::string& category,
                         const std::string& owner) {
    t.memory(0, MemoryAction::alloc, 1, address, bytes, category, owner);
  };
  t.memory(0, MemoryAction::segment_alloc, 0, 0, 1 << 30);
  alloc(1, 7 * kMi, "parameters", "sharded parameters");
  alloc(2, 9 * kMi, "activations", "layers.0: linear");
  t.memory(0, MemoryAction::free_requested, 1, 2, 9 * kMi);
  for (int i = 0; i < leaked; ++i) {
    alloc(first_address + i, kMi, "unattributed", "append");
    t.trace.memory.update(t.trace.memory.size() - 1,
                          [&](traces::MemoryEvent& e) { e.stack = t.trace.strings.intern(stack); });
  }
  return t;
}

TEST(MemoryGrowth, IsOfTheRequesterWhateverTheAddresses) {
  const HandMadeTrace before = recording(2, 100, "append train.py:7\nmain train.py:9");
  const HandMadeTrace after = recording(5, 900, "append train.py:7\nmain train.py:9");
  const auto growth = memory_growth(before.trace, after.trace);
  ASSERT_EQ(growth.size(), 1U);
  EXPECT_EQ(growth[0].baseline_bytes, 9 * kMi);
  EXPECT_EQ(growth[0].candidate_bytes, 12 * kMi);
  ASSERT_EQ(growth[0].holders.size(), 1U);
  const HolderGrowth& leak = growth[0].holders[0];
  EXPECT_EQ(leak.owner, "append");
  EXPECT_EQ(leak.bytes(), 3 * kMi);
  EXPECT_EQ(leak.baseline.blocks, 2);
  EXPECT_EQ(leak.candidate.blocks, 5);
  const std::string text = report_text(growth);
  EXPECT_TRUE(text.starts_with(
      "Rank 0 holds 12.00 MiB at the end of the candidate, 3.00 MiB more than at the end of the "
      "baseline.\n"))
      << text;
  EXPECT_NE(text.find("append, train.py:7\n"), std::string::npos) << text;
  EXPECT_NE(text.find("append train.py:7\n    main train.py:9\n"), std::string::npos) << text;
}

TEST(MemoryGrowth, TellsStacksApart) {
  const HandMadeTrace before = recording(4, 100, "append train.py:7");
  const HandMadeTrace after = recording(1, 100, "append train.py:8");
  const auto growth = memory_growth(before.trace, after.trace);
  ASSERT_EQ(growth.size(), 1U);
  ASSERT_EQ(growth[0].holders.size(), 2U);
  EXPECT_EQ(growth[0].holders[0].bytes(), kMi);
  EXPECT_EQ(growth[0].holders[1].bytes(), -4 * kMi);
  EXPECT_NE(report_text(growth).find("others shrank by 4.00 MiB"), std::string::npos);
}

TEST(MemoryGrowth, OfARecordingAndItselfIsNone) {
  const HandMadeTrace t = recording(2, 100, "append train.py:7");
  const auto growth = memory_growth(t.trace, t.trace);
  ASSERT_EQ(growth.size(), 1U);
  EXPECT_TRUE(growth[0].holders.empty());
  EXPECT_EQ(report_text(growth),
            "Rank 0 holds 9.00 MiB at the end of both, requested by the same.\n");
}

}  // namespace
}  // namespace foreshard::profiler
