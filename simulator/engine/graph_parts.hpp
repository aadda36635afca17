// The nodes and edges of a TaskGraph in the making.
//
// Of the copies of a repetition that only repeat the one before them (copy_times.hpp) all but the last
// are left out. It follows on the copy before those that are left out, with the same nodes in the same
// order, and the time of those that are left out is a latency of the edges between the two.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "simulator/engine/task_graph.hpp"

namespace foreshard::simulator {

constexpr std::int64_t kNobody = -1;

struct LeftOutCopies {
  std::int64_t count = 0;
  std::size_t last = 0, after = 0;  // nodes: where the last copy begins, and what follows it
  std::size_t first_copy = 0;       // of all
  std::int64_t host_ns = 0, stream_ns = 0;  // from a copy to the next

  // Nodes of a copy. What the host was at when the one before them began may be a node more, or less.
  std::size_t length() const { return after - last; }
  std::int64_t period(const TaskNode& node) const { return node.on_host ? host_ns : stream_ns; }
  // What a copy in the graph or left out of it has, rather than what stands before all of them.
  bool has(std::int64_t node) const {
    return node != kNobody && static_cast<std::size_t>(node) >= first_copy;
  }
  bool lie_between(std::int64_t a, std::int64_t b) const {
    return count > 0 && has(a) && static_cast<std::size_t>(a) < last &&
           static_cast<std::size_t>(b) >= last;
  }
};

struct GraphParts {
  std::vector<TaskNode> nodes;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  std::vector<std::int64_t> latencies;  // of the edges
  LeftOutCopies left_out;               // where there is but one rank

  // Before the instructions of a rank come, of which most have a node and about two edges.
  void expect(std::size_t instructions) {
    nodes.reserve(nodes.size() + instructions);
    edges.reserve(edges.size() + 2 * instructions);
    latencies.reserve(latencies.size() + 2 * instructions);
  }

  std::int64_t add(const TaskNode& node) {
    nodes.push_back(node);
    return static_cast<std::int64_t>(nodes.size()) - 1;
  }

  void order(std::int64_t before, std::int64_t after, std::int64_t latency) {
    if (before == kNobody || after == kNobody) return;
    edges.emplace_back(static_cast<std::uint32_t>(before), static_cast<std::uint32_t>(after));
    if (left_out.lie_between(before, after)) {
      latency += left_out.count * left_out.period(nodes[static_cast<std::size_t>(before)]);
    }
    latencies.push_back(latency);
  }
};

// A communicator's collectives so far: the k-th is one node for all ranks.
struct CommunicatorHistory {
  std::int64_t before = kNobody;  // the last one of earlier steps
  std::vector<std::int64_t> meetings;
};
using CommunicatorHistories = std::map<std::int64_t, CommunicatorHistory>;

// Walks the rank's program of that step; `index` is its place among the ranks. Returns the node of the
// step's end. A node stands behind all nodes of its own rank that it waits for.
std::size_t add_rank(GraphParts& parts, CommunicatorHistories& communicators,
                     const SimulatedRank& rank, const RankTimeline& timeline, std::int64_t step,
                     const EngineOptions& options, std::int32_t index);

}  // namespace foreshard::simulator
