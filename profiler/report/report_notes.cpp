#include "profiler/report/report_notes.hpp"

#include <algorithm>

#include "models/base/number_ranges.hpp"
#include "profiler/report/format.hpp"
#include "profiler/report/numbered_names.hpp"

namespace foreshard::profiler {
namespace {

std::string dropped_by_reason(const Analysis& analysis) {
  std::vector<std::string> reasons;
  for (const auto& [reason, records] : analysis.dropped) {
    reasons.push_back(reason + " (" + std::to_string(records) + ")");
  }
  return join(reasons, ", ");
}

std::string ranks_without_work(const Analysis& analysis) {
  std::vector<std::int64_t> idle;
  for (const RankAnalysis& rank : analysis.ranks) {
    if (rank.time.device_events == 0) idle.push_back(rank.rank);
  }
  if (idle.empty()) return "";
  return "No device work was recorded on " + std::string(idle.size() == 1 ? "rank " : "ranks ") +
         join(number_ranges(idle), ", ") + ".";
}

std::string misfits(const Analysis& analysis) {
  std::vector<std::string> parts;
  for (const RankAnalysis& rank : analysis.ranks) {
    if (rank.misfit_memory_events == 0) continue;
    parts.push_back(std::to_string(rank.misfit_memory_events) + " on rank " +
                    std::to_string(rank.rank));
  }
  if (parts.empty()) return "";
  return "Memory events inconsistent with earlier ones: " + join(parts, ", ") +
         ". Reported memory may be too low or too high by as many blocks.";
}

std::string how_to_record_memory(const Analysis& analysis) {
  const bool has_memory =
      std::any_of(analysis.ranks.begin(), analysis.ranks.end(),
                  [](const RankAnalysis& rank) { return !rank.memory_timeline.buckets.empty(); });
  if (has_memory || analysis.ranks.empty()) return "";
  if (analysis.source == "kineto") {
    return "The recording has no memory events; torch.profiler records them with "
           "profile_memory=True.";
  }
  return "";
}

std::string how_to_record_shapes(const Analysis& analysis) {
  const auto& step = analysis.steady_step;
  if (analysis.source != "kineto" || !step || step->work || step->time.compute_ns == 0) return "";
  return "FLOPs are not known without shapes; torch.profiler records them with record_shapes=True.";
}

std::string impossible_mfu(const Analysis& analysis) {
  if (!analysis.steady_step || !analysis.steady_step->work) return "";
  const double mfu = analysis.steady_step->work->mfu.value_or(0);
  if (mfu <= 1) return "";
  return "MFU is not known: it would be " + percent(mfu, 1.0) +
         " of the GPU's peak rate for the types of the operands. Kernels computed in another type, "
         "such as TF32 for fp32.";
}

bool has_work(const Analysis& analysis) {
  return std::any_of(analysis.ranks.begin(), analysis.ranks.end(),
                     [](const RankAnalysis& rank) { return rank.time.device_events > 0; });
}

}  // namespace

std::string incomplete_until(std::int64_t ns) {
  if (ns == 0) return "incomplete: records of any time may be missing";
  return "incomplete: complete up to " + milliseconds(ns) + ", later records may be missing";
}

std::string out_of_memory_sentence(const Analysis& analysis) {
  for (const RankAnalysis& rank : analysis.ranks) {
    if (!rank.ran_out) continue;
    const OutOfMemory& then = rank.ran_out->request;
    return "Rank " + std::to_string(rank.rank) + " ran out of device memory: allocating " +
           binary_bytes(then.requested) + " failed with " + binary_bytes(then.allocated) +
           " allocated and " + binary_bytes(then.reserved) + " reserved." +
           (analysis.source == "snapshot"
                ? " `foreshard replay` replays the snapshot under other allocator settings."
                : "");
  }
  return "";
}

std::vector<std::string> report_alarms(const Analysis& analysis) {
  std::vector<std::string> alarms;
  if (!analysis.complete) {
    alarms.push_back("this recording is " + incomplete_until(analysis.complete_until_ns));
  }
  if (analysis.unknown_costs > 0) {
    alarms.push_back("this prediction has no cost for " +
                     plural(analysis.unknown_costs, "operation") +
                     " per step; its times are not meaningful");
  }
  if (!analysis.end_reason.empty()) alarms.push_back("the run ended early: " + analysis.end_reason);
  if (!analysis.not_recorded.empty()) alarms.push_back(analysis.not_recorded);
  // An importer skips records that it does not understand or need; our own recorder loses events.
  if (analysis.source.empty() && !analysis.dropped.empty()) {
    alarms.push_back("records were lost: " + dropped_by_reason(analysis));
  }
  return alarms;
}

std::vector<std::string> report_notes(const Analysis& analysis) {
  std::vector<std::string> notes;
  if (analysis.missing_ranks > 0) {
    notes.push_back("The run has " +
                    plural(analysis.recorded_ranks + analysis.missing_ranks, "rank") +
                    "; this trace contains " + std::to_string(analysis.recorded_ranks) + ".");
  }
  if (has_work(analysis))
    notes.push_back(ranks_without_work(analysis));  // otherwise a sentence states it
  if (!analysis.moved_clocks.empty()) {
    notes.push_back("Clocks of ranks differ; times were moved so that collectives end together: " +
                    analysis.moved_clocks + ".");
  }
  notes.push_back(misfits(analysis));
  notes.push_back(how_to_record_memory(analysis));
  notes.push_back(how_to_record_shapes(analysis));
  notes.push_back(impossible_mfu(analysis));
  if (!analysis.source.empty() && !analysis.dropped.empty()) {
    notes.push_back("Skipped records: " + dropped_by_reason(analysis) + ".");
  }
  std::erase(notes, "");
  return notes;
}

std::vector<std::string> recording_warnings(const Analysis& analysis) {
  std::vector<std::string> warnings = report_alarms(analysis);
  warnings.push_back(out_of_memory_sentence(analysis));
  if (!has_work(analysis)) warnings.push_back(ranks_without_work(analysis));
  for (std::string& note : report_notes(analysis)) warnings.push_back(std::move(note));
  std::erase(warnings, "");
  return warnings;
}

}  // namespace foreshard::profiler
