#include "executor/cpu/operand_counts.hpp"

#include <stdexcept>

#include <gtest/gtest.h>

namespace foreshard::executor {
namespace {

RankProgram one_launch(const CostKey& key, std::int32_t reads, std::int32_t writes,
                       std::size_t parameters = 0) {
  RankProgram program;
  program.cost_keys.push_back(key);
  program.units.emplace_back();
  program.units[0].parameters.resize(parameters);
  Instruction i;
  i.kind = Kind::launch;
  i.cost_key = 0;
  i.unit = 0;
  i.reads = reads;
  i.writes = writes;
  Program& step = program.programs.emplace_back();
  step.instructions = {i};
  step.operands.resize(static_cast<std::size_t>(reads + writes));
  return program;
}

CostKey key_with(Operator op, std::int64_t fourth = 0) {
  return {op, DType::fp32, DType::fp32, DType::fp32, {4, 4, 4, fourth}};
}

TEST(OperandCounts, OneTooFewIsRefused) {
  EXPECT_NO_THROW(check_operands(one_launch(key_with(Operator::attention_backward), 6, 4)));
  EXPECT_THROW(check_operands(one_launch(key_with(Operator::attention_backward), 5, 4)),
               std::logic_error);
  EXPECT_THROW(check_operands(one_launch(key_with(Operator::attention_backward), 6, 3)),
               std::logic_error);
  EXPECT_NO_THROW(check_operands(one_launch(key_with(Operator::matmul), 2, 2)));
  EXPECT_THROW(check_operands(one_launch(key_with(Operator::matmul, 1), 2, 2)), std::logic_error);
}

TEST(OperandCounts, FollowTheUnit) {
  EXPECT_NO_THROW(check_operands(one_launch(key_with(Operator::adamw), 2, 9, 3)));
  EXPECT_THROW(check_operands(one_launch(key_with(Operator::adamw), 2, 8, 3)), std::logic_error);
  EXPECT_NO_THROW(check_operands(one_launch(key_with(Operator::reduce_scatter_copy_in), 3, 1, 3)));
  EXPECT_THROW(check_operands(one_launch(key_with(Operator::reduce_scatter_copy_in), 4, 1, 3)),
               std::logic_error);
  for (const std::int32_t writes : {1, 3}) {
    EXPECT_NO_THROW(check_operands(one_launch(key_with(Operator::shard_cast), 3, writes, 3)));
  }
  EXPECT_THROW(check_operands(one_launch(key_with(Operator::shard_cast), 3, 2, 3)),
               std::logic_error);
}

}  // namespace
}  // namespace foreshard::executor
