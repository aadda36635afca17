#include "profiler/analysis/steady_step.hpp"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "profiler/analysis/host_activity.hpp"
#include "traces/meaning/annotations.hpp"

namespace foreshard::profiler {
namespace {

using traces::Interval;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

// "log_metrics" has the word "log", "login" has not.
bool has_word(std::string_view text, std::string_view word) {
  const auto is_letter = [&](std::size_t at) {
    return at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])) != 0;
  };
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    if ((at == 0 || !is_letter(at - 1)) && !is_letter(at + word.size())) return true;
  }
  return false;
}

// What a range of the script is for; "" where its name does not say so.
std::string_view purpose(const std::string& name) {
  const std::string text = lower(name);
  if (contains_any(text, {"dataloader", "data_load", "data load", "load_data", "get_batch",
                          "next_batch", "fetch_batch", "load_batch"})) {
    return "data_loading";
  }
  if (contains_any(text, {"checkpoint", "dcp.", "save_state"})) return "checkpoint";
  if (contains_any(text, {"evaluat", "validat"}) || has_word(text, "eval")) return "evaluation";
  if (contains_any(text, {"logging", "tensorboard", "wandb"}) || has_word(text, "log")) {
    return "logging";
  }
  return "";
}

// Ranges that PyTorch itself opens around its work say nothing of why that is late.
bool is_of_the_script(const std::string& name) {
  const traces::Annotation known = traces::annotation_of(name);
  if (known.step || !known.phase.empty() || !known.unit.empty()) return false;
  return !name.starts_with("nn.Module") && !name.starts_with("Torch-Compiled") &&
         !name.starts_with("##") && !name.starts_with("nccl:");
}

class Causes {
 public:
  explicit Causes(const traces::Trace& trace) : trace_(trace) {
    for (const traces::Step& step : trace.steps) steps_.emplace(step.rank, step.start_ns);
  }

  void add(const IdleGap& gap) {
    if (gap.lane == traces::kNone) return add(name(gap.cause), "", gap.end_ns - gap.begin_ns);
    std::int64_t said = gap.begin_ns;
    for (const HostActivity& activity : activities_of(gap)) {
      const std::int64_t begin = std::max(activity.begin_ns, gap.begin_ns),
                         end = std::min(activity.end_ns, gap.end_ns);
      if (begin >= end) continue;
      if (begin > said) add(name(GapCause::launch_bound), "", begin - said);
      const auto [cause, what] = reason(activity);
      add(cause, what, end - begin);
      said = end;
    }
    if (gap.end_ns > said) add(name(GapCause::launch_bound), "", gap.end_ns - said);
  }

  std::vector<IdleCause> result() const {
    std::vector<IdleCause> causes;
    for (const auto& [key, ns] : sums_) causes.push_back({key.first, key.second, ns});
    std::stable_sort(causes.begin(), causes.end(),
                     [](const IdleCause& a, const IdleCause& b) { return a.ns > b.ns; });
    return causes;
  }

  // Within which gaps of a lane are asked for.
  void expect(const IdleGap& gap) {
    if (gap.lane == traces::kNone) return;
    Interval& within =
        within_.try_emplace(gap.lane, Interval{gap.begin_ns, gap.end_ns}).first->second;
    within.start_ns = std::min(within.start_ns, gap.begin_ns);
    within.end_ns = std::max(within.end_ns, gap.end_ns);
  }

 private:
  void add(std::string_view cause, const std::string& what, std::int64_t ns) {
    sums_[{std::string(cause), what}] += ns;
  }

  const std::string& text(std::int32_t event) const {
    return trace_.strings[trace_.events[static_cast<std::size_t>(event)].name];
  }

  std::vector<HostActivity>::const_iterator first_of(const std::vector<HostActivity>& all,
                                                     std::int64_t time) const {
    return std::partition_point(all.begin(), all.end(), [=](const HostActivity& activity) {
      return activity.end_ns <= time;
    });
  }

  // Those of the gap's thread that are not over before it begins.
  std::vector<HostActivity> activities_of(const IdleGap& gap) {
    auto& all = activities_[gap.lane];
    if (!all) all = host_activity(trace_, gap.lane, within_.at(gap.lane));
    std::vector<HostActivity> found;
    for (auto at = first_of(*all, gap.begin_ns); at != all->end() && at->begin_ns < gap.end_ns;
         ++at) {
      found.push_back(*at);
    }
    return found;
  }

  std::pair<std::string_view, std::string> reason(const HostActivity& activity) const {
    const std::string range = activity.range == traces::kNone || is_step(activity.range)
                                  ? std::string()
                                  : text(activity.range);
    const std::string_view purpose = profiler::purpose(range);
    if (!purpose.empty() && is_of_the_script(range)) return {purpose, range};
    if (activity.waits) {
      const bool has_op = activity.op != traces::kNone;
      return {name(GapCause::host_blocked), text(has_op ? activity.op : activity.innermost)};
    }
    if (activity.innermost == activity.range && !range.empty() && is_of_the_script(range)) {
      return {"annotation", range};
    }
    const bool says_nothing = activity.innermost == activity.range;
    return {name(GapCause::launch_bound), says_nothing ? std::string() : text(activity.innermost)};
  }

  // Of the recording's own, whatever it is called.
  bool is_step(std::int32_t range) const {
    const traces::Event event = trace_.events[static_cast<std::size_t>(range)];
    return steps_.contains(
        {trace_.lanes[static_cast<std::size_t>(event.lane)].rank, event.start_ns});
  }

  const traces::Trace& trace_;
  std::set<std::pair<std::int32_t, std::int64_t>> steps_;  // by rank, when they began
  std::map<std::int32_t, Interval> within_;                // by lane
  std::map<std::int32_t, std::optional<std::vector<HostActivity>>> activities_;
  std::map<std::pair<std::string, std::string>, std::int64_t> sums_;
};

}  // namespace

std::vector<IdleCause> idle_causes(const traces::Trace& trace, const std::vector<IdleGap>& gaps) {
  Causes causes(trace);
  for (const IdleGap& gap : gaps) causes.expect(gap);
  for (const IdleGap& gap : gaps) causes.add(gap);
  return causes.result();
}

IdleCause largest_difference(const SteadyStep& step, const SteadyStep& other) {
  std::map<std::pair<std::string, std::string>, std::int64_t> longer;
  for (const IdleCause& cause : step.causes) longer[{cause.cause, cause.name}] += cause.ns;
  for (const IdleCause& cause : other.causes) longer[{cause.cause, cause.name}] -= cause.ns;
  const auto add_work = [&](const char* what, std::int64_t TimeBreakdown::*part) {
    longer[{what, ""}] = step.time.*part - other.time.*part;
  };
  add_work("compute", &TimeBreakdown::compute_ns);
  add_work("exposed_communication", &TimeBreakdown::exposed_communication_ns);
  add_work("memory_operation", &TimeBreakdown::memory_operation_ns);
  const auto most =
      std::max_element(longer.begin(), longer.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return {most->first.first, most->first.second, most->second};
}

}  // namespace foreshard::profiler
