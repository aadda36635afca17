#include "models/allocator/allocator_settings.hpp"

#include <gtest/gtest.h>

namespace foreshard {
namespace {

AllocatorRules rules(const std::string& text) {
  const auto parsed = parse_allocator_settings(text, {}, "--allocator");
  EXPECT_TRUE(parsed) << parsed.error().text();
  return parsed.value_or(AllocatorRules{});
}

std::string complaint(const std::string& text) {
  const auto parsed = parse_allocator_settings(text, {}, "--allocator");
  return parsed ? "" : parsed.error().text();
}

TEST(AllocatorSettingsTest, ReadsPyTorchsNames) {
  EXPECT_TRUE(rules("expandable_segments=true").expandable_segments);
  EXPECT_TRUE(rules("expandable_segments:True").expandable_segments);
  EXPECT_FALSE(rules("expandable_segments=false").expandable_segments);
  const AllocatorRules both = rules("max_split_size_mb=128,garbage_collection_threshold=0.8");
  EXPECT_EQ(both.max_split_size, 128 << 20);
  EXPECT_EQ(both.garbage_collection_threshold, 0.8);
  EXPECT_EQ(both.memory_fraction, 1.0);
  EXPECT_EQ(rules("per_process_memory_fraction:0.9").memory_fraction, 0.9);
}

TEST(AllocatorSettingsTest, TakesAWholeVariableAndNamesWhatIsIdle) {
  IdleSettings idle;
  const auto parsed = parse_allocator_settings(
      "backend:native, expandable_segments : True,max_non_split_rounding_mb:64, "
      "pinned_use_background_threads:True,large_segment_size_mb:40",
      {}, "--allocator", &idle);
  ASSERT_TRUE(parsed) << parsed.error().text();
  EXPECT_TRUE(parsed->expandable_segments);
  EXPECT_EQ(parsed->max_non_split_rounding, 64 << 20);
  EXPECT_EQ(idle.without_effect,
            (std::vector<std::string>{"backend:native", "pinned_use_background_threads:True"}));
  EXPECT_EQ(idle.not_simulated, std::vector<std::string>{"large_segment_size_mb:40"});
}

TEST(AllocatorSettingsTest, ChangesOnlyWhatIsNamed) {
  AllocatorRules given;
  given.max_split_size = 200 << 20;
  const auto parsed = parse_allocator_settings("expandable_segments=1", given, "--allocator");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->max_split_size, 200 << 20);
}

TEST(AllocatorSettingsTest, RoundsByDivisionsOfEachSize) {
  constexpr std::int64_t kMi = 1 << 20;
  EXPECT_EQ(rules("roundup_power2_divisions=4").round_size(1200 * kMi), 1280 * kMi);
  const AllocatorRules list =
      rules("roundup_power2_divisions=[64:8,256:4,>:1],expandable_segments=1");
  EXPECT_TRUE(list.expandable_segments);
  EXPECT_EQ(list.round_size(33 * kMi), 36 * kMi);              // as from 64 MiB on
  EXPECT_EQ(list.round_size(130 * kMi), 144 * kMi);            // still
  EXPECT_EQ(list.round_size(300 * kMi), 320 * kMi);            // from 256
  EXPECT_EQ(list.round_size(600 * kMi + 1), 600 * kMi + 512);  // beyond
}

TEST(AllocatorSettingsTest, SuggestsAndExplains) {
  EXPECT_NE(complaint("expandable_segment=true").find("did you mean 'expandable_segments'?"),
            std::string::npos);
  EXPECT_NE(complaint("backends=native").find("max_split_size_mb"), std::string::npos);
  EXPECT_NE(complaint("backend:cudaMallocAsync").find("expected native"), std::string::npos);
  for (const char* text :
       {"expandable_segments=maybe", "expandable_segments", "max_split_size_mb=20",
        "max_split_size_mb=-1", "max_split_size_mb=1e3", "max_split_size_mb=99999999999999",
        "garbage_collection_threshold=1", "garbage_collection_threshold=0",
        "garbage_collection_threshold=nan", "per_process_memory_fraction=0",
        "per_process_memory_fraction=1.5", "roundup_power2_divisions=3",
        "roundup_power2_divisions=[]", "roundup_power2_divisions=[256:3]",
        "roundup_power2_divisions=[256:1,128:2]", "roundup_power2_divisions=[256:1", ",",
        "roundup_power2_divisions=[300:1]"}) {
    EXPECT_NE(complaint(text).find("--allocator: "), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace foreshard
