#include "simulator/predict/peak_explanation.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "models/base/figures.hpp"
#include "models/program/oom_report.hpp"
#include "models/program/unrolled.hpp"

namespace foreshard::simulator {
namespace {

std::vector<PoolMemory> pools_of(const RankProgram& program,
                                 const std::vector<SegmentState>& segments) {
  std::map<int, PoolMemory> by_stream;
  for (const SegmentState& segment : segments) {
    PoolMemory& pool = by_stream[segment.stream];
    pool.reserved += segment.bytes;
    for (const SegmentState::Part& part : segment.blocks) {
      if (part.use == SegmentState::Use::allocated) pool.allocated += part.bytes;
      if (part.use == SegmentState::Use::awaiting_free) pool.awaiting_free += part.bytes;
    }
  }
  std::vector<PoolMemory> pools;
  for (auto& [stream, pool] : by_stream) {
    pool.stream = program.name(static_cast<Stream>(stream));
    pools.push_back(std::move(pool));
  }
  std::stable_sort(pools.begin(), pools.end(), [](const PoolMemory& a, const PoolMemory& b) {
    return a.unused() > b.unused();
  });
  return pools;
}

}  // namespace

std::int64_t PeakExplanation::unused() const {
  return std::accumulate(
      pools.begin(), pools.end(), std::int64_t{0},
      [](std::int64_t sum, const PoolMemory& pool) { return sum + pool.unused(); });
}

PeakExplanation explain_peak(const RankProgram& program, const AllocatorRules& rules,
                             const MemoryOptions& options, const PeakMoment& peak) {
  const RankProgram full = unrolled(program);
  MemoryOptions until_peak = options;
  until_peak.lists_alive = true;
  until_peak.keeps_records = false;
  until_peak.stop = MemoryFailure{peak.step, peak.instruction, 0, 0, 0};
  const RankMemory memory = simulate_memory(full, rules, until_peak);

  const Program& code = full.programs[full.number_of(peak.step, options.steps)];
  const Instruction& request = code.instructions[static_cast<std::size_t>(peak.instruction)];
  PeakExplanation found;
  found.step = peak.step;
  for (const Instruction& i : code.instructions) {
    found.micro_steps = std::max(found.micro_steps, i.micro_step + 1);
  }
  const bool is_in_micro_step = request.phase != Phase::setup && request.phase != Phase::optimizer;
  found.micro_step = is_in_micro_step ? request.micro_step + 1 : 0;
  found.phase = name(request.phase);
  found.unit = unit_name(full, request.unit);
  found.operator_name = operator_that_uses(full, code, peak.instruction);
  found.requested = full.buffers[static_cast<std::size_t>(request.target)].bytes;
  for (const LiveBuffer& live : memory.alive) found.allocated += live.bytes;
  found.held = held_memory(full, memory.alive, {request.target, 0, request.phase}, found.requester);
  found.pools = pools_of(full, memory.end);
  for (const PoolMemory& pool : found.pools) found.reserved += pool.reserved;
  if (found.pools.empty()) found.reserved = found.allocated;
  return found;
}

std::string peak_sentence(const PeakExplanation& peak) {
  std::string text = "Allocated memory is highest in step " + std::to_string(peak.step);
  if (peak.micro_steps > 1 && peak.micro_step > 0) {
    text += formatted(", micro-step %d of %d", peak.micro_step, peak.micro_steps);
  }
  text += " (" + peak.phase + (peak.unit.empty() ? "" : ", " + peak.unit) + "), where ";
  text += peak.operator_name.empty() ? "an operator" : peak.operator_name;
  text += " requests " + binary_bytes(peak.requested);
  if (peak.held.size() < 2) return text + ".";
  const HeldMemory& own = peak.held[peak.requester];
  const HeldMemory& other = peak.held[peak.requester == 0 ? 1 : 0];
  return text + ": " + own.what + " hold " + binary_bytes(own.bytes) + " while " + other.what +
         " hold " + binary_bytes(other.bytes) + ".";
}

}  // namespace foreshard::simulator
