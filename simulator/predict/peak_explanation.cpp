#include "simulator/predict/peak_explanation.hpp"

#include <algorithm>
#include <numeric>

#include "models/base/figures.hpp"
#include "models/program/oom_report.hpp"

namespace foreshard::simulator {
namespace {

// What is planned ahead has none.
std::vector<PoolMemory> pools_of(const RankProgram& program, const MemoryAtPeak& memory) {
  std::vector<PoolMemory> pools;
  if (program.device.kind == DeviceKind::xla) return pools;
  for (std::size_t s = 0; s < memory.streams.size(); ++s) {
    if (memory.streams[s].reserved == 0) continue;
    pools.push_back({memory.streams[s], program.name(static_cast<Stream>(s))});
  }
  std::stable_sort(pools.begin(), pools.end(), [](const PoolMemory& a, const PoolMemory& b) {
    return a.unused() > b.unused();
  });
  return pools;
}

// Each copy of a repetition is one of them.
int micro_steps(const Program& code) {
  int written = 0;
  for (std::size_t n = 0; n < code.instructions.size(); ++n) {
    const auto copies = static_cast<int>(code.repetition.times(n)) - 1;
    written = std::max(written, code.instructions[n].micro_step + copies + 1);
  }
  return written;
}

}  // namespace

std::int64_t PeakExplanation::unused() const {
  return std::accumulate(
      pools.begin(), pools.end(), std::int64_t{0},
      [](std::int64_t sum, const PoolMemory& pool) { return sum + pool.unused(); });
}

PeakExplanation explain_peak(const RankProgram& program, const RankMemory& memory,
                             std::int64_t steps) {
  const PeakMoment& peak = memory.peak;
  const MemoryAtPeak& held = memory.at_peak;
  const Program& code = program.programs[program.number_of(peak.step, steps)];
  const auto [number, copy] = code.repetition.written(peak.instruction);
  const Instruction& request = code.instructions[static_cast<std::size_t>(number)];
  PeakExplanation found;
  found.step = peak.step;
  found.micro_steps = micro_steps(code);
  const bool is_in_micro_step = request.phase != Phase::setup && request.phase != Phase::optimizer;
  found.micro_step = is_in_micro_step ? request.micro_step + copy + 1 : 0;
  found.phase = name(request.phase);
  found.unit = unit_name(program, request.unit);
  found.operator_name = operator_that_uses(program, code, peak.instruction);
  found.requested = program.buffers[static_cast<std::size_t>(request.target)].bytes;
  for (const LiveBuffer& live : held.alive) found.allocated += live.bytes;
  found.held =
      held_memory(program, held.alive, {request.target, 0, request.phase}, found.requester);
  found.pools = pools_of(program, held);
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
