// What collectives cost the work beside them, against a count nanosecond by nanosecond.
#include "simulator/engine/contention.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/simulator/small_program.hpp"

namespace foreshard::simulator {
namespace {

TaskCost collective(std::int64_t ns, float multiprocessors, float memory, float links,
                    float cards) {
  TaskCost cost;
  cost.ns = ns;
  cost.takes = {multiprocessors, memory, links, cards};
  return cost;
}

TaskCost copy(std::int64_t ns, Part way) {
  TaskCost cost;
  cost.ns = ns;
  cost.takes[static_cast<std::size_t>(way)] = 1;
  return cost;
}

TaskCost kernel(std::int64_t ns, Part lacks) {
  TaskCost cost;
  cost.ns = ns;
  cost.lacks = lacks;
  return cost;
}

float any_share() {
  return static_cast<float>(*rc::gen::inRange(0, 11)) / 10;
}

TaskCost any_collective() {
  return collective(*rc::gen::inRange(1, 150), any_share(), any_share(), any_share(), any_share());
}

// What is taken of a part at each nanosecond.
std::vector<double> taken(const TransfersUnderWay& collectives, Part part, std::size_t ns) {
  std::vector<double> sum(ns);
  for (const UnderWay& one : collectives.all()) {
    for (std::int64_t t = one.start; t < std::min<std::int64_t>(one.end, std::ssize(sum)); ++t) {
      sum[static_cast<std::size_t>(t)] += one.takes[static_cast<std::size_t>(part)];
    }
  }
  return sum;
}

RC_GTEST_PROP(Contention, SlowsKernelsByWhatCollectivesTake, ()) {
  TransfersUnderWay collectives;
  for (int i = *rc::gen::inRange(0, 6); i > 0; --i) {
    const std::int64_t start = *rc::gen::inRange(0, 300);
    const TaskCost cost = any_collective();
    collectives.add(start, collectives.end_of_transfer(start, cost), cost);
  }
  const std::int64_t start = *rc::gen::inRange(0, 300);
  const Part lacks = *rc::gen::element(Part::multiprocessors, Part::memory);
  const TaskCost cost = kernel(*rc::gen::inRange(0, 200), lacks);
  const std::vector<double> of_part = taken(collectives, lacks, 10'000);
  double left = static_cast<double>(cost.ns);
  std::size_t now = static_cast<std::size_t>(start);
  for (; left > 1e-9; ++now) left -= 1 - std::min(0.5, of_part.at(now));
  RC_ASSERT(std::abs(static_cast<double>(collectives.end_of_kernel(start, cost)) -
                     static_cast<double>(now)) <= 2);
}

RC_GTEST_PROP(Contention, NoLinkAndNoCardCarriesMoreThanItCan, ()) {
  TransfersUnderWay collectives;
  double links = 0, cards = 0;  // what each must carry, in nanoseconds of its whole rate
  for (int i = *rc::gen::inRange(1, 8); i > 0; --i) {
    const std::int64_t start = *rc::gen::inRange(0, 300);
    const TaskCost cost = any_collective();
    const std::int64_t end = collectives.end_of_transfer(start, cost);
    RC_ASSERT(end >= start + cost.ns);
    collectives.add(start, end, cost);
    links += static_cast<double>(cost.ns) *
             static_cast<double>(cost.takes[static_cast<std::size_t>(Part::links)]);
    cards += static_cast<double>(cost.ns) *
             static_cast<double>(cost.takes[static_cast<std::size_t>(Part::cards)]);
  }
  for (const auto& [part, needed] :
       {std::pair(Part::links, links), std::pair(Part::cards, cards)}) {
    double carried = 0;
    for (const double at : taken(collectives, part, 10'000)) {
      RC_ASSERT(at <= 1.001);
      carried += at;
    }
    RC_ASSERT(std::abs(carried - needed) <= 20);  // of ends that are rounded
  }
}

RC_GTEST_PROP(Contention, IsTheSameLaterOn, ()) {
  TransfersUnderWay collectives;
  for (int i = *rc::gen::inRange(0, 6); i > 0; --i) {
    const std::int64_t start = *rc::gen::inRange(0, 3000);
    const TaskCost cost = any_collective();
    collectives.add(start, collectives.end_of_transfer(start, cost), cost);
  }
  const std::int64_t start = *rc::gen::inRange(0, 3000), later = *rc::gen::inRange(0, 1 << 30);
  const TaskCost cost = kernel(1234, Part::memory);
  const std::int64_t end = collectives.end_of_kernel(start, cost);
  collectives.shift(later);
  RC_ASSERT(collectives.end_of_kernel(start + later, cost) == end + later);
}

// Two that need all of the cards run one after the other; one that needs the links alone beside them.
TEST(Contention, CollectivesShareLinksAndCards) {
  TransfersUnderWay collectives;
  const TaskCost spread = collective(100, 0, 0, 0.2F, 1), inside = collective(100, 0, 0, 0.8F, 0);
  collectives.add(0, 100, spread);
  EXPECT_EQ(collectives.end_of_transfer(50, spread), 200);
  EXPECT_EQ(collectives.end_of_transfer(50, inside), 150);
  EXPECT_EQ(collectives.end_of_transfer(0, collective(100, 0, 0, 1, 0)), 120);
}

// Over the link to the host, as collectives of machines without links between devices go.
TEST(Contention, CopiesInOneDirectionShareTheLinkToTheHost) {
  const auto ends = [](Part first, Part second, bool first_is_collective) {
    SmallProgram p(0, 2);
    if (first_is_collective) {
      p.collective(kGather, 100);
    } else {
      p.copy(kGather, 100);
    }
    p.copy(kCompute, 100);
    p.cost(p.step().instructions[0]) = copy(100, first);
    p.cost(p.step().instructions[1]) = copy(100, second);
    const std::vector<SimulatedRank> ranks{p.simulated()};
    EngineOptions options;
    options.steps = 1;
    return simulate(ranks, options)[0].step(1)[1].end;
  };
  EXPECT_EQ(ends(Part::from_host, Part::to_host, false), 100);
  EXPECT_EQ(ends(Part::from_host, Part::from_host, false), 200);
  EXPECT_EQ(ends(Part::to_host, Part::to_host, true), 200);
}

// A gather of 100 ns beside 200 ns of work that does half meanwhile: 50 of it is done then.
TEST(Contention, StretchesKernelsOfTheComputeStream) {
  SmallProgram p(0, 2);
  p.collective(kGather, 100);
  p.launch(kCompute, 200);
  p.launch(kReduce, 200);
  for (TaskCost& cost : p.costs) {
    cost.takes[static_cast<std::size_t>(Part::memory)] = 0.5F;
    cost.lacks = Part::memory;
  }
  const std::vector<SimulatedRank> ranks{p.simulated()};
  EngineOptions options;
  options.steps = 1;
  const auto timelines = simulate(ranks, options);
  const auto spans = timelines[0].step(1);
  EXPECT_EQ(spans[0].end - spans[0].start, 100);
  EXPECT_EQ(spans[1].end - spans[1].start, 250);
  EXPECT_EQ(spans[2].end - spans[2].start, 200);
}

}  // namespace
}  // namespace foreshard::simulator
