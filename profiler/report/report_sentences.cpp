#include "profiler/report/report_sentences.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "profiler/report/format.hpp"
#include "profiler/report/numbered_names.hpp"
#include "profiler/report/report_memory.hpp"
#include "profiler/report/report_notes.hpp"
#include "profiler/report/short_names.hpp"
#include "traces/input/bounded_sum.hpp"

namespace foreshard::profiler {
namespace {

using traces::bounded_sum;

constexpr double kMuch = 0.05;  // of a step: worth a sentence
constexpr std::size_t kUnitsNamed = 3, kHoldersNamed = 3, kMaxSentences = 5;

bool is_much(std::int64_t part, std::int64_t whole) {
  return part > 0 && static_cast<double>(part) >= kMuch * static_cast<double>(whole);
}

// By more than a reader takes for the same.
bool differs(std::int64_t a, std::int64_t b) {
  return static_cast<double>(std::abs(a - b)) > 0.01 * static_cast<double>(b);
}

// "a step", or what stands for it where there is none.
const char* whole_of(const Analysis& analysis) {
  return analysis.step_time_ns > 0 ? "step" : "time";
}

std::string time_sentence(const Analysis& analysis, const TimeBreakdown& t) {
  const bool has_steps = analysis.step_time_ns > 0;
  if (t.span_ns == 0) {
    const std::int64_t hosts_ns = analysis.path.end_ns - analysis.path.start_ns;
    if (has_steps) {
      return "A steady step takes " + duration(analysis.step_time_ns) +
             " on the host; no device work was recorded.";
    }
    return analysis.operators.empty()
               ? ""
               : "Only host work was recorded, over " + duration(hosts_ns) + ".";
  }
  const auto busy = static_cast<std::int64_t>(
      std::count_if(analysis.ranks.begin(), analysis.ranks.end(),
                    [](const RankAnalysis& rank) { return rank.time.device_events > 0; }));
  std::string text = has_steps ? "A steady step takes " + duration(analysis.step_time_ns)
                               : "Device work spans " + duration(t.span_ns);
  // A step that its device takes longer or shorter for: the last of a recording, or one of two of which the time is
  // the mean.
  if (has_steps && analysis.steady_step && differs(t.span_ns, analysis.step_time_ns)) {
    text += ", on its device " + duration(t.span_ns);
  }
  if (has_steps && !analysis.steady_step) {
    return text + "; what its device did is not known as a whole, since the recording was cut off.";
  }
  std::vector<std::string> parts{percent(t.compute_ns, t.span_ns) + " compute"};
  if (t.communication_ns > 0) {
    parts.push_back(percent(t.communication_ns, t.span_ns) + " communication (" +
                    (t.overlap_ns > 0 ? percent(t.overlap_ns, t.communication_ns) : "none") +
                    " of it overlapped with compute)");
  }
  if (is_much(t.memory_operation_ns, t.span_ns)) {
    parts.push_back(percent(t.memory_operation_ns, t.span_ns) + " copies");
  }
  parts.push_back(percent(t.idle_ns, t.span_ns) + " idle");
  text += ": " + join(parts, ", ");
  if (busy > 1) text += " (mean of " + plural(busy, "rank") + ")";
  return text + ".";
}

// "1.23 TFLOP", which a "/s" makes a rate.
std::string operations(double flops) {
  return flops >= 1e12 ? to_fixed(flops / 1e12, 2) + " TFLOP" : to_fixed(flops / 1e9, 2) + " GFLOP";
}

std::string work_sentence(const Analysis& analysis) {
  if (!analysis.steady_step || !analysis.steady_step->work) return "";
  const StepWork& work = *analysis.steady_step->work;
  const double seconds = static_cast<double>(analysis.steady_step->time.span_ns) / 1e9;
  if (work.flops == 0 || seconds == 0) return "";
  std::string text = analysis.ranks.size() > 1 ? " A rank computes " : " It computes ";
  text += operations(work.flops) + ", " + operations(work.flops / seconds) + "/s";
  if (work.mfu && *work.mfu <= 1) {
    text += ": " + percent(*work.mfu, 1.0) + " MFU, recomputed operators included";
  }
  if (work.tokens) text += "; " + to_fixed(*work.tokens / seconds, 0) + " tokens/s";
  return text + " (shapes are known of " + percent(work.known_share, 1.0) +
         " of the compute time).";
}

std::string plain(std::string category) {
  if (category == "all_gather") return "all-gather buffers";
  if (category == "reduce_scatter") return "reduce-scatter buffers";
  std::replace(category.begin(), category.end(), '_', ' ');
  return category;
}

// Whether categories are known for most of the memory.
bool has_categories(const MemoryPeak& peak) {
  std::int64_t unknown = 0;
  for (const auto& [category, bytes] : peak.by_category) {
    if (category == kUnknown || category == "unattributed") unknown = bounded_sum(unknown, bytes);
  }
  return unknown <= peak.allocated_bytes / 5;
}

using Holders = std::vector<std::pair<std::string, std::int64_t>>;  // with bytes

// Categories or owners.
Holders holders_of(const MemoryPeak& peak, bool are_categories) {
  Holders holders;
  const auto add = [&](const std::string& name, const std::string& text, std::int64_t bytes) {
    holders.emplace_back(name == "before the recording" ? "from before the recording" : text,
                         bytes);
  };
  if (are_categories) {
    for (const auto& [category, bytes] : peak.by_category) add(category, plain(category), bytes);
  } else {
    for (const Owner& owner : grouped_owners(peak.owners)) {
      if (owner.name != kUnknown) add(owner.name, "by " + owner.name, owner.bytes);
    }
  }
  return holders;
}

std::string largest_holders(const MemoryPeak& peak) {
  Holders holders = holders_of(peak, has_categories(peak));
  std::stable_sort(holders.begin(), holders.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> parts;
  for (const auto& [name, bytes] : holders) {
    if (parts.size() == kHoldersNamed || !is_much(bytes, peak.allocated_bytes)) break;
    parts.push_back(percent(bytes, peak.allocated_bytes) + " " + name);
  }
  return parts.empty() ? "" : ": " + join(parts, ", ");
}

std::string memory_sentence(const Analysis& analysis) {
  const RankAnalysis* const rank = fullest_rank(analysis);
  if (!rank) return "";
  const MemoryPeak& peak = rank->peak;
  const std::string whose =
      analysis.ranks.size() > 1 ? " on rank " + std::to_string(rank->rank) : "";
  if (peak.allocated_bytes == 0) {
    return peak.host_bytes == 0
               ? ""
               : "Host memory peaks at " + binary_bytes(peak.host_bytes) + whose + ".";
  }
  std::string text = "Memory peaks at " + binary_bytes(peak.allocated_bytes) + " allocated";
  if (peak.reserved_bytes > 0) {
    const bool is_then = peak.reserved_then_bytes == peak.reserved_bytes;
    text += " (" + binary_bytes(peak.reserved_then_bytes) + " reserved" +
            (is_then ? ")" : " at that time, " + binary_bytes(peak.reserved_bytes) + " at most)");
  }
  text += whose;
  if (!rank->steps.empty()) text += " in step " + std::to_string(peak.step);
  if (!peak.phase.empty()) text += " during " + peak.phase;
  return text + largest_holders(peak) + ".";
}

// Of which holder the rank with the least memory has how much less than the one with the most.
std::string uneven_ranks_sentence(const Analysis& analysis) {
  const RankAnalysis *const most = fullest_rank(analysis), *least = most;
  if (!most) return "";
  for (const RankAnalysis& rank : analysis.ranks) {
    if (rank.peak.allocated_bytes < least->peak.allocated_bytes) least = &rank;
  }
  const std::int64_t full = most->peak.allocated_bytes,
                     missing = full - least->peak.allocated_bytes;
  if (!is_much(missing, full)) return "";
  const bool are_categories = has_categories(most->peak) && has_categories(least->peak);
  std::map<std::string, std::int64_t> less;
  for (const auto& [name, bytes] : holders_of(most->peak, are_categories)) less[name] += bytes;
  for (const auto& [name, bytes] : holders_of(least->peak, are_categories)) less[name] -= bytes;
  std::string text = "Rank " + std::to_string(least->rank) + " peaks at " +
                     binary_bytes(least->peak.allocated_bytes) + ", " + binary_bytes(missing) +
                     " less than rank " + std::to_string(most->rank);
  const auto largest = std::max_element(
      less.begin(), less.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (largest != less.end() && largest->second > 0) {
    text +=
        "; the largest difference is " + binary_bytes(largest->second) + " less " + largest->first;
  }
  return text + ".";
}

std::string fragmentation_sentence(const Analysis& analysis) {
  const RankAnalysis* const rank = fullest_rank(analysis);
  if (!rank) return "";
  const std::int64_t reserved = rank->peak.reserved_then_bytes,
                     unused = reserved - rank->peak.allocated_bytes;
  if (!is_much(unused, reserved)) return "";
  return "At the peak, " + binary_bytes(unused) + " (" + percent(unused, reserved) +
         ") of the reserved memory is not allocated: cached blocks and fragmentation.";
}

std::string outside_sentence(const Analysis& analysis) {
  std::int64_t most = 0;
  for (const RankAnalysis& rank : analysis.ranks) most = std::max(most, rank.peak.outside_bytes);
  if (most == 0) return "";
  return "Libraries and streams ask CUDA for up to " + binary_bytes(most) +
         " of a device, outside the allocator.";
}

// The collective with the longest exposed time, and the units that make up most of it.
struct Exposed {
  std::string name;
  std::vector<std::string> units;
};

Exposed most_exposed(const Analysis& analysis) {
  std::map<std::string, std::int64_t> by_name;
  for (const CollectiveCost& one : analysis.collectives) {
    by_name[one.name] = bounded_sum(by_name[one.name], one.exposed_ns);
  }
  const auto worst = std::max_element(by_name.begin(), by_name.end(),
                                      [](auto& a, auto& b) { return a.second < b.second; });
  if (worst == by_name.end() || worst->second == 0) return {};
  Exposed result{worst->first, {}};
  std::int64_t covered = 0;
  for (const CollectiveCost& one : analysis.collectives) {
    if (one.name != worst->first || covered >= worst->second / 5 * 4) continue;
    covered = bounded_sum(covered, one.exposed_ns);
    if (!one.unit.empty()) result.units.push_back(one.unit);
  }
  return result;
}

// FSDP's gathers can be issued earlier; its reduce-scatters wait for gradients, and the last has nothing behind it.
bool can_be_prefetched(const std::string& collective) {
  for (const char* name : {"all_gather", "allgather", "AllGather"}) {
    if (collective.find(name) != std::string::npos) return true;
  }
  return false;
}

struct Straggler {
  const RankWaits* last = nullptr;  // the rank that arrives last
  const RankWaits* waiter = nullptr;
  std::int64_t lost_ns = 0;
};

Straggler straggler_of(const Analysis& analysis) {
  if (analysis.waits.size() < 2) return {};
  const auto [last, waiter] = std::minmax_element(
      analysis.waits.begin(), analysis.waits.end(),
      [](const RankWaits& a, const RankWaits& b) { return a.waited_ns < b.waited_ns; });
  return {&*last, &*waiter, waiter->waited_ns - last->waited_ns};
}

std::string waiting_sentence(const Analysis& analysis) {
  const Straggler straggler = straggler_of(analysis);
  std::int64_t span = 0;
  for (const RankAnalysis& rank : analysis.ranks) span = std::max(span, rank.time.span_ns);
  if (!straggler.last || !is_much(straggler.lost_ns, span)) return "";
  return "Rank " + std::to_string(straggler.last->rank) + " arrives last at " +
         std::to_string(straggler.last->arrived_last) + " of " +
         plural(straggler.last->collectives, "collective") + "; rank " +
         std::to_string(straggler.waiter->rank) + " loses " + duration(straggler.lost_ns) +
         " waiting.";
}

std::string exposed_sentence(const Analysis& analysis, const TimeBreakdown& t) {
  const Exposed worst = most_exposed(analysis);
  std::string text = "Exposed communication takes " + duration(t.exposed_communication_ns) + " (" +
                     percent(t.exposed_communication_ns, t.span_ns) + " of the " +
                     whole_of(analysis) + ")";
  if (!worst.name.empty()) {
    text += ", mostly " + short_name(worst.name);
    if (!worst.units.empty()) text += " of " + joined_units(worst.units, kUnitsNamed);
  }
  std::int64_t exposed = 0;
  for (const CollectiveCost& one : analysis.collectives) {
    exposed = bounded_sum(exposed, one.exposed_ns);
  }
  const bool is_imbalance =
      straggler_of(analysis).lost_ns >
      exposed / static_cast<std::int64_t>(std::max<std::size_t>(analysis.ranks.size(), 1)) / 2;
  if (can_be_prefetched(worst.name) && !is_imbalance) {
    text += "; more prefetching, less resharding or larger units would hide some of it";
  }
  return text + ".";
}

// Sums of gaps by cause, where no steady step says more.
std::vector<IdleCause> causes_of(const Analysis& analysis) {
  if (analysis.steady_step) return analysis.steady_step->causes;
  std::vector<IdleCause> causes;
  for (std::size_t cause = 0; cause < kGapCauses; ++cause) {
    const auto which = static_cast<GapCause>(cause);
    if (which == GapCause::communication || which == GapCause::copies) continue;
    std::int64_t ns = 0;
    for (const RankAnalysis& rank : analysis.ranks) ns = bounded_sum(ns, rank.gaps[cause]);
    causes.push_back({std::string(name(which)), "", ns});
  }
  return causes;
}

// A cause of idle time as why the device was idle, and as what there was more of.
struct IdleWords {
  const char *reason, *noun;
};
const std::map<std::string, IdleWords> kIdle{
    {"data_loading", {"mostly while the host loads data", "idle time while the host loads data"}},
    {"checkpoint",
     {"mostly while the host is in a checkpoint", "idle time while the host is in a checkpoint"}},
    {"evaluation",
     {"mostly while the host is in an evaluation", "idle time while the host is in an evaluation"}},
    {"logging", {"mostly while the host is logging", "idle time while the host is logging"}},
    {"annotation",
     {"mostly while the host is in a range of the script",
      "idle time while the host is in a range of the script"}},
    {"host_blocked",
     {"mostly because of host-device synchronisation", "idle time of host-device synchronisation"}},
    {"launch_bound",
     {"mostly because the host launches work too late (launch-bound)", "launch-bound idle time"}},
    {"other_ranks",
     {"mostly waiting for other ranks to join a collective", "idle time waiting for other ranks"}},
    {"between_kernels", {"mostly in short gaps between kernels", "short gaps between kernels"}},
    {"dependency",
     {"mostly because work that was launched in time waits for other streams",
      "idle time waiting for other streams"}},
    {"unknown",
     {"for an unknown reason: the launches of the work that follows are not in the trace",
      "idle time for an unknown reason"}}};

// A part of a step in which another differs (largest_difference).
std::string part_name(const std::string& part) {
  const auto idle = kIdle.find(part);
  if (idle != kIdle.end()) return idle->second.noun;
  if (part == "exposed_communication") return "exposed communication";
  return part == "memory_operation" ? "copies" : part;
}

std::string idle_sentence(const Analysis& analysis, const TimeBreakdown& t) {
  std::map<std::string, std::int64_t> sums;
  const std::vector<IdleCause> causes = causes_of(analysis);
  for (const IdleCause& cause : causes)
    sums[cause.cause] = bounded_sum(sums[cause.cause], cause.ns);
  const auto worst = std::max_element(
      sums.begin(), sums.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::string text =
      std::string(analysis.ranks.size() > 1 ? "A device is idle for " : "The device is idle for ") +
      duration(t.idle_ns) + " (" + percent(t.idle_ns, t.span_ns) + " of the " + whole_of(analysis) +
      ")";
  if (worst == sums.end() || worst->second == 0) return text + ".";
  text += std::string(", ") + kIdle.at(worst->first).reason;
  const auto in =
      std::max_element(causes.begin(), causes.end(), [&](const IdleCause& a, const IdleCause& b) {
        return std::pair(a.cause == worst->first, a.ns) < std::pair(b.cause == worst->first, b.ns);
      });
  if (!in->name.empty()) text += ", " + duration(in->ns) + " of it in " + short_name(in->name);
  return text + ".";
}

std::string slowest_step_sentence(const Analysis& analysis) {
  if (!analysis.slowest_step) return "";
  const SlowestStep& slowest = *analysis.slowest_step;
  const IdleCause& most = slowest.difference;
  const std::string in = most.name.empty() ? "" : ", in " + short_name(most.name);
  return "Step " + std::to_string(slowest.step) +
         " is the slowest: " + duration(slowest.duration_ns) + " against a median of " +
         duration(slowest.median_ns) + "; the largest difference is " + duration(most.ns) +
         " more of " + part_name(most.cause) + in + ".";
}

std::string costliest_sentence(const Analysis& analysis, bool on_device) {
  const OperatorTotal* top = nullptr;
  std::int64_t total = 0;
  for (const OperatorTotal& one : analysis.operators) {
    if (one.is_on_device != on_device) continue;
    total = bounded_sum(total, one.self_ns);
    if (!top || one.self_ns > top->self_ns) top = &one;
  }
  if (!top || top->self_ns <= 0) return "";
  return (on_device ? "The most expensive device operation is "
                    : "The most expensive CPU operator is ") +
         short_name(top->name) + ": " + percent(top->self_ns, total) + " of " +
         (on_device ? "all device time (" : "all operator time (") + plural(top->count, "call") +
         ").";
}

// The caching allocator requests memory from the device only when its cache has no fitting block.
std::string device_allocation_sentence(const Analysis& analysis) {
  std::int64_t ns = 0, calls = 0, span = 0;
  for (const OperatorTotal& one : analysis.operators) {
    if (one.name != "cudaMalloc" && one.name != "cudaFree") continue;
    ns = bounded_sum(ns, one.self_ns);
    calls += one.count;
  }
  for (const RankAnalysis& rank : analysis.ranks) span = bounded_sum(span, rank.time.span_ns);
  if (analysis.step_time_ns == 0 || !is_much(ns, span)) return "";
  return "cudaMalloc and cudaFree take " + duration(ns) + " (" + percent(ns, span) +
         " of the ranks' "
         "time, " +
         plural(calls, "call") +
         "): the caching allocator requests memory from the device during the steps.";
}

// The largest losses of time, most important first.
std::vector<std::string> advice(const Analysis& analysis, const TimeBreakdown& t) {
  std::vector<std::string> sentences;
  if (is_much(t.idle_ns, t.span_ns)) sentences.push_back(idle_sentence(analysis, t));
  if (is_much(t.exposed_communication_ns, t.span_ns)) {
    const bool is_worse = t.exposed_communication_ns >= t.idle_ns;
    sentences.insert(is_worse ? sentences.begin() : sentences.end(), exposed_sentence(analysis, t));
  }
  if (sentences.empty()) sentences.push_back(costliest_sentence(analysis, t.span_ns > 0));
  return sentences;
}

}  // namespace

TimeBreakdown typical_step(const Analysis& analysis) {
  if (analysis.steady_step) return analysis.steady_step->time;
  TimeBreakdown mean;
  std::int64_t ranks = 0;
  for (const RankAnalysis& rank : analysis.ranks) {
    if (rank.time.device_events == 0) continue;
    for (const auto field : kTimes) mean.*field = bounded_sum(mean.*field, rank.time.*field);
    ++ranks;
  }
  for (const auto field : kTimes) mean.*field /= std::max<std::int64_t>(ranks, 1);
  return mean;
}

const RankAnalysis* fullest_rank(const Analysis& analysis) {
  const auto found =
      std::max_element(analysis.ranks.begin(), analysis.ranks.end(),
                       [](const RankAnalysis& a, const RankAnalysis& b) {
                         return std::pair(a.peak.allocated_bytes, a.peak.host_bytes) <
                                std::pair(b.peak.allocated_bytes, b.peak.host_bytes);
                       });
  return found == analysis.ranks.end() ? nullptr : &*found;
}

std::vector<std::string> report_sentences(const Analysis& analysis) {
  const TimeBreakdown step = typical_step(analysis);
  const std::vector<std::string> losses = advice(analysis, step);
  std::vector<std::string> sentences{out_of_memory_sentence(analysis),
                                     time_sentence(analysis, step) + work_sentence(analysis),
                                     losses.front(),
                                     memory_sentence(analysis),
                                     uneven_ranks_sentence(analysis),
                                     waiting_sentence(analysis),
                                     slowest_step_sentence(analysis),
                                     device_allocation_sentence(analysis),
                                     losses.size() > 1 ? losses[1] : "",
                                     fragmentation_sentence(analysis),
                                     outside_sentence(analysis)};
  std::erase(sentences, "");
  if (sentences.size() > kMaxSentences) sentences.resize(kMaxSentences);
  if (sentences.empty())
    sentences.emplace_back("The trace contains no timed work and no memory events.");
  return sentences;
}

}  // namespace foreshard::profiler
