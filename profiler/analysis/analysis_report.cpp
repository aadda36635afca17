#include <algorithm>

#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/format.hpp"
#include "profiler/analysis/report_sentences.hpp"
#include "profiler/analysis/short_names.hpp"
#include "traces/bounded_sum.hpp"

namespace foreshard::profiler {
namespace {

using traces::bounded_sum;

constexpr std::size_t kOperatorsShown = 8, kOwnersShown = 6, kRanksShown = 8, kStepsShown = 3,
                      kPathShown = 6, kCollectivesShown = 4, kHostOperatorsShown = 5;

std::string share(std::int64_t part, std::int64_t whole) {
  return percent(static_cast<double>(part), static_cast<double>(whole));
}

bool is_empty(const RankAnalysis& rank) {
  return rank.time.device_events == 0 && rank.peak.allocated_bytes == 0 &&
         rank.peak.reserved_bytes == 0 && rank.peak.host_bytes == 0;
}

std::string ranks_table(const Analysis& analysis) {
  if (std::all_of(analysis.ranks.begin(), analysis.ranks.end(), is_empty)) return "";
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

// Why ranks did not compute, added up over them.
std::string gaps_table(const Analysis& analysis) {
  ComputeGaps sum{};
  std::int64_t span = 0, without = 0;
  for (const RankAnalysis& rank : analysis.ranks) {
    span = bounded_sum(span, rank.time.span_ns);
    for (std::size_t cause = 0; cause < kGapCauses; ++cause) {
      sum[cause] = bounded_sum(sum[cause], rank.gaps[cause]);
      without = bounded_sum(without, rank.gaps[cause]);
    }
  }
  if (without == 0) return "";
  TextTable table({"no computation because of", "time", "of the span"});
  for (std::size_t cause = 0; cause < kGapCauses; ++cause) {
    if (sum[cause] == 0) continue;
    table.add({std::string(name(static_cast<GapCause>(cause))), milliseconds(sum[cause]),
               share(sum[cause], span)});
  }
  return "\nAll ranks together\n" + table.text();
}

std::string collectives_table(const Analysis& analysis) {
  TextTable table({"exposed collective", "unit", "count", "total", "exposed"});
  std::size_t shown = 0;
  for (const CollectiveCost& one : analysis.collectives) {
    if (one.exposed_ns == 0 || shown++ == kCollectivesShown) break;
    table.add({short_name(one.name), one.unit.empty() ? "-" : one.unit, std::to_string(one.count),
               milliseconds(one.total_ns), milliseconds(one.exposed_ns)});
  }
  return shown == 0 ? "" : "\nCollectives that nothing hid\n" + table.text();
}

std::string path_table(const CriticalPath& path) {
  if (path.parts.empty()) return "";
  const std::int64_t length = path.end_ns - path.start_ns;
  TextTable table({"on the critical path", "kind", "count", "time", "share"});
  for (std::size_t i = 0; i < std::min(kPathShown, path.parts.size()); ++i) {
    const PathPart& part = path.parts[i];
    table.add({short_name(part.name), part.kind, std::to_string(part.count), milliseconds(part.ns),
               share(part.ns, length)});
  }
  return "\nCritical path of " + milliseconds(length) + "\n" + table.text();
}

std::string operators_table(const Analysis& analysis, bool on_device, std::size_t most) {
  std::vector<const OperatorTotal*> shown;
  std::int64_t total = 0;
  for (const OperatorTotal& one : analysis.operators) {
    if (one.is_on_device != on_device) continue;
    shown.push_back(&one);
    total = bounded_sum(total, one.self_ns);
  }
  if (shown.empty()) return "";
  std::stable_sort(shown.begin(), shown.end(), [](const OperatorTotal* a, const OperatorTotal* b) {
    return a->self_ns > b->self_ns;
  });
  shown.resize(std::min(shown.size(), most));
  TextTable table({on_device ? "operator of devices" : "operator of hosts", "category", "count",
                   on_device ? "total" : "by itself", "mean", "share"});
  for (const OperatorTotal* one : shown) {
    table.add({short_name(one->name), one->category, std::to_string(one->count),
               milliseconds(one->self_ns),
               milliseconds(one->self_ns / std::max<std::int64_t>(one->count, 1)),
               share(one->self_ns, total)});
  }
  return "\n" + table.text();
}

std::string peak_table(const RankAnalysis& rank) {
  const MemoryPeak& peak = rank.peak;
  if (peak.allocated_bytes == 0) return "";
  std::vector<Owner> categories;
  for (const auto& [name, bytes] : peak.by_category) categories.push_back({name, bytes, 0});
  std::sort(categories.begin(), categories.end(),
            [](const Owner& a, const Owner& b) { return a.bytes > b.bytes; });
  TextTable table({"held by", "blocks", "bytes", "share"});
  for (const Owner& one : categories) {
    table.add({one.name, "", binary_bytes(one.bytes), share(one.bytes, peak.allocated_bytes)});
  }
  for (std::size_t i = 0; i < std::min(kOwnersShown, peak.owners.size()); ++i) {
    const Owner& one = peak.owners[i];
    table.add({"  " + one.name, std::to_string(one.blocks), binary_bytes(one.bytes),
               share(one.bytes, peak.allocated_bytes)});
  }
  return "\nMemory at the peak of rank " + std::to_string(rank.rank) +
         ": categories, then the largest owners\n" + table.text();
}

}  // namespace

std::string report_text(const Analysis& analysis) {
  std::string text;
  if (analysis.predicted) text += "This is a prediction. ";
  for (const std::string& sentence : report_sentences(analysis)) text += sentence + "\n";
  for (const std::string& warning : analysis.warnings) text += "warning: " + warning + "\n";
  text += ranks_table(analysis);
  text += gaps_table(analysis);
  const RankAnalysis* const rank = fullest_rank(analysis);
  if (rank) text += steps_table(*rank);
  text += path_table(analysis.path);
  text += collectives_table(analysis);
  text += operators_table(analysis, true, kOperatorsShown);
  text += operators_table(analysis, false, kHostOperatorsShown);
  if (rank) text += peak_table(*rank);
  return text;
}

}  // namespace foreshard::profiler
