#include "simulator/engine/task_graph.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/topological_sort.hpp>

#include "simulator/engine/graph_parts.hpp"

namespace foreshard::simulator {
namespace {

// The dependencies of a TaskGraph, and how much later each node could have ended: swept from the last one
// to the first.
//
// Where copies of a repetition are left out (graph_parts.hpp), the last copy stands for each of them in
// turn: a copy's slack follows from that of the copy behind it, and once two are equal so are all before.

// With the latency of each edge.
using Dependencies =
    boost::compressed_sparse_row_graph<boost::bidirectionalS, boost::no_property, std::int64_t,
                                       boost::no_property, std::uint32_t, std::uint32_t>;

using Vertex = boost::graph_traits<Dependencies>::vertex_descriptor;

// The end of a rank's step, and when it would have been over had it taken as long as the longest.
struct Deadline {
  std::size_t end = 0;
  std::int64_t time = 0;
};

class SlackSweep {
 public:
  SlackSweep(const std::vector<TaskNode>& nodes, const Dependencies& dependencies,
             const LeftOutCopies& left_out, const std::vector<Deadline>& deadlines)
      : nodes_(nodes), dependencies_(dependencies), left_out_(left_out), slack_(nodes.size()) {
    for (const TaskNode& node : nodes) finish_ = std::max(finish_, node.end);
    for (const Deadline& deadline : deadlines) finish_ = std::max(finish_, deadline.time);
    for (std::size_t n = 0; n < nodes.size(); ++n) slack_[n] = finish_ - nodes[n].end;
    for (const Deadline& deadline : deadlines) {
      slack_[deadline.end] = deadline.time - nodes[deadline.end].end;
    }
  }

  std::vector<std::int64_t> run(const std::vector<Vertex>& order) {
    for (auto v = order.rbegin(); v != order.rend(); ++v) {
      if (left_out_.count > 0 && *v + 1 == left_out_.last) sweep_left_out();
      const auto [first, end] = boost::out_edges(*v, dependencies_);
      for (auto e = first; e != end; ++e) {
        slack_[*v] = std::min(slack_[*v], slack_behind(*e));
      }
    }
    std::copy(least_.begin(), least_.end(),
              slack_.begin() + static_cast<std::ptrdiff_t>(left_out_.last));
    for (std::int64_t& slack : slack_) slack = std::max<std::int64_t>(0, slack);  // rounding
    return std::move(slack_);
  }

 private:
  using Edge = boost::graph_traits<Dependencies>::edge_descriptor;

  const TaskNode& before(const Edge& e) const { return nodes_[boost::source(e, dependencies_)]; }
  std::size_t after(const Edge& e) const { return boost::target(e, dependencies_); }

  // From when the edge lets its end start until that starts.
  std::int64_t margin(const Edge& e) const {
    return nodes_[after(e)].start - dependencies_[e] - before(e).end;
  }
  // A host that leads is further ahead of the streams in each copy.
  std::int64_t lead(const Edge& e, std::int64_t copies) const {
    if (!before(e).on_host || nodes_[after(e)].on_host) return 0;
    return copies * (left_out_.stream_ns - left_out_.host_ns);
  }

  std::int64_t slack_behind(const Edge& e) const {
    const std::size_t node = after(e);
    const bool crosses =
        left_out_.lie_between(static_cast<std::int64_t>(boost::source(e, dependencies_)),
                              static_cast<std::int64_t>(node));
    if (!crosses) return slack_[node] + margin(e);
    if (node >= left_out_.after) return finish_;
    return next_[node - left_out_.last] + margin(e) - lead(e, left_out_.count);
  }

  // From the last of those that are left out to the first, each from the one behind it, until they are
  // equal. The copies then stand for those that follow the first: a host that leads has least there.
  void sweep_left_out() {
    const auto last = slack_.begin() + static_cast<std::ptrdiff_t>(left_out_.last);
    const auto end = slack_.begin() + static_cast<std::ptrdiff_t>(left_out_.after);
    const bool host_leads = left_out_.stream_ns > left_out_.host_ns;
    next_.assign(last, end);
    least_ = next_;
    std::vector<std::int64_t> copy(next_.size());
    for (std::int64_t back = 1; back <= left_out_.count; ++back) {
      bool settles = true;
      for (std::size_t n = copy.size(); n-- > 0;) {
        copy[n] = copy_slack(n, copy, back);
        least_[n] = std::min(least_[n], copy[n]);
        const bool counts = !host_leads || !nodes_[left_out_.last + n].on_host;
        settles &= !counts || copy[n] == next_[n];
      }
      next_.swap(copy);
      if (!settles) continue;
      if (!host_leads) break;
      back = std::max(back, left_out_.count - 1);
    }
  }

  // Of the n-th node of the copy that stands so far before the last.
  std::int64_t copy_slack(std::size_t n, const std::vector<std::int64_t>& copy,
                          std::int64_t back) const {
    const auto node = static_cast<Vertex>(left_out_.last + n);
    std::int64_t slack = finish_ - nodes_[node].end + back * left_out_.period(nodes_[node]);
    const auto [first, end] = boost::out_edges(node, dependencies_);
    for (auto e = first; e != end; ++e) {
      if (after(*e) >= left_out_.after) continue;
      slack = std::min(slack, copy[after(*e) - left_out_.last] + margin(*e) - lead(*e, back));
    }
    const auto [cross, cross_end] = boost::out_edges(
        static_cast<Vertex>(left_out_.last + n - left_out_.length()), dependencies_);
    for (auto e = cross; e != cross_end; ++e) {
      if (after(*e) < left_out_.last || after(*e) >= left_out_.after) continue;
      slack = std::min(slack, next_[after(*e) - left_out_.last] + margin(*e) - lead(*e, back - 1));
    }
    return slack;
  }

  const std::vector<TaskNode>& nodes_;
  const Dependencies& dependencies_;
  const LeftOutCopies& left_out_;
  std::int64_t finish_ = 0;
  std::vector<std::int64_t> slack_;
  // Of the last copy's nodes: those of the copy behind the one at hand, and the least of all copies.
  std::vector<std::int64_t> next_, least_;
};

// By node; of the last copy's the least of all that it stands for. `order` has each node before those that
// wait for it; where copies are left out it is that of their numbers.
std::vector<std::int64_t> slack_of(const std::vector<TaskNode>& nodes,
                                   const Dependencies& dependencies, const LeftOutCopies& left_out,
                                   const std::vector<Deadline>& deadlines,
                                   const std::vector<Vertex>& order) {
  return SlackSweep(nodes, dependencies, left_out, deadlines).run(order);
}

}  // namespace

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
