#include "profiler/report/analysis_report.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "profiler/analysis/analysis.hpp"
#include "profiler/report/format.hpp"
#include "profiler/report/numbered_names.hpp"
#include "profiler/report/report_memory.hpp"
#include "profiler/report/report_notes.hpp"
#include "profiler/report/report_sentences.hpp"
#include "profiler/report/short_names.hpp"
#include "traces/input/bounded_sum.hpp"
#include "traces/meaning/collectives.hpp"

namespace foreshard::profiler {
namespace {

// The time tables of a report.

using traces::bounded_sum;

constexpr std::size_t kCollectiveWidth = 66, kSizeWidth = 38;
constexpr std::size_t kRanksShown = 4, kStepsShown = 3, kPathShown = 5, kCollectivesShown = 3,
                      kSizesShown = 6, kUnitsShown = 6, kRunsNamed = 3, kDeviceOperatorsShown = 6,
                      kHostOperatorsShown = 4;

void add_times(TextTable& table, const std::string& what, std::int64_t ns,
               const TimeBreakdown& time, std::int64_t allocated, std::int64_t reserved,
               std::int64_t host) {
  constexpr std::int64_t kLong = 10'000'000;
  table.add({what, ns == 0 ? "-" : in_milliseconds(ns, ns < kLong ? 3 : 1),
             percent(time.compute_ns, time.span_ns), percent(time.communication_ns, time.span_ns),
             percent(time.exposed_communication_ns, time.span_ns),
             percent(time.memory_operation_ns, time.span_ns), percent(time.idle_ns, time.span_ns),
             binary_bytes(allocated), binary_bytes(reserved), binary_bytes(host)});
}

// Whether a rank's memory on the host is worth a column.
bool has_host_column(const RankAnalysis& rank) {
  return rank.peak.host_bytes > rank.peak.allocated_bytes / 1000;
}

// "and 4 more: compute 10.2 % to 10.4 %, ...", of the ranks from `first` on.
std::string other_ranks(const Analysis& analysis, std::size_t first) {
  const auto range = [&](const std::string& name, auto value, auto text) {
    const auto [least, most] = std::minmax_element(
        analysis.ranks.begin() + static_cast<std::ptrdiff_t>(first), analysis.ranks.end(),
        [&](const RankAnalysis& a, const RankAnalysis& b) { return value(a) < value(b); });
    return name + " " + text(*least) + " to " + text(*most);
  };
  const auto part = [](std::int64_t TimeBreakdown::*field) {
    return std::pair{
        [field](const RankAnalysis& rank) {
          return static_cast<double>(rank.time.*field) /
                 static_cast<double>(std::max<std::int64_t>(rank.time.span_ns, 1));
        },
        [field](const RankAnalysis& rank) { return percent(rank.time.*field, rank.time.span_ns); }};
  };
  std::vector<std::string> ranges;
  if (analysis.ranks[first].time.span_ns > 0) {
    const auto [compute, compute_text] = part(&TimeBreakdown::compute_ns);
    const auto [idle, idle_text] = part(&TimeBreakdown::idle_ns);
    ranges.push_back(range("compute", compute, compute_text));
    ranges.push_back(range("idle", idle, idle_text));
  }
  ranges.push_back(range(
      "allocated", [](const RankAnalysis& rank) { return rank.peak.allocated_bytes; },
      [](const RankAnalysis& rank) { return binary_bytes(rank.peak.allocated_bytes); }));
  return "  and " + std::to_string(analysis.ranks.size() - first) + " more: " + join(ranges, ", ") +
         "\n";
}

const char* text_of(GapCause cause) {
  switch (cause) {
    case GapCause::communication: return "waiting for communication";
    case GapCause::copies: return "copies only";
    case GapCause::host_blocked: return "host blocked";
    case GapCause::launch_bound: return "launch-bound";
    case GapCause::other_ranks: return "waiting for other ranks";
    case GapCause::between_kernels: return "between kernels";
    case GapCause::dependency: return "waiting for other streams";
    case GapCause::unknown:
    case GapCause::kCount: break;
  }
  return "unknown";
}

// The rows of the tables, chosen before any name is shortened.
struct Shown {
  std::vector<const PathPart*> path;
  std::vector<CollectiveCost> collectives;  // sums by unit
  std::vector<const OperatorTotal*> device, host;
  std::int64_t device_ns = 0, host_ns = 0;  // of all, shown or not
  std::map<std::string, std::string> names;

  explicit Shown(const Analysis& analysis) {
    for (const PathPart& part : analysis.path.parts) {
      if (path.size() < kPathShown) path.push_back(&part);
    }
    collectives = by_unit(analysis.collectives);
    collectives.resize(std::min(collectives.size(), kCollectivesShown));
    std::erase_if(collectives, [](const CollectiveCost& one) { return one.exposed_ns <= 0; });
    for (const OperatorTotal& one : analysis.operators) {
      auto& total = one.is_on_device ? device_ns : host_ns;
      total = bounded_sum(total, one.self_ns);
      (one.is_on_device ? device : host).push_back(&one);
    }
    const auto costlier = [](const OperatorTotal* a, const OperatorTotal* b) {
      return a->self_ns > b->self_ns;
    };
    std::stable_sort(device.begin(), device.end(), costlier);
    std::stable_sort(host.begin(), host.end(), costlier);
    device.resize(std::min(device.size(), kDeviceOperatorsShown));
    host.resize(std::min(host.size(), kHostOperatorsShown));
    // The hosts of our own runs only launch work, except for an offloaded optimizer.
    if (analysis.source.empty() && host_ns < device_ns / 5) host.clear();
    std::erase_if(host, [&](const OperatorTotal* one) { return one->self_ns < host_ns / 2000; });
    shorten();
  }

 private:
  void shorten() {
    std::vector<std::string> full;
    for (const PathPart* one : path) full.push_back(one->name);
    for (const CollectiveCost& one : collectives) full.push_back(one.name);
    for (const OperatorTotal* one : device) full.push_back(one->name);
    for (const OperatorTotal* one : host) full.push_back(one->name);
    const std::vector<std::string> texts = short_names(full);
    for (std::size_t i = 0; i < full.size(); ++i) names[full[i]] = texts[i];
  }
};

std::string path_table(const Analysis& analysis, const Shown& shown) {
  const std::int64_t length = analysis.path.end_ns - analysis.path.start_ns;
  TextTable table({"share", "ms", "count", "kind", "critical path, " + duration(length)}, {3, 4});
  for (const PathPart* part : shown.path) {
    table.add({percent(part->ns, length), in_milliseconds(part->ns), std::to_string(part->count),
               part->kind == "waiting" ? "waiting for" : part->kind, shown.names.at(part->name)});
  }
  return table.text();
}

std::string collectives_table(const Shown& shown) {
  TextTable table({"exposed ms", "ms", "count", "exposed collectives"}, {3});
  for (const CollectiveCost& one : shown.collectives) {
    table.add({in_milliseconds(one.exposed_ns), in_milliseconds(one.total_ns),
               std::to_string(one.count),
               truncate(shown.names.at(one.name) + (one.unit.empty() ? "" : " of " + one.unit),
                        kCollectiveWidth, kCollectiveWidth / 2)});
  }
  return table.text();
}

// "all_gather of 2 ranks, group 0 [0, 1]"; without the group's ranks where they are many.
std::string whose_collective(const CollectiveCost& one) {
  const std::string text = std::string(name(one.key.op)) + " of " + plural(one.key.dims[1], "rank");
  if (one.group.empty()) return text;
  const std::string whole = text + ", group " + one.group;
  if (whole.size() <= kSizeWidth) return whole;
  return truncate(text + ", group " + traces::process_group(one.group).name, kSizeWidth,
                  kSizeWidth / 2);
}

// Units that differ in a number, such as those of a model's layers, are one row.
std::string units_table(const Analysis& analysis) {
  const StepUnits& step = analysis.units;
  const auto has = [&](std::int64_t UnitTimes::*part) {
    return std::any_of(step.units.begin(), step.units.end(),
                       [&](const UnitTimes& one) { return one.*part > 0; });
  };
  const bool is_gathered = has(&UnitTimes::gather_ns);
  if (!is_gathered && !has(&UnitTimes::reduce_ns)) return "";
  TextTable table({"gather ms", "compute ms", "reduce ms", "late ms",
                   std::string(is_gathered ? "FSDP units of a step" : "units of a step") +
                       (step.first_late.empty() ? "" : ", first late: " + step.first_late)},
                  {4});
  std::vector<std::pair<UnitTimes, std::vector<std::string>>> rows;
  std::map<std::pair<std::string, std::string>, std::size_t> families;
  for (const UnitTimes& one : step.units) {
    const NumberedName name = split_number(one.unit);
    const auto row = families.try_emplace({name.before, name.after}, rows.size()).first->second;
    if (row == rows.size()) rows.emplace_back();
    auto& [sum, units] = rows[row];
    for (const auto part : {&UnitTimes::gather_ns, &UnitTimes::compute_ns, &UnitTimes::reduce_ns,
                            &UnitTimes::late_ns}) {
      sum.*part = bounded_sum(sum.*part, one.*part);
    }
    units.push_back(one.unit);
  }
  rows.resize(std::min(rows.size(), kUnitsShown));
  for (const auto& [sum, units] : rows) {
    table.add({in_milliseconds(sum.gather_ns), in_milliseconds(sum.compute_ns),
               in_milliseconds(sum.reduce_ns), in_milliseconds(sum.late_ns),
               joined_units(units, kRunsNamed)});
  }
  return table.text();
}

// "-" of what a recording of one rank does not say: how long a collective waited for the others.
std::string sizes_table(const Analysis& analysis) {
  TextTable table(
      {"ms", "transfer ms", "count", "size", "alg. GB/s", "bus GB/s", "collectives by size"}, {6});
  std::vector<CollectiveCost> sizes = by_size(analysis.collectives);
  sizes.resize(std::min(sizes.size(), kSizesShown));
  for (const CollectiveCost& one : sizes) {
    const auto bandwidths = bandwidth(one);
    if (!bandwidths) continue;
    table.add({in_milliseconds(one.total_ns),
               one.matched == one.count ? in_milliseconds(one.transfer_ns) : "-",
               std::to_string(one.count), binary_bytes(one.key.dims[0]),
               to_fixed(bandwidths->algorithm_gb_s, 1), to_fixed(bandwidths->bus_gb_s, 1),
               whose_collective(one)});
  }
  return table.text();
}

std::string operators_table(const std::vector<const OperatorTotal*>& operators,
                            std::int64_t total_ns, const char* what, const Shown& shown) {
  TextTable table({"share", "ms", "count", "mean us", "kind", what}, {4, 5});
  for (const OperatorTotal* one : operators) {
    const double mean = static_cast<double>(one->self_ns) /
                        static_cast<double>(std::max<std::int64_t>(one->count, 1));
    table.add({percent(one->self_ns, total_ns), in_milliseconds(one->self_ns),
               std::to_string(one->count), to_fixed(mean / 1e3, mean < 1e6 ? 1 : 0), one->category,
               shown.names.at(one->name)});
  }
  return table.text();
}

// Of work, which may run at the same time.
std::string cost_sources_table(const Analysis& analysis) {
  std::int64_t total_ns = 0;
  for (const CostSourceTotal& one : analysis.cost_sources) {
    total_ns = bounded_sum(total_ns, one.total_ns);
  }
  TextTable table({"share", "ms", "count", "source of the predicted times"}, {3});
  for (const CostSourceTotal& one : analysis.cost_sources) {
    table.add({percent(one.total_ns, total_ns), in_milliseconds(one.total_ns),
               std::to_string(one.count), std::string(name(one.source))});
  }
  return table.text();
}

// Ranks over the whole trace, then the last steps of the fullest one: from one end of its device's work to the next,
// or where it has none, on the host.
std::string times_table(const Analysis& analysis) {
  TextTable ranks(
      {"", "ms", "compute", "comm.", "exposed", "copies", "idle", "allocated", "reserved", "host"});
  const std::size_t count = std::min(kRanksShown, analysis.ranks.size());
  for (std::size_t i = 0; i < count; ++i) {
    const RankAnalysis& r = analysis.ranks[i];
    if (r.time.span_ns == 0 && r.peak.allocated_bytes == 0 && r.peak.host_bytes == 0) continue;
    add_times(ranks, "rank " + std::to_string(r.rank), r.time.span_ns, r.time,
              r.peak.allocated_bytes, r.peak.reserved_bytes,
              has_host_column(r) ? r.peak.host_bytes : 0);
  }
  const RankAnalysis* const rank = fullest_rank(analysis);
  const std::size_t steps = rank ? rank->steps.size() : 0;
  for (std::size_t i = steps - std::min(kStepsShown, steps); i < steps; ++i) {
    const StepAnalysis& s = rank->steps[i];
    if (s.step < 1) continue;  // set-up
    const std::string whose =
        analysis.ranks.size() > 1 ? " of rank " + std::to_string(rank->rank) : "";
    add_times(ranks, "step " + std::to_string(s.step) + whose,
              s.whole.span_ns > 0 ? s.whole.span_ns : s.duration_ns, s.whole,
              s.peak_allocated_bytes, s.peak_reserved_bytes,
              has_host_column(*rank) ? s.peak_host_bytes : 0);
  }
  std::string text = ranks.text();
  if (analysis.ranks.size() > count) text += other_ranks(analysis, count);
  return text.empty() ? "" : "\n" + text;
}

// Why ranks did not compute, all together.
std::string gaps_lines(const Analysis& analysis) {
  ComputeGaps sum{};
  std::int64_t span = 0, without = 0;
  for (const RankAnalysis& rank : analysis.ranks) {
    span = bounded_sum(span, rank.time.span_ns);
    for (std::size_t cause = 0; cause < kGapCauses; ++cause) {
      sum[cause] = bounded_sum(sum[cause], rank.gaps[cause]);
      without = bounded_sum(without, rank.gaps[cause]);
    }
  }
  std::vector<std::pair<std::int64_t, std::string>> causes;
  for (std::size_t cause = 0; cause < kGapCauses; ++cause) {
    if (sum[cause] < span / 2000) continue;  // would read 0.0 %
    causes.emplace_back(sum[cause],
                        percent(sum[cause], span) + " " + text_of(static_cast<GapCause>(cause)));
  }
  if (without == 0 || causes.empty()) return "";
  std::stable_sort(causes.begin(), causes.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> parts;
  parts.reserve(causes.size());
  for (auto& [ns, text] : causes) parts.push_back(std::move(text));
  return wrap("  not computing " + percent(without, span) + ": " + join(parts, ", "), 4);
}

// The critical path, collectives that nothing hid, operators of devices and hosts. A kernel has the
// same name in all of them.
std::string work_tables(const Analysis& analysis) {
  const Shown shown(analysis);
  std::string text;
  for (const std::string& table :
       {path_table(analysis, shown), units_table(analysis), collectives_table(shown),
        sizes_table(analysis),
        operators_table(shown.device, shown.device_ns, "device kernels and copies", shown),
        operators_table(shown.host, shown.host_ns, "CPU operators (self time)", shown),
        cost_sources_table(analysis)}) {
    if (!table.empty()) text += "\n" + table;
  }
  return text;
}

}  // namespace

std::string report_text(const Analysis& analysis) {
  std::string text;
  if (!analysis.question_line.empty()) text += wrap(analysis.question_line, 2);
  if (!analysis.selection.empty()) {
    text += wrap("A part of the recording: " + analysis.selection + ".", 2);
  }
  for (const std::string& alarm : report_alarms(analysis)) text += wrap("warning: " + alarm, 9);
  std::vector<std::string> sentences = report_sentences(analysis);
  if (analysis.predicted) sentences.front().insert(0, "This is a prediction. ");
  for (const std::string& sentence : sentences) text += wrap(sentence, 2);
  text += times_table(analysis) + gaps_lines(analysis) + work_tables(analysis);
  if (const RankAnalysis* const rank = fullest_rank(analysis)) {
    text += memory_over_time(*rank) + memory_at_the_peak(*rank);
  }
  std::string notes;
  if (analysis.gpu_libraries) {
    notes += wrap("Computed with " + sentence(*analysis.gpu_libraries) + ".", 2);
  }
  for (const GpuMemory& gpu : analysis.gpus) notes += wrap(sentence(gpu), 2);
  for (const std::string& note : report_notes(analysis)) notes += wrap(note, 2);
  return notes.empty() ? text : text + "\n" + notes;
}

std::string report_text(const std::vector<NamedAnalysis>& recordings) {
  std::string text;
  for (const NamedAnalysis& one : recordings) {
    text += (text.empty() ? "" : "\n\n") + std::string("=== ") + one.file + " ===\n\n" +
            report_text(one.analysis);
  }
  return text;
}

}  // namespace foreshard::profiler
