// A simulated step as a graph: what had to happen before what, so that one can ask which chain of
// tasks made the step as long as it was, and how much later any other task could have ended.
//
// Nodes are the tasks of the streams and what the host does itself, waits for, or issues; a
// collective is one node for all its ranks. An edge says that the one must end before the other
// starts: order of the host, issue before execution, order of a stream, events, order of a
// communicator. The graph is a view of the engine's arrays, built when asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "simulator/engine.hpp"

namespace foreshard::simulator {

struct TaskNode {
  std::int32_t rank = 0;         // index of the simulated rank; of a collective, the first
  std::int32_t instruction = 0;  // in the step's program
  bool on_host = false;          // the host's part of the instruction, not the stream's
  std::int64_t start = 0;
  std::int64_t end = 0;
};

class TaskGraph {
 public:
  // `timelines[r]` is that of `ranks[r]`, as simulate() returned it.
  TaskGraph(std::span<const SimulatedRank> ranks, std::span<const RankTimeline> timelines,
            std::int64_t step, bool one_per_class);
  TaskGraph(TaskGraph&&) noexcept;
  TaskGraph& operator=(TaskGraph&&) noexcept;
  ~TaskGraph();

  const std::vector<TaskNode>& nodes() const;
  std::size_t edges() const;

  // A cycle would be a step that can never finish.
  bool has_cycle() const;

  // Indices of nodes, first to last: from the last one to end, always back to the one that ended
  // last among those it had to wait for.
  std::vector<std::size_t> critical_path() const;

  // By node: how much later it could have ended without the step ending later, everything else
  // taking as long as it did.
  std::vector<std::int64_t> slack() const;

  // Length of the longest chain of durations alone, without waiting for host or latencies.
  std::int64_t longest_chain_ns() const;

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

}  // namespace foreshard::simulator
