#include "simulator/task_graph.hpp"

#include <gtest/gtest.h>

#include "tests/simulator/small_program.hpp"

namespace foreshard::simulator {
namespace {

constexpr auto kCompute = Stream::compute;
constexpr auto kGather = Stream::all_gather;

struct Simulated {
  explicit Simulated(std::vector<SmallProgram> given) : programs(std::move(given)) {
    for (const SmallProgram& program : programs) ranks.push_back(program.simulated());
    EngineOptions options;
    options.steps = 1;
    options.one_per_class = false;
    timelines = simulate(ranks, options);
  }
  TaskGraph graph() const { return TaskGraph(ranks, timelines, 1, false); }

  std::vector<SmallProgram> programs;
  std::vector<SimulatedRank> ranks;
  std::vector<RankTimeline> timelines;
};

std::vector<std::int32_t> device_instructions(const TaskGraph& graph) {
  std::vector<std::int32_t> result;
  for (const std::size_t node : graph.critical_path()) {
    if (!graph.nodes()[node].on_host) result.push_back(graph.nodes()[node].instruction);
  }
  return result;
}

std::int64_t slack_of(const TaskGraph& graph, std::int32_t instruction, std::int32_t rank = 0) {
  const auto slack = graph.slack();
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const TaskNode& node = graph.nodes()[n];
    if (!node.on_host && node.instruction == instruction && node.rank == rank) return slack[n];
  }
  return -1;
}

TEST(TaskGraph, FollowsTheLongerStream) {
  // Gather 0-70, compute 0-100, then compute waits for both and runs 100-150. The gather could have
  // ended 30 later.
  SmallProgram p;
  p.launch(kGather, 70)
      .record(kGather, 0)
      .launch(kCompute, 100)
      .wait(kCompute, 0)
      .launch(kCompute, 50);
  const Simulated simulated({p});
  const TaskGraph graph = simulated.graph();
  EXPECT_FALSE(graph.has_cycle());
  EXPECT_EQ(device_instructions(graph), (std::vector{2, 4}));
  EXPECT_EQ(slack_of(graph, 0), 30);
  EXPECT_EQ(slack_of(graph, 2), 0);
  EXPECT_EQ(slack_of(graph, 4), 0);
  EXPECT_EQ(graph.longest_chain_ns(), 150);
}

TEST(TaskGraph, PassesThroughCollectivesToTheRankThatCameLast) {
  // Rank 1 arrives at 80, rank 0 at 30; the collective is one node, 80-100.
  SmallProgram a(0, 2), b(1, 2);
  a.launch(kGather, 30).collective(kGather, 20);
  b.launch(kGather, 80).collective(kGather, 20);
  const Simulated simulated({a, b});
  const TaskGraph graph = simulated.graph();
  const auto path = graph.critical_path();
  EXPECT_EQ(graph.nodes()[path[path.size() - 2]].rank, 1);
  EXPECT_EQ(slack_of(graph, 0, 0), 50);
  EXPECT_EQ(slack_of(graph, 0, 1), 0);
}

TEST(TaskGraph, SeesTheHostWhenItIsTheBottleneck) {
  SmallProgram p;
  p.launch(kCompute, 10).record(kCompute, 0).host_wait(0).host_compute(500).launch(kCompute, 10);
  const Simulated simulated({p});
  const TaskGraph graph = simulated.graph();
  const auto path = graph.critical_path();
  EXPECT_TRUE(std::any_of(path.begin(), path.end(), [&](std::size_t n) {
    return graph.nodes()[n].on_host && graph.nodes()[n].instruction == 3;
  }));
  EXPECT_EQ(graph.longest_chain_ns(), 520);
}

TEST(TaskGraph, OfAnEmptyStepIsEmpty) {
  const Simulated simulated({SmallProgram()});
  const TaskGraph graph = simulated.graph();
  EXPECT_TRUE(graph.critical_path().empty());
  EXPECT_EQ(graph.longest_chain_ns(), 0);
}

}  // namespace
}  // namespace foreshard::simulator
