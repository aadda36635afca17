// What each piece of a program costs depends on where it is done as well as on its key.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "simulator/costs/cost_model.hpp"
#include "tests/simulator/small_program.hpp"

namespace foreshard::simulator {
namespace {

// Work of the host takes 1000, of a stream 1, a collective 100 for every node of its group.
class ByPlace final : public CostModel {
 public:
  ByPlace() { platform.ranks_per_node = 4; }
  CostEstimate estimate(const CostKey& key, const TaskPlace& place) const override {
    const double ns = is_collective(key.op) ? 100.0 * static_cast<double>(place.nodes)
                      : place.on_host       ? 1000
                                            : 1;
    return {ns, {}, CostSource::modelled, 0};
  }
};

TEST(ProgramCosts, OneKeyHasACostForEachPlace) {
  // Eight ranks on two nodes of four; shard groups of four stay inside a node.
  SmallProgram p(0, 8);
  p.program.place[Group::shard] = {4, 0, 0, 1};
  p.launch(Stream::compute, 0).host_compute(0);
  p.collective(Stream::all_gather, 0, Group::shard);
  p.collective(Stream::all_gather, 0, Group::world);
  auto& instructions = p.program.programs[1].instructions;
  p.program.cost_keys[0].op = Operator::adamw;
  p.program.cost_keys[2].op = Operator::all_reduce;
  instructions[1].cost_key = instructions[0].cost_key;
  instructions[3].cost_key = instructions[2].cost_key;

  const ProgramCosts costs = priced_costs(p.program, ByPlace(), counted_costs(p.program));
  const auto ns = [&](std::size_t i) {
    return costs.costs[cost_index(instructions[i], cost_places(p.program.place))].ns;
  };
  EXPECT_EQ(ns(0), 1);
  EXPECT_EQ(ns(1), 1000);
  EXPECT_EQ(ns(2), 100);
  EXPECT_EQ(ns(3), 200);
}

class Endless final : public CostModel {
 public:
  CostEstimate estimate(const CostKey&, const TaskPlace&) const override {
    return {1e30, {}, CostSource::modelled, 0};
  }
};

TEST(ProgramCosts, NoneIsLongerThanForever) {
  SmallProgram p;
  p.launch(Stream::compute, 0);
  EXPECT_EQ(priced_costs(p.program, Endless(), counted_costs(p.program)).costs[0].ns,
            1'000'000'000'000'000'000);
}

TEST(ProgramCosts, NodesOfAGroupAreThoseItsRanksStandOn) {
  EXPECT_EQ(nodes_of({8, 0, 0, 1}, 8), 1);
  EXPECT_EQ(nodes_of({6, 0, 6, 1}, 8), 2);   // ranks 6 to 11 on nodes of 8
  EXPECT_EQ(nodes_of({4, 0, 2, 6}, 8), 3);   // 2, 8, 14, 20
  EXPECT_EQ(nodes_of({3, 0, 0, 16}, 8), 3);  // 0, 16, 32: the nodes between hold none of it
  EXPECT_EQ(nodes_of({16, 0, 0, 1}, 0), 1);  // no nodes
}

TEST(ProgramCosts, TheFewestOfAGroupOnANodeAreCounted) {
  // By counting: groups of several strides on nodes of several sizes.
  for (const int on_a_node : {1, 2, 4, 6, 8}) {
    for (const int stride : {1, 2, 4, 8}) {
      if (on_a_node % stride != 0 && stride < on_a_node) continue;
      for (int size = 1; size <= 24; ++size) {
        for (int first = 0; first < 2 * on_a_node; ++first) {
          std::map<int, std::int64_t> of_node;
          for (int i = 0; i < size; ++i) ++of_node[(first + i * stride) / on_a_node];
          std::int64_t fewest = size;
          for (const auto& [node, ranks] : of_node) fewest = std::min(fewest, ranks);
          EXPECT_EQ(fewest_on_a_node({size, 0, first, stride}, on_a_node), fewest)
              << size << " from " << first << " by " << stride << " on " << on_a_node;
        }
      }
    }
  }
  EXPECT_EQ(fewest_on_a_node({6, 0, 6, 1}, 8), 2);    // 6 and 7, 8 to 11
  EXPECT_EQ(fewest_on_a_node({16, 0, 0, 1}, 0), 16);  // no nodes
}

}  // namespace
}  // namespace foreshard::simulator
