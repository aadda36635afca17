#include "simulator/engine/task_graph.hpp"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "simulator/engine/critical_path.hpp"
#include "tests/simulator/engine/random_program.hpp"
#include "tests/simulator/small_program.hpp"

namespace foreshard::simulator {
namespace {

EngineOptions one_step() {
  EngineOptions options;
  options.steps = 1;
  options.simulated = Simulated::all_ranks;
  return options;
}

struct Simulated {
  explicit Simulated(std::vector<SmallProgram> given) : programs(std::move(given)) {
    for (const SmallProgram& program : programs) ranks.push_back(program.simulated());
    timelines = simulate(ranks, one_step());
  }
  TaskGraph graph() const { return TaskGraph(ranks, timelines, 1, one_step()); }
  StepPath path() const { return step_path(ranks, timelines, 1, one_step()); }

  std::vector<SmallProgram> programs;
  std::vector<SimulatedRank> ranks;
  std::vector<RankTimeline> timelines;
};

std::vector<std::int32_t> device_instructions(const TaskGraph& graph) {
  std::vector<std::int32_t> result;
  const CriticalPath path = graph.critical_path();
  for (const PathNode& place : path.nodes) {
    const TaskNode node = graph.at(place);
    if (!node.on_host) result.push_back(node.instruction);
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
  // Gather 0-70, compute 0-100, then compute waits for both and runs 100-150; the host waits for
  // that. The gather could have ended 30 later.
  SmallProgram p;
  p.launch(kGather, 70).record(kGather, 0).launch(kCompute, 100).wait(kCompute, 0);
  p.launch(kCompute, 50).record(kCompute, 1).host_wait(1);
  const Simulated simulated({p});
  const TaskGraph graph = simulated.graph();
  EXPECT_FALSE(graph.has_cycle());
  EXPECT_EQ(device_instructions(graph), (std::vector{2, 4}));
  EXPECT_EQ(slack_of(graph, 0), 30);
  EXPECT_EQ(slack_of(graph, 2), 0);
  EXPECT_EQ(slack_of(graph, 4), 0);
  EXPECT_EQ(graph.nodes()[graph.last()].end, 150);
}

TEST(TaskGraph, PassesThroughCollectivesToTheRankThatCameLast) {
  // Rank 1 arrives at 80, rank 0 at 30; the collective is one node, 80-100.
  SmallProgram a(0, 2), b(1, 2);
  a.launch(kGather, 30).collective(kGather, 20).record(kGather, 0).host_wait(0);
  b.launch(kGather, 80).collective(kGather, 20).record(kGather, 0).host_wait(0);
  const Simulated simulated({a, b});
  const TaskGraph graph = simulated.graph();
  const auto path = graph.critical_path().nodes;
  const bool passes_rank_1 = std::any_of(path.begin(), path.end(), [&](const PathNode& place) {
    return graph.at(place).rank == 1 && graph.at(place).end == 80;
  });
  EXPECT_TRUE(passes_rank_1);
  EXPECT_EQ(slack_of(graph, 0, 0), 50);
  EXPECT_EQ(slack_of(graph, 0, 1), 0);
}

TEST(TaskGraph, SeesTheHostWhenItIsTheBottleneck) {
  // 10 of the device, then 500 of the host.
  SmallProgram p;
  p.launch(kCompute, 10).record(kCompute, 0).host_wait(0).host_compute(500);
  const Simulated simulated({p});
  const TaskGraph graph = simulated.graph();
  const auto path = graph.critical_path().nodes;
  EXPECT_TRUE(std::any_of(path.begin(), path.end(), [&](const PathNode& place) {
    return graph.at(place).on_host && graph.at(place).instruction == 3;
  }));
  EXPECT_EQ(graph.nodes()[graph.last()].end, 510);
}

TEST(TaskGraph, OfAnEmptyStepIsItsEnd) {
  const Simulated simulated({SmallProgram()});
  const TaskGraph graph = simulated.graph();
  EXPECT_EQ(graph.critical_path().nodes, std::vector<PathNode>{PathNode{}});
  EXPECT_EQ(graph.nodes()[0].end, 0);
}

TEST(StepPath, NamesWorkAndUnitsAndWhatIsBesideThem) {
  // A product of unit a 0-60; a gather of unit b 0-40, for which nobody waits; a reduction of unit
  // a behind the product 60-100; the host waits for it and then computes for 25: 125.
  SmallProgram p;
  p.launch(kCompute, 60).record(kCompute, 0).collective(kGather, 40, Group::shard);
  p.wait(Stream::reduce_scatter, 0).collective(Stream::reduce_scatter, 40, Group::replicate);
  p.record(Stream::reduce_scatter, 1).host_wait(1).host_compute(25);
  p.program.units = {{"a", {}, 0, 0, 0}, {"b", {}, 0, 0, 0}};
  const std::array operators{Operator::matmul, Operator::all_gather, Operator::reduce_scatter,
                             Operator::adamw};
  for (std::size_t k = 0; k < operators.size(); ++k) p.program.cost_keys[k].op = operators[k];
  auto& instructions = p.program.programs[1].instructions;
  instructions[0].unit = instructions[4].unit = 0;
  instructions[2].unit = 1;
  const StepPath path = Simulated({p}).path();
  EXPECT_EQ(path.length_ns, 125);
  EXPECT_EQ(path.communication_ns, 40);
  ASSERT_EQ(path.parts.size(), 3);
  EXPECT_EQ(path.parts[0].name, "matmul");
  EXPECT_EQ(path.parts[0].kind, "compute");
  EXPECT_EQ(path.parts[0].ns, 60);
  EXPECT_EQ(path.parts[1].name, "reduce_scatter");
  EXPECT_EQ(path.parts[1].kind, "communication");
  EXPECT_EQ(path.parts[2].name, "adamw");
  EXPECT_EQ(path.parts[2].kind, "host_compute");
  ASSERT_EQ(path.units.size(), 1);
  EXPECT_EQ(path.units[0].name, "a");
  EXPECT_EQ(path.units[0].ns, 100);
  ASSERT_EQ(path.slack.size(), 4);
  EXPECT_EQ(path.slack.back().name, "all_gather b");
  EXPECT_EQ(path.slack.back().ns, 85);  // anything until the end
}

// The longest way to each node by trying all of them: durations and latencies alone, no start or end
// but those of the nodes that nothing leads to.
class BruteForce {
 public:
  BruteForce(const TaskGraph& graph, std::size_t longer = kNone, std::int64_t by = 0)
      : graph_(graph), edges_(graph.edges()), longer_(longer), by_(by) {}

  std::int64_t end_of(std::size_t n) const {
    const TaskNode& node = graph_.nodes()[n];
    std::int64_t start = 0;
    bool is_source = true;
    for (const TaskEdge& edge : edges_) {
      if (edge.after != n) continue;
      start = std::max(start, end_of(edge.before) + edge.latency);
      is_source = false;
    }
    if (is_source) start = node.start;
    return start + node.end - node.start + (n == longer_ ? by_ : 0);
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  const TaskGraph& graph_;
  std::vector<TaskEdge> edges_;
  std::size_t longer_;
  std::int64_t by_;
};

// A random schedule of both engines with its graph.
struct RandomGraph {
  explicit RandomGraph(std::size_t most, std::int64_t last = 1)
      : ranks(shortened(random_script(), most)), step(last) {
    options.steps = last;
    options.simulated = simulator::Simulated::all_ranks;
    options.shares = *rc::gen::arbitrary<bool>();
    options.host = random_host_costs();
    timelines = simulate(ranks.simulated(), options);
  }
  static RandomScript shortened(RandomScript script, std::size_t most) {
    if (script.size() > most) script.resize(most);
    return script;
  }
  TaskGraph graph() const { return TaskGraph(ranks.simulated(), timelines, step, options); }

  RandomRanks ranks;
  std::int64_t step;
  EngineOptions options;
  std::vector<RankTimeline> timelines;
};

bool is_explained(const TaskGraph& graph) {
  const auto& nodes = graph.nodes();
  std::vector<std::int64_t> allowed(nodes.size(), -1);
  for (const TaskEdge& edge : graph.edges()) {
    allowed[edge.after] = std::max(allowed[edge.after], nodes[edge.before].end + edge.latency);
  }
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (allowed[n] >= 0 && nodes[n].start != allowed[n]) return false;
  }
  return true;
}

RC_GTEST_PROP(TaskGraphs, EveryNodeStartsWhenTheLastOfItsEdgesLetsIt, ()) {
  const RandomGraph random(100);
  const TaskGraph graph = random.graph();
  RC_ASSERT(!graph.has_cycle());
  RC_ASSERT(is_explained(graph));
}

TEST(TaskGraph, WhatIsIssuedAtOnceWaitsForItsStep) {
  // The host issues at no cost and waits 100 for its launch, in each step: nothing but the step's
  // beginning lets the second launch start.
  SmallProgram p;
  p.launch(kCompute, 100).record(kCompute, 0).host_wait(0).host_compute(30);
  p.program.programs[2] = p.program.programs[1];
  const std::vector<SimulatedRank> ranks{p.simulated()};
  EngineOptions options = one_step();
  options.steps = 2;
  const auto timelines = simulate(ranks, options);
  const TaskGraph graph(ranks, timelines, 2, options);
  EXPECT_TRUE(is_explained(graph));
  EXPECT_EQ(graph.at(graph.critical_path().nodes.front()).end, 130);
}

RC_GTEST_PROP(TaskGraphs, TheLongestPathIsTheStep, ()) {
  const RandomGraph random(12);
  const TaskGraph graph = random.graph();
  const std::int64_t a = random.timelines[0].step_end_ns[1], b = random.timelines[1].step_end_ns[1];
  const std::int64_t step = std::max(a, b);
  RC_ASSERT(graph.nodes()[graph.last()].end == step);
  RC_ASSERT(BruteForce(graph).end_of(graph.last()) == step);
  // The path is one without gaps: durations and the latencies of edges that are there.
  const auto path = graph.critical_path().nodes;
  std::int64_t length = graph.at(path.front()).end;
  for (std::size_t i = 1; i < path.size(); ++i) {
    std::int64_t latency = -1;
    for (const TaskEdge& edge : graph.edges()) {
      if (edge.before == path[i - 1].node && edge.after == path[i].node)
        latency = std::max(latency, edge.latency);
    }
    RC_ASSERT(latency >= 0);
    length += latency + graph.at(path[i]).end - graph.at(path[i]).start;
  }
  RC_ASSERT(length == step);
  std::int64_t sum = 0;
  const StepPath report = step_path(random.ranks.simulated(), random.timelines, 1, random.options);
  for (const PathPart& part : report.parts) sum += part.ns;
  RC_ASSERT(sum == step);
  RC_ASSERT(report.length_ns == step);
}

// Whether no rank's step takes longer than the longest did, and nothing ends later than anything had
// to, when one node takes longer. Ranks' steps begin and end at different times.
class StepTimes {
 public:
  StepTimes(const RandomGraph& random, const TaskGraph& graph) : graph_(graph) {
    const auto n = static_cast<std::size_t>(random.step);
    for (const RankTimeline& timeline : random.timelines) {
      begins_.push_back(timeline.step_end_ns[n - 1]);
      longest_ = std::max(longest_, timeline.step_end_ns[n] - begins_.back());
    }
    for (const std::int64_t begin : begins_) latest_ = std::max(latest_, begin + longest_);
    for (const TaskNode& node : graph.nodes()) latest_ = std::max(latest_, node.end);
    ends_.resize(begins_.size());
    for (std::size_t node = 0; node < graph.nodes().size(); ++node) {
      const TaskNode& of = graph.nodes()[node];
      if (of.on_host) ends_[static_cast<std::size_t>(of.rank)] = node;
    }
  }

  bool stay(std::size_t longer, std::int64_t by) const {
    const BruteForce all(graph_, longer, by);
    for (std::size_t rank = 0; rank < ends_.size(); ++rank) {
      if (all.end_of(ends_[rank]) - begins_[rank] > longest_) return false;
    }
    for (std::size_t node = 0; node < graph_.nodes().size(); ++node) {
      if (all.end_of(node) > latest_) return false;
    }
    return true;
  }

 private:
  const TaskGraph& graph_;
  std::vector<std::int64_t> begins_;  // by rank
  std::vector<std::size_t> ends_;     // its last node
  std::int64_t longest_ = 0, latest_ = 0;
};

RC_GTEST_PROP(TaskGraphs, SlackIsHowMuchLongerATaskCanTake, ()) {
  const RandomGraph random(8, *rc::gen::inRange(1, 3));
  const TaskGraph graph = random.graph();
  RC_PRE(is_explained(graph));  // not where a stream's last wait of step 1 delays step 2
  const StepTimes times(random, graph);
  const auto slack = graph.slack();
  for (std::size_t n = 0; n < slack.size(); ++n) {
    RC_ASSERT(times.stay(n, slack[n]));
    RC_ASSERT(!times.stay(n, slack[n] + 1));
  }
}

TEST(TaskGraph, SlackIsOfTheRankWhoseStepIsLongest) {
  // Step 1 takes rank 0 100 and rank 1 300. In step 2 rank 0 computes 100-200 and rank 1 300-350:
  // the step takes 100, so that rank 1, which ends last of all, could be 50 later and rank 0 not.
  SmallProgram a(0, 2), b(1, 2);
  a.launch(kCompute, 100).record(kCompute, 0).host_wait(0);
  a.program.programs[2] = a.program.programs[1];
  b.launch(kCompute, 300).record(kCompute, 0).host_wait(0);
  std::swap(b.program.programs[1], b.program.programs[2]);
  b.launch(kCompute, 50).record(kCompute, 0).host_wait(0);
  std::swap(b.program.programs[1], b.program.programs[2]);
  const std::vector<SimulatedRank> ranks{a.simulated(), b.simulated()};
  EngineOptions options = one_step();
  options.steps = 2;
  const auto timelines = simulate(ranks, options);
  const TaskGraph graph(ranks, timelines, 2, options);
  EXPECT_EQ(graph.nodes()[graph.last()].end, 200);
  EXPECT_EQ(slack_of(graph, 0, 0), 0);
  EXPECT_EQ(slack_of(graph, 0, 1), 50);
}

}  // namespace
}  // namespace foreshard::simulator
