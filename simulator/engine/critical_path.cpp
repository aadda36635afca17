#include "simulator/engine/critical_path.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "simulator/engine/task_graph.hpp"
#include "traces/program_attributes.hpp"

namespace foreshard::simulator {
namespace {

using traces::EventKind;

constexpr std::string_view kWaiting = "waiting";

class PathReader {
 public:
  PathReader(std::span<const SimulatedRank> ranks, std::span<const RankTimeline> timelines,
             std::int64_t step, const EngineOptions& options)
      : ranks_(ranks),
        timelines_(timelines),
        step_(step),
        graph_(ranks, timelines, step, options) {}

  StepPath read() {
    read_path();
    read_slack();
    return std::move(result_);
  }

 private:
  using Key = std::pair<std::string_view, std::string_view>;          // name, kind
  using Sums = std::map<Key, std::pair<std::int64_t, std::int64_t>>;  // count, nanoseconds

  const Instruction& instruction_of(const TaskNode& node) const {
    const Program& program = ranks_[static_cast<std::size_t>(node.rank)].program->step(step_);
    return program.instructions[static_cast<std::size_t>(node.instruction)];
  }

  const RankProgram& program_of(const TaskNode& node) const {
    return *ranks_[static_cast<std::size_t>(node.rank)].program;
  }

  EventKind kind_of(const TaskNode& node) const {
    if (node.instruction == kNone) return EventKind::host;
    const Instruction& i = instruction_of(node);
    if (!node.on_host) return *traces::device_kind(program_of(node), i);
    if (i.kind != Kind::host_compute) return EventKind::host;
    // What it computes follows on a stretch of issuing that ends there.
    const auto spans =
        timelines_[static_cast<std::size_t>(node.rank)].step(static_cast<std::size_t>(step_));
    const bool computes = node.start == spans[static_cast<std::size_t>(node.instruction)].start;
    return computes ? EventKind::host_compute : EventKind::host;
  }

  std::string_view operator_of(const TaskNode& node) const {
    return program_of(node).operator_name(instruction_of(node));
  }

  std::string_view unit_of(const TaskNode& node) const {
    return unit_name(program_of(node), instruction_of(node).unit);
  }

  static void count(Sums& sums, const Key& key, std::int64_t ns) {
    auto& [count, sum] = sums[key];
    ++count;
    sum += ns;
  }

  static std::vector<PathPart> sorted(const Sums& sums) {
    std::vector<PathPart> parts;
    for (const auto& [key, sum] : sums) {
      parts.push_back({std::string(key.first), key.second, sum.first, sum.second});
    }
    std::sort(parts.begin(), parts.end(), [](const PathPart& a, const PathPart& b) {
      return std::tie(b.ns, a.name, a.kind) < std::tie(a.ns, b.name, b.kind);
    });
    return parts;
  }

  // A stretch of a node that lies on the path.
  void add(const TaskNode& node, std::int64_t ns, Sums& operators, Sums& units) {
    const EventKind kind = kind_of(node);
    if (kind == EventKind::host) return count(operators, {"(host)", name(kind)}, ns);
    count(operators, {operator_of(node), name(kind)}, ns);
    if (kind == EventKind::communication) result_.communication_ns += ns;
    const std::string_view unit = unit_of(node);
    if (!unit.empty()) count(units, {unit, "unit"}, ns);
  }

  void read_path() {
    const auto& nodes = graph_.nodes();
    const TaskNode& last = nodes[graph_.last()];
    const auto step = static_cast<std::size_t>(step_);
    const auto& ends = timelines_[static_cast<std::size_t>(last.rank)].step_end_ns;
    const std::int64_t begin = step == 0 ? 0 : ends[step - 1];
    std::int64_t at = begin;
    Sums operators, units;
    for (const std::size_t n : graph_.critical_path()) {
      const TaskNode& node = nodes[n];
      // Another rank's step may have begun earlier; what it did before this one's is not of the step.
      if (node.end <= at) continue;
      if (node.start > at) count(operators, {"(waiting)", kWaiting}, node.start - at);
      const std::int64_t start = std::max(node.start, at);
      if (node.end > start) add(node, node.end - start, operators, units);
      at = node.end;
    }
    result_.length_ns = at - begin;
    result_.parts = sorted(operators);
    result_.units = sorted(units);
  }

  void read_slack() {
    const auto& nodes = graph_.nodes();
    const std::vector<std::int64_t> slack = graph_.slack();
    std::map<Key, std::int64_t> least;  // by operator and unit
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (nodes[n].instruction == kNone) continue;
      const EventKind kind = kind_of(nodes[n]);
      if (kind == EventKind::host) continue;
      const bool by_unit = kind == EventKind::communication || kind == EventKind::memory;
      const Key key{operator_of(nodes[n]), by_unit ? unit_of(nodes[n]) : ""};
      const auto [found, is_new] = least.try_emplace(key, slack[n]);
      if (!is_new) found->second = std::min(found->second, slack[n]);
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
  StepPath result_;
};

}  // namespace

StepPath step_path(std::span<const SimulatedRank> ranks, std::span<const RankTimeline> timelines,
                   std::int64_t step, const EngineOptions& options) {
  return PathReader(ranks, timelines, step, options).read();
}

}  // namespace foreshard::simulator
