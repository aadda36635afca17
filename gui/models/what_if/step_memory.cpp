#include "gui/models/what_if/step_memory.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include "models/program/step_program.hpp"

namespace foreshard::gui {
namespace {

using simulator::MemoryRecord;
using simulator::Prediction;
using simulator::Span;

// A class of ranks in one of its steps, with the spans of the step where it has a time.
struct StepOfClass {
  const simulator::RankClass& ranks;
  std::int64_t step;
  const Program& program;
  std::span<const Span> spans;
};

StepOfClass last_step(const Prediction& prediction) {
  const auto which = static_cast<std::size_t>(
      prediction.run.class_of_rank[static_cast<std::size_t>(prediction.peak.rank)]);
  const simulator::RankClass& ranks = prediction.run.classes[which];
  const std::int64_t step = prediction.oom ? prediction.oom->step : prediction.run.engine.steps;
  StepOfClass found{ranks, step, ranks.program.step(step), {}};
  for (std::size_t n = 0; n < prediction.run.timelines.size(); ++n) {
    const auto rank = static_cast<std::size_t>(prediction.run.simulated_ranks[n]);
    if (static_cast<std::size_t>(prediction.run.class_of_rank[rank]) != which) continue;
    const auto spans = prediction.run.timelines[n].step(static_cast<std::size_t>(step));
    if (spans.size() == found.program.instructions.size()) found.spans = spans;
    break;
  }
  return found;
}

bool is_busy(const Instruction& instruction) {
  return instruction.kind == Kind::host_compute ||
         (instruction.kind == Kind::launch && instruction.stream == Stream::compute);
}

std::vector<StepShare> shares_of(const StepOfClass& step) {
  std::array<double, static_cast<std::size_t>(Phase::kCount)> busy{};
  for (std::size_t k = 0; k < step.spans.size(); ++k) {
    const Instruction& instruction = step.program.instructions[k];
    if (!is_busy(instruction)) continue;
    const double ns = static_cast<double>(step.spans[k].end - step.spans[k].start);
    busy[static_cast<std::size_t>(instruction.phase)] += ns;
  }
  std::vector<StepShare> shares;
  for (const Phase phase :
       {Phase::forward, Phase::loss, Phase::recompute, Phase::backward, Phase::optimizer}) {
    shares.push_back({role_of_phase(name(phase)), busy[static_cast<std::size_t>(phase)]});
  }
  return shares;
}

// Where each instruction stands, and behind the last of them the step's length.
std::vector<std::int64_t> positions_of(const StepOfClass& step) {
  std::vector<std::int64_t> positions(step.program.instructions.size() + 1);
  if (step.spans.empty()) {  // no time: in the order of instructions
    std::iota(positions.begin(), positions.end(), 0);
    return positions;
  }
  for (const Span& span : step.spans) positions.back() = std::max(positions.back(), span.end);
  for (std::size_t k = step.spans.size(); k-- > 0;) {
    const Instruction& instruction = step.program.instructions[k];
    const bool is_kernel =
        instruction.kind == Kind::launch && instruction.stream == Stream::compute;
    positions[k] = is_kernel ? step.spans[k].start : positions[k + 1];
  }
  const std::int64_t origin = positions.front();
  for (std::int64_t& position : positions) position -= origin;
  return positions;
}

void count(MemoryStep& level, const AllocatorEvent& event) {
  using Action = AllocatorEvent::Action;
  switch (event.action) {
    case Action::alloc: level.allocated += event.bytes; break;
    case Action::free_completed: level.allocated -= event.bytes; break;
    case Action::segment_alloc:
    case Action::segment_map: level.reserved += event.bytes; break;
    case Action::segment_free:
    case Action::segment_unmap: level.reserved -= event.bytes; break;
    case Action::free_requested:
    case Action::out_of_memory: break;
  }
}

// One level a position: the highest, so that no peak is lost.
std::vector<MemoryStep> curve_of(const StepOfClass& step, std::span<const std::int64_t> positions) {
  std::vector<MemoryStep> curve;
  MemoryStep level;
  for (const MemoryRecord& record : step.ranks.memory.records) {
    if (record.step > step.step) break;
    if (record.on_host) continue;
    if (record.step == step.step && curve.empty()) curve.push_back(level);
    count(level, record.event);
    if (record.step < step.step) continue;
    level.position = positions[static_cast<std::size_t>(record.instruction)];
    if (curve.back().position < level.position) {
      curve.push_back(level);
    } else {
      curve.back().allocated = std::max(curve.back().allocated, level.allocated);
      curve.back().reserved = std::max(curve.back().reserved, level.reserved);
    }
  }
  return curve;
}

}  // namespace

void add_step(Outcome& outcome, const Prediction& prediction) {
  const StepOfClass step = last_step(prediction);
  if (!step.spans.empty()) {
    outcome.shares = shares_of(step);
    outcome.shares.push_back({Role::warn, outcome.exposed_ns});
  }
  const std::vector<std::int64_t> positions = positions_of(step);
  outcome.curve = curve_of(step, positions);
  outcome.curve_length = positions.back();
}

}  // namespace foreshard::gui
