// The arithmetic of the caching allocator: how large requests and segments are.
#include "models/allocator/allocator_rules.hpp"

#include <gtest/gtest.h>

#include "tests/models/allocator/allocator_device.hpp"

namespace foreshard {
namespace {

TEST(AllocatorRules, RoundsRequestsTo512) {
  const AllocatorRules rules;
  EXPECT_EQ(rules.round_size(1), 512);
  EXPECT_EQ(rules.round_size(512), 512);
  EXPECT_EQ(rules.round_size(513), 1024);
  EXPECT_TRUE(AllocatorRules::is_small(kMi));
  EXPECT_FALSE(AllocatorRules::is_small(kMi + 512));
}

TEST(AllocatorRules, SizesSegments) {
  EXPECT_EQ(AllocatorRules::segment_size(512), 2 * kMi);
  EXPECT_EQ(AllocatorRules::segment_size(kMi), 2 * kMi);
  EXPECT_EQ(AllocatorRules::segment_size(kMi + 512), 20 * kMi);
  EXPECT_EQ(AllocatorRules::segment_size(10 * kMi - 512), 20 * kMi);
  EXPECT_EQ(AllocatorRules::segment_size(10 * kMi), 10 * kMi);
  EXPECT_EQ(AllocatorRules::segment_size(10 * kMi + 512), 12 * kMi);
}

TEST(AllocatorRules, RoundsToDivisionsOfAPowerOfTwo) {
  // Between 1024 and 2048 KiB with four divisions: 1024, 1280, 1536, 1792.
  const AllocatorRules rules = AllocatorSettings{.roundup_power2_divisions = 4};
  EXPECT_EQ(rules.round_size(1200 << 10), 1280 << 10);
  EXPECT_EQ(rules.round_size(1 << 20), 1 << 20);
  EXPECT_EQ(rules.round_size((1792 << 10) + 1), 2048 << 10);
  // Not above 512 bytes for each division: the plain rule.
  EXPECT_EQ(rules.round_size(2048), 2048);
  EXPECT_EQ(rules.round_size(1700), 2048);
  // One division is none.
  EXPECT_EQ(AllocatorRules(AllocatorSettings{.roundup_power2_divisions = 1}).round_size(3000),
            3072);
}

TEST(AllocatorRules, DivisionsHoldFromTheirSizeToTheNext) {
  AllocatorRules rules;
  AllocatorRules::Divisions divisions{};
  divisions[0] = 2;   // up to 2 MiB
  divisions[15] = 4;  // from 32 GiB
  rules.round_to_power2_divisions(divisions);
  EXPECT_EQ(rules.round_size((1 << 16) + 1), (1 << 16) + (1 << 15));
  EXPECT_EQ(rules.round_size(2 * kMi + 1), 2 * kMi + 512);
  const std::int64_t many = std::int64_t{64} << 30;
  EXPECT_EQ(rules.round_size(many + 1), many + many / 4);
}

}  // namespace
}  // namespace foreshard
