#include "simulator/engine/task_graph.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/topological_sort.hpp>

namespace foreshard::simulator {
namespace {

using Dependencies =
    boost::compressed_sparse_row_graph<boost::bidirectionalS, boost::no_property, std::int64_t,
                                       boost::no_property, std::uint32_t, std::uint32_t>;
using Vertex = boost::graph_traits<Dependencies>::vertex_descriptor;
constexpr std::int64_t kNobody = -1;

// Nodes and edges in the making.
struct Parts {
  std::vector<TaskNode> nodes;
  std::vector<std::pair<Vertex, Vertex>> edges;
  std::vector<std::int64_t> latencies;  // of the edges

  std::int64_t add(const TaskNode& node) {
    nodes.push_back(node);
    return static_cast<std::int64_t>(nodes.size()) - 1;
  }

  void order(std::int64_t before, std::int64_t after, std::int64_t latency) {
    if (before == kNobody || after == kNobody) return;
    edges.emplace_back(static_cast<Vertex>(before), static_cast<Vertex>(after));
    latencies.push_back(latency);
  }
};

// A communicator's collectives so far: the k-th is one node for all ranks.
struct CommunicatorHistory {
  std::int64_t before = kNobody;  // the last one of earlier steps
  std::vector<std::int64_t> meetings;
};
using CommunicatorHistories = std::map<std::int64_t, CommunicatorHistory>;

// Walks one rank's program and adds its nodes and edges.
class RankBuilder {
 public:
  RankBuilder(Parts& parts, CommunicatorHistories& communicators, const SimulatedRank& rank,
              const RankTimeline& timeline, std::int64_t step, const EngineOptions& options,
              std::int32_t index)
      : parts_(parts),
        communicators_(communicators),
        rank_(rank),
        timeline_(timeline),
        spans_(timeline.step(static_cast<std::size_t>(step))),
        program_(rank.program->step(step)),
        step_(step),
        options_(options),
        index_(index),
        reached_(static_cast<std::size_t>(program_.events)),
        stream_(rank.streams(), kNobody),
        passed_(rank.streams()),
        awaited_(rank.streams()) {
    end_ = timeline.step_end_ns[static_cast<std::size_t>(step)];
    host_since_ = spans_.empty() ? end_ : spans_.front().issue;
    add_earlier_work();
    // What is issued at once waits for the step to begin.
    host_ = parts_.add({index_, kNone, true, host_since_, host_since_});
  }

  // The node of the step's end.
  std::size_t build() {
    while (delay_ < rank_.delays.size() && rank_.delays[delay_].step < step_) ++delay_;
    for (std::size_t i = 0; i < spans_.size(); ++i) add(i);
    host_until(end_, kNone);
    return static_cast<std::size_t>(host_);
  }

 private:
  // An event as the streams that wait for it see it: what it is the end of, and when that was over.
  struct Reached {
    std::vector<std::int64_t> tasks;
    std::int64_t time = -1;
  };
  struct Awaited {
    std::int64_t task;
    std::int64_t latency;
  };

  // Streams and communicators may still be at work of earlier steps when this one begins.
  void add_earlier_work() {
    std::vector<bool> is_seen(stream_.size());
    for (std::int64_t step = step_ - 1; step >= 0; --step) {
      const auto spans = timeline_.step(static_cast<std::size_t>(step));
      const auto& instructions = rank_.program->step(step).instructions;
      for (std::size_t i = spans.size(); i-- > 0;) {
        const Instruction& instruction = instructions[i];
        const auto s = static_cast<std::size_t>(instruction.stream);
        if (!runs_on_stream(instruction.kind)) continue;
        CommunicatorHistory* const communicator =
            instruction.kind == Kind::collective ? &communicator_of(instruction) : nullptr;
        const bool is_last = communicator != nullptr && communicator->before == kNobody;
        if (is_seen[s] && !is_last) continue;
        const std::int64_t end = spans[i].end;
        const std::int64_t node = parts_.add({index_, kNone, false, end, end});
        if (is_last) communicator->before = node;
        if (is_seen[s]) continue;
        is_seen[s] = true;
        stream_[s] = node;
        passed_[s] = end;
      }
    }
  }

  CommunicatorHistory& communicator_of(const Instruction& i) {
    return communicators_[communicator_id(rank_.place, i.group, options_.one_per_class)];
  }

  // The host was busy with issuing up to this moment, and then goes on to `instruction`.
  void host_until(std::int64_t time, std::int32_t instruction) {
    if (time <= host_since_) return;
    add_host(host_since_, time, instruction);
  }

  void add_host(std::int64_t start, std::int64_t end, std::int32_t instruction) {
    const std::int64_t node = parts_.add({index_, instruction, true, start, end});
    parts_.order(host_, node, 0);
    host_ = node;
    host_since_ = end;
  }

  void add(std::size_t i) {
    const Instruction& instruction = program_.instructions[i];
    const Span& span = spans_[i];
    const auto s = static_cast<std::size_t>(instruction.stream);
    const auto number = static_cast<std::int32_t>(i);
    const std::int64_t issued = i + 1 < spans_.size() ? spans_[i + 1].issue : end_;
    if (drains(number)) wait_for_device(number, span, issued);
    switch (instruction.kind) {
      case Kind::record_event: {
        Reached& event = reached_[static_cast<std::size_t>(instruction.target)];
        event.tasks.assign(1, stream_[s]);
        for (const Awaited& awaited : awaited_[s]) event.tasks.push_back(awaited.task);
        event.time = passed_[s];
        return;
      }
      case Kind::wait_event: {
        const Reached& event = reached_[static_cast<std::size_t>(instruction.target)];
        const bool waits = event.time > passed_[s];
        for (const std::int64_t task : event.tasks) {
          awaited_[s].push_back({task, waits ? options_.host.event_latency_ns : 0});
        }
        passed_[s] = std::max(passed_[s], event.time);
        return;
      }
      case Kind::host_wait: {
        host_until(span.start, number);
        const bool waits = span.end > span.start;
        add_host(span.end, span.end, number);
        for (const std::int64_t task :
             reached_[static_cast<std::size_t>(instruction.target)].tasks) {
          parts_.order(task, host_, waits ? options_.host.wait_latency_ns : 0);
        }
        return;
      }
      case Kind::host_compute:
        host_until(span.start, number);
        add_host(span.start, span.end, number);
        return;
      case Kind::launch:
      case Kind::copy:
        host_until(issued, number);
        start(parts_.add({index_, number, false, span.start, span.end}), s, 0);
        break;
      case Kind::collective:
        host_until(issued, number);
        start(meeting(instruction, number, span), s, options_.host.rendezvous_ns);
        break;
      default: return;
    }
    passed_[s] = span.end;
  }

  // What a task of a stream has to wait for; `more` comes on top of every latency.
  void start(std::int64_t task, std::size_t stream, std::int64_t more) {
    parts_.order(host_, task, options_.host.launch_latency_ns + more);
    parts_.order(stream_[stream], task, options_.host.stream_gap_ns + more);
    for (const Awaited& before : awaited_[stream]) {
      parts_.order(before.task, task, before.latency + more);
    }
    awaited_[stream].clear();
    stream_[stream] = task;
  }

  std::int64_t meeting(const Instruction& instruction, std::int32_t number, const Span& span) {
    CommunicatorHistory& communicator = communicator_of(instruction);
    const std::size_t ordinal = ordinals_[&communicator]++;
    if (ordinal == communicator.meetings.size()) {
      const std::int64_t before =
          ordinal == 0 ? communicator.before : communicator.meetings[ordinal - 1];
      const std::int64_t node = parts_.add({index_, number, false, span.start, span.end});
      communicator.meetings.push_back(node);
      parts_.order(before, node, options_.host.rendezvous_ns);
    }
    return communicator.meetings[ordinal];
  }

  // Whether the allocator made the host wait for an idle device at this instruction.
  bool drains(std::int32_t instruction) {
    if (delay_ == rank_.delays.size()) return false;
    const HostDelay& delay = rank_.delays[delay_];
    if (delay.step != step_ || delay.instruction != instruction) return false;
    ++delay_;
    return delay.drains;
  }

  void wait_for_device(std::int32_t number, const Span& span, std::int64_t issued) {
    const auto kind =
        static_cast<std::size_t>(program_.instructions[static_cast<std::size_t>(number)].kind);
    const std::int64_t idle = std::max(span.issue, issued - rank_.delays[delay_ - 1].ns);
    const bool waits = *std::max_element(passed_.begin(), passed_.end()) >= idle;
    host_until(waits ? std::min(idle, span.issue + options_.host.issue_ns[kind]) : idle, number);
    add_host(idle, issued, number);
    for (std::size_t s = 0; s < stream_.size(); ++s) {
      parts_.order(stream_[s], host_, 0);
      for (const Awaited& before : awaited_[s]) parts_.order(before.task, host_, 0);
    }
  }

  Parts& parts_;
  CommunicatorHistories& communicators_;
  const SimulatedRank& rank_;
  const RankTimeline& timeline_;
  std::span<const Span> spans_;
  const Program& program_;
  std::int64_t step_;
  const EngineOptions& options_;
  std::int32_t index_;
  std::vector<Reached> reached_;      // by event
  std::vector<std::int64_t> stream_;  // last task of each
  std::vector<std::int64_t> passed_;  // of each, as the engine counts it
  // What a stream was told to wait for and has not started a task after yet.
  std::vector<std::vector<Awaited>> awaited_;
  std::map<const CommunicatorHistory*, std::size_t> ordinals_;
  std::int64_t host_ = kNobody, host_since_ = 0, end_ = 0;
  std::size_t delay_ = 0;
};

// The end of a rank's step, and when it would have been over had it taken as long as the longest.
struct Deadline {
  std::size_t end = 0;
  std::int64_t time = 0;
};

}  // namespace

struct TaskGraph::Graph {
  std::vector<TaskNode> nodes;
  Dependencies dependencies;  // with the latency of each edge
  std::size_t last = 0;
  std::vector<Deadline> deadlines;  // of each rank's step

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
  Parts parts;
  CommunicatorHistories communicators;
  std::int64_t longest = -1;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const std::size_t end = RankBuilder(parts, communicators, ranks[r], timelines[r], step, options,
                                        static_cast<std::int32_t>(r))
                                .build();
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

std::vector<std::size_t> TaskGraph::critical_path() const {
  const auto& nodes = graph_->nodes;
  const Dependencies& all = graph_->dependencies;
  std::vector<std::size_t> path{graph_->last};
  for (;;) {
    const auto [first, end] = boost::in_edges(static_cast<Vertex>(path.back()), all);
    if (first == end) break;
    const auto allows = [&](const auto& edge) {
      return nodes[boost::source(edge, all)].end + all[edge];
    };
    const auto latest = std::max_element(
        first, end, [&](const auto& a, const auto& b) { return allows(a) < allows(b); });
    path.push_back(boost::source(*latest, all));
  }
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<std::int64_t> TaskGraph::slack() const {
  const auto& nodes = graph_->nodes;
  const Dependencies& all = graph_->dependencies;
  std::int64_t finish = 0;
  for (const TaskNode& node : nodes) finish = std::max(finish, node.end);
  for (const Deadline& deadline : graph_->deadlines) finish = std::max(finish, deadline.time);
  std::vector<std::int64_t> latest_end(nodes.size(), finish);
  for (const Deadline& deadline : graph_->deadlines) latest_end[deadline.end] = deadline.time;
  const std::vector<Vertex> order = graph_->in_order();
  for (auto v = order.rbegin(); v != order.rend(); ++v) {
    const auto [first, end] = boost::out_edges(*v, all);
    for (auto e = first; e != end; ++e) {
      const Vertex next = boost::target(*e, all);
      const std::int64_t latest_start = latest_end[next] - (nodes[next].end - nodes[next].start);
      latest_end[*v] = std::min(latest_end[*v], latest_start - all[*e]);
    }
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    latest_end[i] = std::max<std::int64_t>(0, latest_end[i] - nodes[i].end);  // rounding
  }
  return latest_end;
}

}  // namespace foreshard::simulator
