// What a cost key says of attention with a window.
#include "models/program/operators.hpp"

#include <gtest/gtest.h>

namespace foreshard {
namespace {

CostKey attention(Operator op, std::int64_t sequence, std::int64_t window) {
  return {op, DType::bf16, DType::bf16, DType::bf16, {2, sequence, 6, 3, 8, window}};
}

// Two products of the scores forward and five backward, of two operations for each element of a head.
TEST(AttentionCost, CountsThePairsThatAreSeen) {
  for (const std::int64_t sequence : {1, 2, 7, 64}) {
    for (std::int64_t window = 0; window <= sequence; ++window) {
      double pairs = 0;
      for (std::int64_t query = 0; query < sequence; ++query) {
        for (std::int64_t key = 0; key <= query; ++key) {
          if (window == 0 || key > query - window) ++pairs;
        }
      }
      const double products = 2 * 6 * pairs * 8 * 2;  // batch, heads, pairs, head_dim
      EXPECT_EQ(flops(attention(Operator::attention, sequence, window)), 2 * products);
      EXPECT_EQ(flops(attention(Operator::attention_backward, sequence, window)), 5 * products);
    }
  }
  EXPECT_EQ(flops(attention(Operator::attention_full, 64, 0)), 4 * 12 * 64 * 64 * 8);
}

TEST(AttentionCost, WindowsAreWrittenAndRead) {
  const CostKey with = attention(Operator::attention, 64, 16),
                without = attention(Operator::attention, 64, 0);
  EXPECT_EQ(text(with), "attention bf16 2 64 6 3 8 16");
  EXPECT_EQ(text(without), "attention bf16 2 64 6 3 8");
  EXPECT_NE(CostKeyHash()(with), CostKeyHash()(without));
  for (const CostKey& key : {with, without}) {
    CostKey read;
    ASSERT_TRUE(parse_cost_key(text(key), read));
    EXPECT_EQ(read, key);
  }
  CostKey read;
  EXPECT_FALSE(parse_cost_key("attention bf16 2 64 6 3 8 16 1", read));
}

}  // namespace
}  // namespace foreshard
