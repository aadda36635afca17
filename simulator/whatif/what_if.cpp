#include "simulator/whatif/what_if.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "models/base/figures.hpp"
#include "simulator/engine/work_table.hpp"
#include "simulator/whatif/causal_network.hpp"
#include "traces/meaning/steady_steps.hpp"
#include "traces/recorded_question.hpp"

namespace foreshard::simulator {
namespace {

constexpr double kGate = 0.02;            // that a replay may be off
constexpr double kMostUnexplained = 0.1;  // of the span

bool is_off(std::int64_t replayed, std::int64_t recorded) {
  return std::abs(static_cast<double>(replayed - recorded)) >
         kGate * static_cast<double>(std::max<std::int64_t>(recorded, 1));
}

class Replay {
 public:
  Replay(const traces::Trace& trace, const RecordedRun& run, const CausalNetwork& causes,
         std::vector<double> factors)
      : trace_(trace),
        run_(run),
        causes_(causes),
        factors_(std::move(factors)),
        times_(causes.network.times(factors_)) {}

  ReplayTimes result() const {
    ReplayTimes result{{}, *std::max_element(times_.begin(), times_.end())};
    std::vector<traces::Step> steps = trace_.steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto& [begin, end] = causes_.steps[i];
      steps[i].start_ns = time_of(begin);
      steps[i].end_ns = time_of(end);
    }
    traces::DeviceEnds ends;
    for (std::size_t w = 0; w < run_.works.size(); ++w) {
      const traces::Event work = trace_.events[static_cast<std::size_t>(run_.works[w].event)];
      const std::int64_t end = times_[causes_.work_end[w]];
      auto& last =
          ends.try_emplace({trace_.lanes[static_cast<std::size_t>(work.lane)].rank, work.step}, end)
              .first->second;
      last = std::max(last, end);
    }
    const std::int64_t step = traces::steady_step_time(trace_, steps, ends);
    if (step > 0) result.step_ns = step;
    return result;
  }

  std::vector<PathPart> critical_path() const {
    const auto last = std::max_element(times_.begin(), times_.end()) - times_.begin();
    std::map<std::pair<std::string, std::string_view>, Sum> sums;
    for (const Arrow& arrow :
         causes_.network.critical_path(factors_, times_, static_cast<Moment>(last))) {
      if (arrow.ns > 0) sums[{name_of(arrow.activity), kind_of(arrow.activity)}].add(arrow.ns);
    }
    std::vector<PathPart> parts;
    for (const auto& [key, sum] : sums) {
      parts.push_back({key.first, key.second, sum.count, sum.ns});
    }
    std::sort(parts.begin(), parts.end(), [](const PathPart& a, const PathPart& b) {
      return std::tie(b.ns, a.name, a.kind) < std::tie(a.ns, b.name, b.kind);
    });
    return parts;
  }

  std::vector<Slack> slack(std::int64_t span) const {
    const std::vector<std::int64_t> slack = causes_.network.slack(factors_, times_, span);
    std::map<traces::StringId, std::int64_t> least;
    for (std::size_t w = 0; w < run_.works.size(); ++w) {
      const std::int64_t its = slack[causes_.work_end[w]];
      const auto [found, is_new] = least.try_emplace(run_.class_of(run_.works[w]).name, its);
      if (!is_new) found->second = std::min(found->second, its);
    }
    std::vector<Slack> result;
    for (const auto& [name, ns] : least) result.push_back({trace_.strings[name], ns});
    std::sort(result.begin(), result.end(), [](const Slack& a, const Slack& b) {
      return std::tie(a.ns, a.name) < std::tie(b.ns, b.name);
    });
    return result;
  }

 private:
  std::int64_t time_of(const HostMark& mark) const {
    const std::int64_t host = scaled(std::abs(mark.host_ns), factors_[kHost]);
    return times_[mark.from] + (mark.host_ns < 0 ? -host : host);
  }
  std::string name_of(ActivityId activity) const {
    if (activity < kOtherActivities) return std::string(kOtherNames[activity]);
    return trace_.strings[run_.classes[activity - kOtherActivities].name];
  }
  std::string_view kind_of(ActivityId activity) const {
    if (activity >= kOtherActivities) return name(run_.classes[activity - kOtherActivities].kind);
    return activity == kHost || activity == kLaunch ? name(traces::EventKind::host) : "waiting";
  }

  const traces::Trace& trace_;
  const RecordedRun& run_;
  const CausalNetwork& causes_;
  std::vector<double> factors_;
  std::vector<std::int64_t> times_;
};

}  // namespace

std::string refusal(const ReplayTimes& recorded, const ReplayTimes& replayed,
                    std::int64_t unexplained_ns) {
  const auto sentence = [](const char* what, std::int64_t before, std::int64_t after) {
    return std::string("replayed unchanged, its ") + what + " is " + duration(after) +
           " instead of " + duration(before) + ", more than 2 % off";
  };
  if (is_off(replayed.span_ns, recorded.span_ns)) {
    return sentence("span", recorded.span_ns, replayed.span_ns);
  }
  const std::int64_t before = recorded.step_ns.value_or(0), after = replayed.step_ns.value_or(0);
  if (is_off(after, before)) return sentence("step", before, after);
  const auto span = static_cast<double>(recorded.span_ns);
  if (static_cast<double>(unexplained_ns) <= kMostUnexplained * span) return "";
  return percent(static_cast<double>(unexplained_ns), span) +
         " of its span lie before work of the device of which the recording does not show why it "
         "began when it did, more than 10 %";
}

Result<WhatIfAnswer> what_if(const traces::Trace& trace, const WhatIfQuestion& question,
                             const std::string& file) {
  const auto run = recorded_run(trace, file);
  if (!run) return tl::unexpected(run.error());
  auto factors = activity_factors(question.changes, *run, trace.strings);
  if (!factors) return tl::unexpected(factors.error());
  WhatIfAnswer answer;
  answer.question = traces::recorded_question_json(trace.metadata);
  answer.question_line = traces::recorded_question_line(trace.metadata);
  if (question.cluster.is_asked()) {
    auto cluster = cluster_factors(question.cluster, *run, trace, file);
    if (!cluster) return tl::unexpected(cluster.error());
    for (std::size_t a = 0; a < factors->size(); ++a) (*factors)[a] *= cluster->factors[a];
    answer.assumptions = std::move(cluster->assumptions);
  }

  CausalNetwork causes = causal_network(*run, Stragglers::kept);
  const std::vector<double> unchanged(factors->size(), 1.0);
  answer.unmatched_events = run->unmatched;
  answer.recorded.span_ns = run->end_ns - run->start_ns;
  if (const std::int64_t step = traces::steady_step_time(trace); step > 0) {
    answer.recorded.step_ns = step;
  }
  answer.replayed = Replay(trace, *run, causes, unchanged).result();
  std::vector<double> unexplained(factors->size(), 0.0);
  unexplained[kUnexplained] = 1.0;
  answer.unexplained_ns = Replay(trace, *run, causes, unexplained).result().span_ns;
  answer.refusal = refusal(answer.recorded, answer.replayed, answer.unexplained_ns);
  if (!answer.refusal.empty()) return answer;

  if (question.changes.without_stragglers) causes = causal_network(*run, Stragglers::none);
  const Replay asked(trace, *run, causes, std::move(*factors));
  answer.asked = asked.result();
  answer.critical_path = asked.critical_path();
  answer.slack = asked.slack(answer.asked->span_ns);
  return answer;
}

}  // namespace foreshard::simulator
