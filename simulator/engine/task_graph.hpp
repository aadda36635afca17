// A simulated step as a graph: what had to happen before what, so that one can ask which chain of
// tasks made the step as long as it was, and how much later any other task could have ended.
//
// Nodes are the tasks of the streams and stretches of host threads: the beginning of its step, what
// the host issued since the node before, what it computed itself, the moment a wait of it was over. A
// collective is one node for all its ranks. What an earlier step left running is a node without
// length; events that a stream was told to wait for in an earlier step, and that none of its work
// there waited for, are not followed. An edge means that the one must end, and a latency pass, before
// the other starts: order of the host, issue before execution, order of a stream, events, order of a
// communicator. Every node but the first of a host starts exactly when the last of its edges lets it
// (engine.hpp; to the nanosecond that the shared engine rounds). The graph is a view of the engine's
// arrays, built when asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "simulator/engine/engine.hpp"

namespace foreshard::simulator {

struct TaskNode {
  std::int32_t rank = 0;  // index of the simulated rank; of a collective, the first
  // As it is written down in the step's program; kNone: end of the step, or before it.
  std::int32_t instruction = kNone;
  bool on_host = false;  // the host's part of the instruction, not the stream's
  std::int64_t start = 0;
  std::int64_t end = 0;
  bool computes = false;  // on the host: the work itself, not its issue
};

// `before` must be over, and `latency` have passed, when `after` starts. Indices of nodes.
struct TaskEdge {
  std::uint32_t before = 0;
  std::uint32_t after = 0;
  std::int64_t latency = 0;
};

// A node of the critical path. Copies of a repetition that only repeat the one before them
// (copy_times.hpp) are left out of the graph: its nodes of the last copy are theirs as well.
struct PathNode {
  std::size_t node = 0;
  std::int64_t copies_back = 0;  // of the last copy's nodes: so many copies before it

  bool operator==(const PathNode&) const = default;
};

// Nodes first to last. The copies that are left out may go the same way one after the other: `nodes` then
// have the first of them, in [begin, end), and `more` follow it there.
struct CriticalPath {
  std::vector<PathNode> nodes;
  std::size_t begin = 0, end = 0;
  std::int64_t more = 0;

  std::int64_t times(std::size_t n) const { return begin <= n && n < end ? 1 + more : 1; }
  PathNode last_of(std::size_t n) const {
    return {nodes[n].node, nodes[n].copies_back + 1 - times(n)};
  }
};

class TaskGraph {
 public:
  // `timelines[r]` is that of `ranks[r]`, as simulate() returned it with these options.
  TaskGraph(std::span<const SimulatedRank> ranks, std::span<const RankTimeline> timelines,
            std::int64_t step, const EngineOptions& options);
  TaskGraph(TaskGraph&&) noexcept;
  TaskGraph& operator=(TaskGraph&&) noexcept;
  ~TaskGraph();

  const std::vector<TaskNode>& nodes() const;
  // Between a node of the last copy and one of the copy before it, the latency includes what the copies
  // that are left out took.
  std::vector<TaskEdge> edges() const;

  // The end of the step of the rank that took longest; where the critical path leads.
  std::size_t last() const;

  // A cycle would be a step that can never finish.
  bool has_cycle() const;

  // From the end of the longest step always back to the one that let the node start when it did. They
  // and the latencies between them follow on each other without a gap; the first starts with the step,
  // or stands for what an earlier step left running.
  CriticalPath critical_path() const;
  // The node with the times of its copy.
  TaskNode at(const PathNode& place) const;

  // By node: how much later it could have ended without any rank's step taking longer than the
  // longest did, everything else taking as long as it did. Ranks begin a step at different times and
  // need not end it together: each may end as long after its beginning as the longest step took. What
  // no rank waits for in the step may end when the last of all that does. Of a node that stands for
  // several copies' the least.
  std::vector<std::int64_t> slack() const;

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

}  // namespace foreshard::simulator
