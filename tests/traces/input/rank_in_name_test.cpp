#include "traces/input/rank_in_name.hpp"

#include <gtest/gtest.h>

namespace foreshard::traces {
namespace {

TEST(RankInName, IsTheLastThatANumberFollows) {
  EXPECT_EQ(rank_in_name("a/rank-12.trace.json"), 12);
  EXPECT_EQ(rank_in_name("rank0.json.gz"), 0);
  EXPECT_EQ(rank_in_name("deepseek_rank7_of_64.json"), 7);
  EXPECT_EQ(rank_in_name("iteration_10_rank3_memory.pickle"), 3);
  EXPECT_EQ(rank_in_name("lowrank8_rank_2_ranks.json"), 2);
  EXPECT_FALSE(rank_in_name("rank1/rank_not_found.json"));
  EXPECT_FALSE(rank_in_name("rank99999999999.json"));
}

}  // namespace
}  // namespace foreshard::traces
