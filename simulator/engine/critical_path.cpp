#include "simulator/engine/critical_path.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "simulator/engine/task_graph.hpp"
#include "simulator/engine/work_table.hpp"
#include "traces/program_attributes.hpp"

namespace foreshard::simulator {
namespace {

using traces::EventKind;

constexpr std::string_view kWaiting = "waiting";

class PathReader {
 public:
  PathReader(std::span<const SimulatedRank> ranks, std::span<const RankTimeline> timelines,
             std::int64_t step, const EngineOptions& options)
      : ranks_(ranks), timelines_(timelines), step_(step), graph_(ranks, timelines, step, options) {
    for (const SimulatedRank& rank : ranks) {
      work_.emplace_back(*rank.program);
      programs_.push_back(&rank.program->step(step));
    }
  }

  StepPath read() {
    read_path();
    read_slack();
    return std::move(result_);
  }

 private:
  using Key = std::pair<std::string_view, std::string_view>;  // name, kind
  using Sums = std::map<Key, Sum>;

  const Instruction& instruction_of(const TaskNode& node) const {
    const Program& program = *programs_[static_cast<std::size_t>(node.rank)];
    return program.instructions[static_cast<std::size_t>(node.instruction)];
  }

  EventKind kind_of(const TaskNode& node) const {
    if (node.instruction == kNone) return EventKind::host;
    if (node.on_host) return node.computes ? EventKind::host_compute : EventKind::host;
    const RankProgram& program = *ranks_[static_cast<std::size_t>(node.rank)].program;
    return *traces::device_kind(program, instruction_of(node));
  }

  WorkTable& work_of(const TaskNode& node) { return work_[static_cast<std::size_t>(node.rank)]; }

  static std::vector<PathPart> sorted(const Sums& sums) {
    std::vector<PathPart> parts;
    for (const auto& [key, sum] : sums) {
      parts.push_back({std::string(key.first), key.second, sum.count, sum.ns});
    }
    std::sort(parts.begin(), parts.end(), [](const PathPart& a, const PathPart& b) {
      return std::tie(b.ns, a.name, a.kind) < std::tie(a.ns, b.name, b.kind);
    });
    return parts;
  }

  // A stretch of a node that lies on the path so many times.
  void add(const TaskNode& node, std::int64_t ns, std::int64_t times) {
    const EventKind kind = kind_of(node);
    if (kind == EventKind::host) return host_.add(ns, times);
    work_of(node).add(instruction_of(node), kind, ns, times);
    if (kind == EventKind::communication) result_.communication_ns += times * ns;
  }

  void read_path() {
    const auto& nodes = graph_.nodes();
    const TaskNode& last = nodes[graph_.last()];
    const auto step = static_cast<std::size_t>(step_);
    const auto& ends = timelines_[static_cast<std::size_t>(last.rank)].step_end_ns;
    const std::int64_t begin = step == 0 ? 0 : ends[step - 1];
    std::int64_t at = begin;
    const CriticalPath path = graph_.critical_path();
    for (std::size_t n = 0; n < path.nodes.size(); ++n) {
      const TaskNode node = graph_.at(path.nodes[n]);
      // Another rank's step may have begun earlier; what it did before this one's is not of the step.
      if (node.end > at) {
        if (node.start > at) waiting_.add(node.start - at, path.times(n));
        const std::int64_t start = std::max(node.start, at);
        if (node.end > start) add(node, node.end - start, path.times(n));
      }
      at = std::max(at, n + 1 == path.end ? graph_.at(path.last_of(n)).end : node.end);
    }
    result_.length_ns = at - begin;
    Sums operators, units;
    const auto sum_up = [](Sums& sums) {
      return [&sums](std::string_view what, std::string_view kind, const Sum& sum) {
        Sum& all = sums[{what, kind}];
        all.count += sum.count;
        all.ns += sum.ns;
      };
    };
    for (const WorkTable& work : work_) {
      work.each_operator(sum_up(operators));
      work.each_unit(sum_up(units));
    }
    if (host_.count > 0) operators[{"(host)", name(EventKind::host)}] = host_;
    if (waiting_.count > 0) operators[{"(waiting)", kWaiting}] = waiting_;
    result_.parts = sorted(operators);
    result_.units = sorted(units);
  }

  void read_slack() {
    const auto& nodes = graph_.nodes();
    const std::vector<std::int64_t> slack = graph_.slack();
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (nodes[n].instruction == kNone) continue;
      const EventKind kind = kind_of(nodes[n]);
      if (kind == EventKind::host) continue;
      work_of(nodes[n]).add_slack(instruction_of(nodes[n]), kind, slack[n]);
    }
    std::map<Key, std::int64_t> least;  // by operator and unit
    for (const WorkTable& work : work_) {
      work.each_slack([&](std::string_view what, std::string_view unit, std::int64_t ns) {
        const auto [found, is_new] = least.try_emplace({what, unit}, ns);
        if (!is_new) found->second = std::min(found->second, ns);
      });
    }
    for (const auto& [key, ns] : least) {
      const std::string unit = key.second.empty() ? "" : " " + std::string(key.second);
      result_.slack.push_back({std::string(key.first) + unit, ns});
    }
    std::stable_sort(result_.slack.begin(), result_.slack.end(),
                     [](const Slack& a, const Slack& b) { return a.ns < b.ns; });
  }

  std::span<const SimulatedRank> ranks_;
  std::span<const RankTimeline> timelines_;
  std::int64_t step_;
  TaskGraph graph_;
  std::vector<const Program*> programs_;  // of the step, by rank
  std::vector<WorkTable> work_;           // likewise
  Sum host_, waiting_;                    // on the path
  StepPath result_;
};

}  // namespace

StepPath step_path(std::span<const SimulatedRank> ranks, std::span<const RankTimeline> timelines,
                   std::int64_t step, const EngineOptions& options) {
  return PathReader(ranks, timelines, step, options).read();
}

}  // namespace foreshard::simulator
