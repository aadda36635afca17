#include "profiler/analysis/report_notes.hpp"

#include <algorithm>

#include "profiler/analysis/format.hpp"
#include "profiler/analysis/numbered_names.hpp"

namespace foreshard::profiler {
namespace {

std::string dropped_by_reason(const Analysis& analysis) {
  std::vector<std::string> reasons;
  for (const auto& [reason, records] : analysis.dropped) {
    reasons.push_back(reason + " (" + std::to_string(records) + ")");
  }
  return joined(reasons, ", ");
}

std::string ranks_without_work(const Analysis& analysis) {
  std::vector<std::int64_t> idle;
  for (const RankAnalysis& rank : analysis.ranks) {
    if (rank.time.device_events == 0) idle.push_back(rank.rank);
  }
  if (idle.empty() || idle.size() == analysis.ranks.size()) return "";
  return "No work of devices was recorded on " +
         std::string(idle.size() == 1 ? "rank " : "ranks ") + joined(runs(idle), ", ") + ".";
}

std::string misfits(const Analysis& analysis) {
  std::vector<std::string> parts;
  for (const RankAnalysis& rank : analysis.ranks) {
    if (rank.misfit_memory_events == 0) continue;
    parts.push_back(std::to_string(rank.misfit_memory_events) + " of rank " +
                    std::to_string(rank.rank));
  }
  if (parts.empty()) return "";
  return "Memory events that do not fit those before them: " + joined(parts, ", ") +
         ". What is said of memory may be too low or too high by as many blocks.";
}

std::string how_to_record_memory(const Analysis& analysis) {
  const bool has_memory =
      std::any_of(analysis.ranks.begin(), analysis.ranks.end(),
                  [](const RankAnalysis& rank) { return !rank.memory_timeline.buckets.empty(); });
  if (has_memory || analysis.ranks.empty()) return "";
  if (analysis.source == "kineto") {
    return "No memory was recorded; torch.profiler does with profile_memory=True.";
  }
  return "";
}

}  // namespace

std::vector<std::string> report_alarms(const Analysis& analysis) {
  std::vector<std::string> alarms;
  if (!analysis.complete) {
    alarms.push_back("this recording is incomplete: nothing is missing before " +
                     milliseconds(analysis.complete_until_ns) + ", what came later may be");
  }
  if (!analysis.end_reason.empty()) alarms.push_back("the run ended early: " + analysis.end_reason);
  // What an importer leaves out it does not understand or need; our own recorder loses what happened.
  if (analysis.source.empty() && !analysis.dropped.empty()) {
    alarms.push_back("records were lost: " + dropped_by_reason(analysis));
  }
  return alarms;
}

std::vector<std::string> report_notes(const Analysis& analysis) {
  std::vector<std::string> notes;
  if (analysis.missing_ranks > 0) {
    const auto here = static_cast<std::int64_t>(analysis.ranks.size());
    notes.push_back("The run has " + counted(here + analysis.missing_ranks, "rank") +
                    ", this trace holds " + std::to_string(here) + ".");
  }
  notes.push_back(ranks_without_work(analysis));
  notes.push_back(misfits(analysis));
  notes.push_back(how_to_record_memory(analysis));
  if (!analysis.source.empty() && !analysis.dropped.empty()) {
    notes.push_back("Left out: " + dropped_by_reason(analysis) + ".");
  }
  std::erase(notes, "");
  return notes;
}

}  // namespace foreshard::profiler
