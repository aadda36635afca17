#include <algorithm>

#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/format.hpp"
#include "profiler/analysis/saturating.hpp"

namespace foreshard::profiler {
namespace {

constexpr std::size_t kOperatorsShown = 10, kOwnersShown = 6, kRanksShown = 8, kStepsShown = 6;
constexpr double kMuch = 0.05;  // of a step: worth a sentence

// A typical step: the mean over ranks of each one's last step, or of the whole trace where no step
// was recorded.
TimeBreakdown typical(const Analysis& analysis) {
  TimeBreakdown mean;
  constexpr std::int64_t TimeBreakdown::*kFields[] = {
      &TimeBreakdown::device_events,       &TimeBreakdown::span_ns,
      &TimeBreakdown::compute_ns,          &TimeBreakdown::communication_ns,
      &TimeBreakdown::memory_operation_ns, &TimeBreakdown::idle_ns,
      &TimeBreakdown::overlap_ns,          &TimeBreakdown::exposed_communication_ns};
  for (const auto field : kFields) {
    std::int64_t sum = 0, ranks = 0;
    for (const RankAnalysis& rank : analysis.ranks) {
      const TimeBreakdown& time = rank.steps.empty() ? rank.time : rank.steps.back().time;
      if (time.device_events == 0) continue;
      sum = saturating_sum(sum, time.*field);
      ++ranks;
    }
    mean.*field = sum / std::max<std::int64_t>(ranks, 1);
  }
  return mean;
}

// Of all operators and ranks.
std::int64_t operator_time(const Analysis& analysis) {
  std::int64_t total = 0;
  for (const OperatorTotal& one : analysis.operators) total = saturating_sum(total, one.total_ns);
  return total;
}

std::string share(std::int64_t part, std::int64_t whole) {
  return percent(static_cast<double>(part), static_cast<double>(whole));
}

std::string time_sentence(const Analysis& analysis, const TimeBreakdown& t) {
  if (t.span_ns == 0) return "No device events were recorded.";
  const std::string subject = analysis.step_time_ns > 0
                                  ? "A steady step takes " + milliseconds(analysis.step_time_ns)
                                  : "The device events span " + milliseconds(t.span_ns);
  return subject + ": the device computes " + share(t.compute_ns, t.span_ns) + " of it and idles " +
         share(t.idle_ns, t.span_ns) + "; communication takes " +
         share(t.communication_ns, t.span_ns) + ", of which " +
         share(t.overlap_ns, t.communication_ns) + " is hidden behind computation.";
}

const RankAnalysis* fullest(const Analysis& analysis) {
  const auto found = std::max_element(analysis.ranks.begin(), analysis.ranks.end(),
                                      [](const RankAnalysis& a, const RankAnalysis& b) {
                                        return a.peak.allocated_bytes < b.peak.allocated_bytes;
                                      });
  return found == analysis.ranks.end() ? nullptr : &*found;
}

std::string memory_sentence(const RankAnalysis* rank) {
  if (!rank || rank->peak.allocated_bytes == 0) return "No device memory was recorded.";
  const MemoryPeak& peak = rank->peak;
  std::string text = "Memory peaks at " + binary_bytes(peak.allocated_bytes) + " allocated (" +
                     binary_bytes(peak.reserved_bytes) + " reserved) on rank " +
                     std::to_string(rank->rank) + ", in step " + std::to_string(peak.step);
  if (!peak.phase.empty()) text += ", " + peak.phase;
  const auto largest =
      std::max_element(peak.by_category.begin(), peak.by_category.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (largest != peak.by_category.end()) {
    text += "; " + share(largest->second, peak.allocated_bytes) + " of it are " + largest->first;
  }
  return text + ".";
}

// What a person should look at first.
std::string advice_sentence(const Analysis& analysis, const TimeBreakdown& t) {
  const auto much = [&](std::int64_t ns) {
    return static_cast<double>(ns) > kMuch * static_cast<double>(t.span_ns);
  };
  if (much(t.exposed_communication_ns) && t.exposed_communication_ns >= t.idle_ns) {
    return "Computation waits for communication " + milliseconds(t.exposed_communication_ns) +
           " a step (" + share(t.exposed_communication_ns, t.span_ns) +
           "): more prefetch, fewer reshards or larger units would hide some of it.";
  }
  if (much(t.idle_ns)) {
    return "The device idles " + milliseconds(t.idle_ns) + " a step (" +
           share(t.idle_ns, t.span_ns) +
           "): the host issues work too late, or waits where it need not.";
  }
  if (!analysis.operators.empty()) {
    const OperatorTotal& top = analysis.operators.front();
    return "The costliest operator is " + top.name + " with " +
           share(top.total_ns, operator_time(analysis)) + " of all operators' time.";
  }
  return "";
}

std::string ranks_table(const Analysis& analysis) {
  TextTable table({"rank", "span", "compute", "communication", "exposed", "copies", "idle",
                   "allocated", "reserved", "host"});
  for (std::size_t i = 0; i < std::min(kRanksShown, analysis.ranks.size()); ++i) {
    const RankAnalysis& r = analysis.ranks[i];
    table.add({std::to_string(r.rank), milliseconds(r.time.span_ns),
               share(r.time.compute_ns, r.time.span_ns),
               share(r.time.communication_ns, r.time.span_ns),
               share(r.time.exposed_communication_ns, r.time.span_ns),
               share(r.time.memory_operation_ns, r.time.span_ns),
               share(r.time.idle_ns, r.time.span_ns), binary_bytes(r.peak.allocated_bytes),
               binary_bytes(r.peak.reserved_bytes), binary_bytes(r.peak.host_bytes)});
  }
  std::string text = "\nRanks, whole trace\n" + table.text();
  if (analysis.ranks.size() > kRanksShown) {
    text += "  and " + std::to_string(analysis.ranks.size() - kRanksShown) + " more\n";
  }
  return text;
}

std::string steps_table(const RankAnalysis& rank) {
  if (rank.steps.empty()) return "";
  TextTable table({"step", "duration", "compute", "communication", "exposed", "idle", "host waits",
                   "allocated"});
  const std::size_t first = rank.steps.size() - std::min(kStepsShown, rank.steps.size());
  for (std::size_t i = first; i < rank.steps.size(); ++i) {
    const StepAnalysis& s = rank.steps[i];
    table.add({std::to_string(s.step), milliseconds(s.duration_ns), milliseconds(s.time.compute_ns),
               milliseconds(s.time.communication_ns), milliseconds(s.time.exposed_communication_ns),
               milliseconds(s.time.idle_ns), milliseconds(s.host_wait_ns),
               binary_bytes(s.peak_allocated_bytes)});
  }
  return "\nLast steps of rank " + std::to_string(rank.rank) + "\n" + table.text();
}

std::string operators_table(const Analysis& analysis) {
  if (analysis.operators.empty()) return "";
  const std::int64_t total = operator_time(analysis);
  TextTable table({"operator", "category", "count", "total", "mean", "share"});
  for (std::size_t i = 0; i < std::min(kOperatorsShown, analysis.operators.size()); ++i) {
    const OperatorTotal& one = analysis.operators[i];
    table.add({one.name, one.category, std::to_string(one.count), milliseconds(one.total_ns),
               milliseconds(one.total_ns / std::max<std::int64_t>(one.count, 1)),
               share(one.total_ns, total)});
  }
  return "\nOperators, all ranks\n" + table.text();
}

std::string peak_table(const RankAnalysis& rank) {
  const MemoryPeak& peak = rank.peak;
  if (peak.allocated_bytes == 0) return "";
  std::vector<Owner> categories;
  for (const auto& [name, bytes] : peak.by_category) categories.push_back({name, bytes});
  std::sort(categories.begin(), categories.end(),
            [](const Owner& a, const Owner& b) { return a.bytes > b.bytes; });
  TextTable table({"held by", "bytes", "share"});
  for (const Owner& one : categories) {
    table.add({one.name, binary_bytes(one.bytes), share(one.bytes, peak.allocated_bytes)});
  }
  for (std::size_t i = 0; i < std::min(kOwnersShown, peak.owners.size()); ++i) {
    const Owner& one = peak.owners[i];
    table.add({"  " + one.name, binary_bytes(one.bytes), share(one.bytes, peak.allocated_bytes)});
  }
  return "\nMemory at the peak of rank " + std::to_string(rank.rank) +
         ": categories, then the largest owners\n" + table.text();
}

}  // namespace

std::string report_text(const Analysis& analysis) {
  const TimeBreakdown step = typical(analysis);
  const RankAnalysis* const rank = fullest(analysis);
  std::string text;
  if (analysis.predicted) text += "This is a prediction. ";
  text += time_sentence(analysis, step) + "\n" + memory_sentence(rank) + "\n";
  if (const std::string advice = advice_sentence(analysis, step); !advice.empty()) {
    text += advice + "\n";
  }
  for (const std::string& warning : analysis.warnings) text += "warning: " + warning + "\n";
  text += ranks_table(analysis);
  if (rank) text += steps_table(*rank);
  text += operators_table(analysis);
  if (rank) text += peak_table(*rank);
  return text;
}

}  // namespace foreshard::profiler
