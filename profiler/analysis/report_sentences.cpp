#include "profiler/analysis/report_sentences.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "profiler/analysis/format.hpp"
#include "profiler/analysis/short_names.hpp"
#include "traces/bounded_sum.hpp"

namespace foreshard::profiler {
namespace {

using traces::bounded_sum;

constexpr double kMuch = 0.05;  // of a step: worth a sentence
constexpr std::size_t kUnitsNamed = 3;

// Of all operators and ranks.
std::int64_t operator_time(const Analysis& analysis) {
  std::int64_t total = 0;
  for (const OperatorTotal& one : analysis.operators) total = bounded_sum(total, one.self_ns);
  return total;
}

std::string share(std::int64_t part, std::int64_t whole) {
  return percent(static_cast<double>(part), static_cast<double>(whole));
}

std::string time_sentence(const Analysis& analysis, const TimeBreakdown& t) {
  if (t.span_ns == 0) {
    const std::string nothing = "No device events were recorded";
    return analysis.step_time_ns > 0
               ? "A steady step takes " + milliseconds(analysis.step_time_ns) + " on hosts. " +
                     nothing + "."
               : nothing + ".";
  }
  const std::string subject = analysis.step_time_ns > 0
                                  ? "A steady step takes " + milliseconds(analysis.step_time_ns)
                                  : "The device events span " + milliseconds(t.span_ns);
  return subject + ": the device computes " + share(t.compute_ns, t.span_ns) + " of it and idles " +
         share(t.idle_ns, t.span_ns) + "; communication takes " +
         share(t.communication_ns, t.span_ns) + ", of which " +
         share(t.overlap_ns, t.communication_ns) + " is hidden behind computation.";
}

std::string memory_sentence(const RankAnalysis* rank) {
  if (!rank || rank->peak.allocated_bytes == 0) return "No device memory was recorded.";
  const MemoryPeak& peak = rank->peak;
  std::string text = "Memory peaks at " + binary_bytes(peak.allocated_bytes) + " allocated (" +
                     binary_bytes(peak.reserved_bytes) + " reserved) on rank " +
                     std::to_string(rank->rank);
  if (!rank->steps.empty()) text += ", in step " + std::to_string(peak.step);
  if (!peak.phase.empty()) text += ", " + peak.phase;
  const auto largest =
      std::max_element(peak.by_category.begin(), peak.by_category.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (largest != peak.by_category.end()) {
    text += "; " + share(largest->second, peak.allocated_bytes) + " of it are " + largest->first;
  }
  return text + ".";
}

// "All-gathers of model.layers.0 to 3" and their like: the collective that nothing hides longest.
std::string most_exposed(const Analysis& analysis) {
  if (analysis.collectives.empty() || analysis.collectives.front().exposed_ns == 0) return "";
  std::map<std::string, std::int64_t> by_name;
  for (const CollectiveCost& one : analysis.collectives) {
    auto& exposed = by_name[one.name];
    exposed = bounded_sum(exposed, one.exposed_ns);
  }
  const auto worst = std::max_element(by_name.begin(), by_name.end(),
                                      [](auto& a, auto& b) { return a.second < b.second; });
  std::vector<std::string> units;  // those that make up most of it
  std::int64_t covered = 0;
  for (const CollectiveCost& one : analysis.collectives) {
    if (one.name != worst->first || covered >= worst->second / 5 * 4) continue;
    covered = bounded_sum(covered, one.exposed_ns);
    if (!one.unit.empty()) units.push_back(one.unit);
  }
  return short_name(worst->first) +
         (units.empty() ? "" : " of " + joined_units(units, kUnitsNamed));
}

std::string waiting_sentence(const Analysis& analysis, const TimeBreakdown& t) {
  if (analysis.waits.size() < 2) return "";
  const auto longest = [](const RankWaits& a, const RankWaits& b) {
    return a.waited_ns < b.waited_ns;
  };
  const RankWaits& straggler =
      *std::min_element(analysis.waits.begin(), analysis.waits.end(), longest);
  const RankWaits& waiter =
      *std::max_element(analysis.waits.begin(), analysis.waits.end(), longest);
  const std::int64_t lost = waiter.waited_ns - straggler.waited_ns;
  if (static_cast<double>(lost) < kMuch * static_cast<double>(t.span_ns)) return "";
  return "Rank " + std::to_string(straggler.rank) + " comes last to " +
         std::to_string(straggler.arrived_last) + " of " + std::to_string(straggler.collectives) +
         " collectives; rank " + std::to_string(waiter.rank) + " waits " + milliseconds(lost) +
         " longer in them.";
}

// What a person should look at first.
std::string advice_sentence(const Analysis& analysis, const TimeBreakdown& t) {
  const auto much = [&](std::int64_t ns) {
    return static_cast<double>(ns) > kMuch * static_cast<double>(t.span_ns);
  };
  if (much(t.exposed_communication_ns) && t.exposed_communication_ns >= t.idle_ns) {
    const std::string what = most_exposed(analysis);
    return share(t.exposed_communication_ns, t.span_ns) + " of the time waits for communication (" +
           milliseconds(t.exposed_communication_ns) + ")" +
           (what.empty() ? "" : ", most of it for " + what) +
           ": more prefetch, fewer reshards or larger units would hide some of it.";
  }
  if (much(t.idle_ns)) {
    ComputeGaps sum{};
    for (const RankAnalysis& rank : analysis.ranks) {
      for (std::size_t cause = 0; cause < kGapCauses; ++cause) {
        sum[cause] = bounded_sum(sum[cause], rank.gaps[cause]);
      }
    }
    const auto of = [&](GapCause cause) { return sum[static_cast<std::size_t>(cause)]; };
    const std::int64_t late = of(GapCause::host_blocked) + of(GapCause::launch_bound);
    const std::int64_t waited = of(GapCause::other_ranks) + of(GapCause::dependency);
    const std::string why =
        late >= waited ? of(GapCause::host_blocked) > of(GapCause::launch_bound)
                             ? "mostly because the host waits for the device before it goes on"
                             : "mostly because the host issues work too slowly"
                       : "mostly because work that was issued in time waits for other ranks or "
                         "streams";
    return "The device idles " + milliseconds(t.idle_ns) + " (" + share(t.idle_ns, t.span_ns) +
           "), " + why + ".";
  }
  if (!analysis.operators.empty()) {
    const OperatorTotal& top = *std::max_element(
        analysis.operators.begin(), analysis.operators.end(),
        [](const OperatorTotal& a, const OperatorTotal& b) { return a.self_ns < b.self_ns; });
    return "The costliest operator is " + short_name(top.name) + " with " +
           share(top.self_ns, operator_time(analysis)) + " of all operators' time.";
  }
  return "";
}

}  // namespace

TimeBreakdown typical_step(const Analysis& analysis) {
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
      sum = bounded_sum(sum, time.*field);
      ++ranks;
    }
    mean.*field = sum / std::max<std::int64_t>(ranks, 1);
  }
  return mean;
}

const RankAnalysis* fullest_rank(const Analysis& analysis) {
  const auto found = std::max_element(analysis.ranks.begin(), analysis.ranks.end(),
                                      [](const RankAnalysis& a, const RankAnalysis& b) {
                                        return a.peak.allocated_bytes < b.peak.allocated_bytes;
                                      });
  return found == analysis.ranks.end() ? nullptr : &*found;
}

std::vector<std::string> report_sentences(const Analysis& analysis) {
  const TimeBreakdown step = typical_step(analysis);
  std::vector<std::string> sentences{time_sentence(analysis, step),
                                     memory_sentence(fullest_rank(analysis))};
  for (const std::string& more :
       {advice_sentence(analysis, step), waiting_sentence(analysis, step)}) {
    if (!more.empty()) sentences.push_back(more);
  }
  return sentences;
}

std::string joined_units(const std::vector<std::string>& units, std::size_t most) {
  // Names that differ in their last number only, with the numbers in order.
  std::map<std::pair<std::string, std::string>, std::vector<std::int64_t>> families;
  std::vector<std::string> names;
  for (const std::string& unit : units) {
    const std::size_t last = unit.find_last_of("0123456789");
    if (last == std::string::npos) {
      names.push_back(unit);
      continue;
    }
    std::size_t first = last;
    while (first > 0 && unit[first - 1] >= '0' && unit[first - 1] <= '9') --first;
    std::int64_t number = 0;
    std::from_chars(unit.data() + first, unit.data() + last + 1, number);
    families[{unit.substr(0, first), unit.substr(last + 1)}].push_back(number);
  }
  for (auto& [family, numbers] : families) {
    std::sort(numbers.begin(), numbers.end());
    for (std::size_t i = 0; i < numbers.size();) {
      std::size_t j = i;
      while (j + 1 < numbers.size() && numbers[j + 1] <= numbers[j] + 1) ++j;
      std::string name = family.first + std::to_string(numbers[i]);
      if (j > i) name += " to " + std::to_string(numbers[j]);
      names.push_back(name + family.second);
      i = j + 1;
    }
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > most) text += " and others";
  return text;
}

}  // namespace foreshard::profiler
