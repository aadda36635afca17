#include "simulator/predict/memory_text.hpp"

#include <algorithm>

#include "models/base/figures.hpp"

namespace foreshard::simulator {
namespace {

constexpr int kNameWidth = 52;

std::string row(const std::string& name, const std::string& bytes, const std::string& last) {
  return formatted("  %-*s %11s %8s\n", kNameWidth, name.c_str(), bytes.c_str(), last.c_str());
}

// Rows beyond the short form's are one.
std::string held_table(const PeakExplanation& peak, bool in_full) {
  constexpr std::size_t kShown = 8;
  const std::size_t shown = in_full || peak.held.size() <= kShown + 1 ? peak.held.size() : kShown;
  std::string text = row("at the peak", "bytes", "share");
  std::int64_t rest = peak.allocated;
  for (std::size_t i = 0; i < shown; ++i) {
    const HeldMemory& held = peak.held[i];
    text += row(held.what, binary_bytes(held.bytes), percent(held.bytes, peak.allocated));
    rest -= held.bytes;
  }
  if (rest > 0) text += row("others", binary_bytes(rest), percent(rest, peak.allocated));
  return text + row("allocated", binary_bytes(peak.allocated), "100.0 %");
}

std::string pool_list(const PeakExplanation& peak) {
  constexpr std::size_t kShown = 3;
  std::string text;
  std::size_t shown = 0;
  for (const PoolMemory& pool : peak.pools) {
    if (pool.unused() <= 0 || shown == kShown) break;
    text +=
        (shown++ == 0 ? ": " : ", ") + binary_bytes(pool.unused()) + " of stream " + pool.stream;
  }
  return text;
}

std::string reserved_sentence(const PeakExplanation& peak) {
  std::string text = "Reserved then: " + binary_bytes(peak.reserved);
  const std::int64_t unused = peak.unused(), awaiting = peak.reserved - peak.allocated - unused;
  if (unused > 0) {
    text +=
        ", of which " + binary_bytes(unused) + " are unused parts of segments" + pool_list(peak);
  }
  if (awaiting > 0) text += "; " + binary_bytes(awaiting) + " await the end of other streams' work";
  return text + ".\n";
}

std::string outside_sentence(const OutsideMemory& outside, std::int64_t reserved, bool is_pytorch) {
  std::string text = (is_pytorch ? "Non-PyTorch memory: about " : "Outside the allocator: about ") +
                     binary_bytes(outside.bytes()) + " (" + binary_bytes(outside.low) + " to " +
                     binary_bytes(outside.high) + "): CUDA context " +
                     binary_bytes(outside.context);
  if (outside.libraries > 0) text += ", libraries " + binary_bytes(outside.libraries);
  if (outside.nccl > 0) text += ", NCCL " + binary_bytes(outside.nccl);
  return text + ".\nnvidia-smi would show about " + binary_bytes(reserved + outside.bytes()) +
         " (" + binary_bytes(reserved + outside.low) + " to " +
         binary_bytes(reserved + outside.high) + ").\n";
}

std::string pool_table(const PeakExplanation& peak) {
  if (peak.pools.empty()) return "";
  std::string text = "\n" + row("pools then, by stream", "reserved", "unused");
  for (const PoolMemory& pool : peak.pools) {
    text += row(pool.stream, binary_bytes(pool.reserved), percent(pool.unused(), pool.reserved));
  }
  return text;
}

std::string step_table(const Prediction& p) {
  std::string text =
      formatted("\n  %-*s %11s %11s\n", kNameWidth,
                formatted("peaks of rank %d", p.peak.rank).c_str(), "allocated", "reserved");
  for (const StepPeaks& step : p.steps_memory) {
    if (step.rank != p.peak.rank) continue;
    text += formatted(
        "  %-*s %11s %11s\n", kNameWidth, ("step " + std::to_string(step.step)).c_str(),
        binary_bytes(step.peaks.allocated).c_str(), binary_bytes(step.peaks.reserved).c_str());
  }
  return text;
}

std::string remedy_row(const std::string& reserved, const char* fits, const std::string& step_time,
                       const std::string& change) {
  return formatted("  %11s  %-4s %10s  %s\n", reserved.c_str(), fits, step_time.c_str(),
                   change.c_str());
}

std::string remedy_row(const Remedy& remedy) {
  return remedy_row(binary_bytes(remedy.peak_reserved), remedy.fits ? "yes" : "no",
                    remedy.step_time ? duration(remedy.step_time->count()) : "-", remedy.change);
}

std::string remedy_table(const Remedies& remedies) {
  if (remedies.changes.empty()) {
    return "\nNo single change of the plan that was tried saves memory.\n";
  }
  std::string text =
      "\n" + remedy_row("reserved", "fits", "step time", "changes of the plan that save most") +
      remedy_row(remedies.present);
  for (const Remedy& change : remedies.changes) text += remedy_row(change);
  return text;
}

}  // namespace

std::string memory_text(const Prediction& p, bool is_pytorch, bool in_full) {
  std::string text = "\n";
  if (p.explanation) {
    text += peak_sentence(*p.explanation) + "\n" + held_table(*p.explanation, in_full) +
            reserved_sentence(*p.explanation);
  }
  if (p.outside) {
    const auto& peaks = p.ranks_memory[static_cast<std::size_t>(p.peak.rank)].peaks;
    text += outside_sentence(*p.outside, peaks.reserved, is_pytorch);
  }
  if (in_full && p.explanation) text += pool_table(*p.explanation) + step_table(p);
  if (p.remedies) text += remedy_table(*p.remedies);
  return text;
}

}  // namespace foreshard::simulator
