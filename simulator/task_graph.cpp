#include "simulator/task_graph.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/topological_sort.hpp>

namespace foreshard::simulator {
namespace {

using Dependencies = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;
using Vertex = boost::graph_traits<Dependencies>::vertex_descriptor;
constexpr std::int64_t kNobody = -1;

}  // namespace

struct TaskGraph::Graph {
  Dependencies dependencies;
  std::vector<TaskNode> nodes;

  std::int64_t add(const TaskNode& node) {
    nodes.push_back(node);
    return static_cast<std::int64_t>(boost::add_vertex(dependencies));
  }

  void order(std::int64_t before, std::int64_t after) {
    if (before == kNobody || after == kNobody || before == after) return;
    boost::add_edge(static_cast<Vertex>(before), static_cast<Vertex>(after), dependencies);
  }

  std::vector<Vertex> in_order() const {  // throws boost::not_a_dag
    std::vector<Vertex> order;
    order.reserve(nodes.size());
    boost::topological_sort(dependencies, std::back_inserter(order));
    std::reverse(order.begin(), order.end());
    return order;
  }
};

namespace {

// Collectives of all ranks that meet: by communicator and ordinal in it.
using Meetings = std::map<std::tuple<std::int32_t, std::int32_t>, std::int64_t>;

// Walks one rank's program and adds its nodes and edges.
class RankBuilder {
 public:
  template <typename Graph>
  static void build(Graph& graph, Meetings& meetings, const SimulatedRank& rank, std::int32_t index,
                    std::span<const Span> spans, const Program& program, bool one_per_class) {
    std::array<std::int64_t, static_cast<std::size_t>(kStreams)> stream;  // last task of each
    stream.fill(kNobody);
    // What a stream was told to wait for and has not started a task after yet.
    std::array<std::vector<std::int64_t>, static_cast<std::size_t>(kStreams)> awaited;
    std::vector<std::vector<std::int64_t>> events(static_cast<std::size_t>(program.events));
    std::map<std::int32_t, std::int32_t> ordinals;  // by communicator
    std::int64_t host = kNobody;

    for (std::size_t i = 0; i < spans.size(); ++i) {
      const Instruction& instruction = program.instructions[i];
      const Span& span = spans[i];
      const auto s = static_cast<std::size_t>(instruction.stream);
      const auto number = static_cast<std::int32_t>(i);
      const auto add_host = [&](std::int64_t start, std::int64_t end) {
        const std::int64_t node = graph.add({index, number, true, start, end});
        graph.order(host, node);
        host = node;
      };
      switch (instruction.kind) {
        case Kind::record_event: {
          auto& reached = events[static_cast<std::size_t>(instruction.target)];
          reached = awaited[s];
          reached.push_back(stream[s]);
          continue;
        }
        case Kind::wait_event: {
          const auto& reached = events[static_cast<std::size_t>(instruction.target)];
          awaited[s].insert(awaited[s].end(), reached.begin(), reached.end());
          continue;
        }
        case Kind::host_wait:
          add_host(span.end, span.end);  // waiting is no work of its own
          for (const std::int64_t task : events[static_cast<std::size_t>(instruction.target)]) {
            graph.order(task, host);
          }
          continue;
        case Kind::host_compute: add_host(span.start, span.end); continue;
        case Kind::launch:
        case Kind::copy:
        case Kind::collective: break;
        default: continue;
      }
      const std::int64_t issued = i + 1 < spans.size() ? spans[i + 1].issue : span.issue;
      add_host(span.issue, std::min(issued, std::max(span.issue, span.start)));
      std::int64_t task = kNobody;
      if (instruction.kind == Kind::collective) {
        const std::int32_t communicator =
            communicator_id(rank.place, instruction.group, one_per_class);
        const std::int32_t ordinal = ordinals[communicator]++;
        const auto [found, is_new] = meetings.try_emplace({communicator, ordinal}, kNobody);
        if (is_new) {
          found->second = graph.add({index, number, false, span.start, span.end});
          if (ordinal > 0) graph.order(meetings.at({communicator, ordinal - 1}), found->second);
        }
        task = found->second;
      } else {
        task = graph.add({index, number, false, span.start, span.end});
      }
      graph.order(host, task);
      graph.order(stream[s], task);
      for (const std::int64_t before : awaited[s]) graph.order(before, task);
      awaited[s].clear();
      stream[s] = task;
    }
  }
};

}  // namespace

TaskGraph::TaskGraph(std::span<const SimulatedRank> ranks, std::span<const RankTimeline> timelines,
                     std::int64_t step, bool one_per_class)
    : graph_(std::make_unique<Graph>()) {
  Meetings meetings;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    RankBuilder::build(*graph_, meetings, ranks[r], static_cast<std::int32_t>(r),
                       timelines[r].step(static_cast<std::size_t>(step)),
                       ranks[r].program->step(step), one_per_class);
  }
}

TaskGraph::TaskGraph(TaskGraph&&) noexcept = default;
TaskGraph& TaskGraph::operator=(TaskGraph&&) noexcept = default;
TaskGraph::~TaskGraph() = default;

const std::vector<TaskNode>& TaskGraph::nodes() const {
  return graph_->nodes;
}

std::size_t TaskGraph::edges() const {
  return boost::num_edges(graph_->dependencies);
}

bool TaskGraph::has_cycle() const {
  try {
    graph_->in_order();
    return false;
  } catch (const boost::not_a_dag&) {
    return true;
  }
}

std::vector<std::size_t> TaskGraph::critical_path() const {
  const auto& nodes = graph_->nodes;
  std::vector<std::size_t> path;
  if (nodes.empty()) return path;
  const auto ends_before = [](const TaskNode& a, const TaskNode& b) { return a.end < b.end; };
  auto at = static_cast<Vertex>(std::max_element(nodes.begin(), nodes.end(), ends_before) -
                                nodes.begin());
  for (;;) {
    path.push_back(at);
    const auto [first, last] = boost::in_edges(at, graph_->dependencies);
    if (first == last) break;
    const auto latest = std::max_element(first, last, [&](const auto& a, const auto& b) {
      return ends_before(nodes[boost::source(a, graph_->dependencies)],
                         nodes[boost::source(b, graph_->dependencies)]);
    });
    at = boost::source(*latest, graph_->dependencies);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<std::int64_t> TaskGraph::slack() const {
  const auto& nodes = graph_->nodes;
  std::int64_t finish = 0;
  for (const TaskNode& node : nodes) finish = std::max(finish, node.end);
  std::vector<std::int64_t> latest_end(nodes.size(), finish);
  const std::vector<Vertex> order = graph_->in_order();
  for (auto v = order.rbegin(); v != order.rend(); ++v) {
    const auto [first, last] = boost::out_edges(*v, graph_->dependencies);
    for (auto e = first; e != last; ++e) {
      const Vertex next = boost::target(*e, graph_->dependencies);
      const std::int64_t latest_start = latest_end[next] - (nodes[next].end - nodes[next].start);
      latest_end[*v] = std::min(latest_end[*v], latest_start);
    }
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) latest_end[i] -= nodes[i].end;
  return latest_end;
}

std::int64_t TaskGraph::longest_chain_ns() const {
  const auto& nodes = graph_->nodes;
  std::vector<std::int64_t> chain(nodes.size(), 0);
  std::int64_t longest = 0;
  for (const Vertex v : graph_->in_order()) {
    std::int64_t before = 0;
    const auto [first, last] = boost::in_edges(v, graph_->dependencies);
    for (auto e = first; e != last; ++e) {
      before = std::max(before, chain[boost::source(*e, graph_->dependencies)]);
    }
    const std::int64_t own = nodes[v].end - nodes[v].start;
    chain[v] = before + own;
    longest = std::max(longest, chain[v]);
  }
  return longest;
}

}  // namespace foreshard::simulator
