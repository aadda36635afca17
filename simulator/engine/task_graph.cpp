#include "simulator/engine/task_graph.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <boost/graph/topological_sort.hpp>

#include "simulator/engine/slack_sweep.hpp"

namespace foreshard::simulator {

struct TaskGraph::Graph {
  std::vector<TaskNode> nodes;
  LeftOutCopies left_out;
  Dependencies dependencies;
  std::size_t last = 0;
  std::vector<Deadline> deadlines;  // of each rank's step

  // What a node that `node` waits for is: where that is in the last copy, one of the copy before, which
  // may be left out.
  PathNode in_its_copy(std::size_t before, const PathNode& node) const {
    PathNode place{before, node.copies_back};
    if (left_out.lie_between(static_cast<std::int64_t>(before),
                             static_cast<std::int64_t>(node.node))) {
      while (place.node < left_out.last && place.copies_back < left_out.count) {
        place.node += left_out.length();
        ++place.copies_back;
      }
    }
    if (place.node < left_out.last) place.copies_back = 0;
    return place;
  }

  std::vector<Vertex> in_order() const {  // throws boost::not_a_dag
    std::vector<Vertex> order;
    order.reserve(nodes.size());
    boost::topological_sort(dependencies, std::back_inserter(order));
    std::reverse(order.begin(), order.end());
    return order;
  }
};

TaskGraph::TaskGraph(std::span<const SimulatedRank> ranks, std::span<const RankTimeline> timelines,
                     std::int64_t step, const EngineOptions& options)
    : graph_(std::make_unique<Graph>()) {
  GraphParts parts;
  CommunicatorHistories communicators;
  std::int64_t longest = -1;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const std::size_t end = add_rank(parts, communicators, ranks[r], timelines[r], step, options,
                                     static_cast<std::int32_t>(r));
    const auto n = static_cast<std::size_t>(step);
    const std::int64_t begin = n == 0 ? 0 : timelines[r].step_end_ns[n - 1];
    const std::int64_t length = timelines[r].step_end_ns[n] - begin;
    graph_->deadlines.push_back({end, begin});
    if (length <= longest) continue;
    longest = length;
    graph_->last = end;
  }
  for (Deadline& deadline : graph_->deadlines) deadline.time += longest;
  graph_->dependencies =
      Dependencies(boost::edges_are_unsorted_multi_pass, parts.edges.begin(), parts.edges.end(),
                   parts.latencies.begin(), static_cast<std::uint32_t>(parts.nodes.size()));
  graph_->nodes = std::move(parts.nodes);
  graph_->left_out = parts.left_out;
}

TaskGraph::TaskGraph(TaskGraph&&) noexcept = default;
TaskGraph& TaskGraph::operator=(TaskGraph&&) noexcept = default;
TaskGraph::~TaskGraph() = default;

const std::vector<TaskNode>& TaskGraph::nodes() const {
  return graph_->nodes;
}

std::vector<TaskEdge> TaskGraph::edges() const {
  const Dependencies& all = graph_->dependencies;
  std::vector<TaskEdge> result;
  result.reserve(boost::num_edges(all));
  for (auto [e, end] = boost::edges(all); e != end; ++e) {
    result.push_back({boost::source(*e, all), boost::target(*e, all), all[*e]});
  }
  return result;
}

std::size_t TaskGraph::last() const {
  return graph_->last;
}

bool TaskGraph::has_cycle() const {
  try {
    graph_->in_order();
    return false;
  } catch (const boost::not_a_dag&) {
    return true;
  }
}

CriticalPath TaskGraph::critical_path() const {
  const auto& nodes = graph_->nodes;
  const Dependencies& all = graph_->dependencies;
  CriticalPath result;
  std::vector<PathNode> path{{graph_->last, 0}};  // last to first
  std::size_t entered = 0, left = 0;  // where it comes to the copy at hand, and leaves it
  for (;;) {
    const auto [first, end] = boost::in_edges(static_cast<Vertex>(path.back().node), all);
    if (first == end) break;
    const auto allows = [&](const auto& edge) {
      return nodes[boost::source(edge, all)].end + all[edge];
    };
    const auto latest = std::max_element(
        first, end, [&](const auto& a, const auto& b) { return allows(a) < allows(b); });
    const std::int64_t copy = path.back().copies_back;
    path.push_back(graph_->in_its_copy(boost::source(*latest, all), path.back()));
    if (path.back().copies_back <= copy) continue;
    // A path that comes to two copies at the same node goes through all before them as through these.
    if (entered > 0 && path[entered].node == path.back().node) {
      result.more = graph_->left_out.count - path.back().copies_back;
      for (std::size_t n = entered + 1; n < path.size(); ++n) path[n].copies_back += result.more;
      result.begin = entered + 1;
      left = path.size();
    }
    entered = path.size() - 1;
  }
  result.end = path.size() - result.begin;
  result.begin = path.size() - left;
  std::reverse(path.begin(), path.end());
  result.nodes = std::move(path);
  return result;
}

TaskNode TaskGraph::at(const PathNode& place) const {
  TaskNode node = graph_->nodes[place.node];
  const std::int64_t earlier = place.copies_back * graph_->left_out.period(node);
  node.start -= earlier;
  node.end -= earlier;
  return node;
}

std::vector<std::int64_t> TaskGraph::slack() const {
  std::vector<Vertex> order(graph_->nodes.size());
  std::iota(order.begin(), order.end(), Vertex{0});
  if (graph_->deadlines.size() > 1) order = graph_->in_order();
  return slack_of(graph_->nodes, graph_->dependencies, graph_->left_out, graph_->deadlines, order);
}

}  // namespace foreshard::simulator
