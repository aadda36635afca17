// What a search must find, found by predicting every candidate by itself and comparing all with all.
#pragma once

#include <algorithm>
#include <vector>

#include "simulator/predict/prediction.hpp"
#include "simulator/search/candidates.hpp"
#include "simulator/search/fronts.hpp"

namespace foreshard::simulator {

struct Answer {
  double tokens_per_s = 0;
  std::int64_t reserved = 0;
  double usd = 0;  // for a million tokens
  std::int64_t step_ns = 0;

  double loss(Objective objective) const {
    if (objective == Objective::time) return static_cast<double>(step_ns);
    return objective == Objective::cost ? usd : 1 / tokens_per_s;
  }
  bool operator==(const Answer&) const = default;
};

inline std::int64_t reserved_by(const Prediction& prediction) {
  std::int64_t most = 0;
  for (const RankPeaks& rank : prediction.ranks_memory) most = std::max(most, rank.peaks.reserved);
  return most;
}

inline std::optional<Prediction> predicted(const SearchRequest& request, const Plan& plan,
                                           const SearchTarget& target) {
  const auto job =
      make_job(request.base.model, plan, "plan", target.gpus, target.nodes, target.machine);
  if (!job) return {};
  PredictionOptions options;
  options.costs = request.costs;
  options.machine = target.machine;
  options.device_memory = request.device_memory;
  return predict(*job, options);
}

// Of every candidate that fits and has a time.
inline std::vector<Answer> by_brute_force(const SearchRequest& request) {
  const Candidates candidates(request.base.plan, "base", request.space, request.tokens_per_step);
  std::vector<Answer> answers;
  for (const SearchTarget& target : request.targets) {
    for (std::size_t n = 0; n < candidates.plans(); ++n) {
      const auto plan = candidates.plan(n, target.gpus);
      const auto p = plan ? predicted(request, *plan, target) : std::nullopt;
      if (!p || !p->fits || p->step_time.count() == 0) continue;
      answers.push_back({p->tokens_per_s, reserved_by(*p),
                         usd_per_million_tokens(target, p->tokens_per_s).value_or(0),
                         p->step_time.count()});
    }
  }
  return answers;
}

// Those that no other one beats in tokens/s and in `price`, of equal pairs one; most tokens/s first.
template <typename Price>
std::vector<Answer> front_of(const std::vector<Answer>& answers, Price Answer::*price) {
  const auto is_same = [price](const Answer& a, const Answer& b) {
    return a.tokens_per_s == b.tokens_per_s && a.*price == b.*price;
  };
  std::vector<Answer> front;
  for (const Answer& a : answers) {
    const bool is_beaten = std::any_of(answers.begin(), answers.end(), [&](const Answer& b) {
      return b.tokens_per_s >= a.tokens_per_s && b.*price <= a.*price && !is_same(a, b);
    });
    const bool is_there = std::any_of(front.begin(), front.end(),
                                      [&](const Answer& other) { return is_same(a, other); });
    if (!is_beaten && !is_there) front.push_back(a);
  }
  std::sort(front.begin(), front.end(),
            [](const Answer& a, const Answer& b) { return a.tokens_per_s > b.tokens_per_s; });
  return front;
}

inline std::vector<Answer> answers_of(const std::vector<FoundPlan>& plans) {
  std::vector<Answer> answers;
  for (const FoundPlan& plan : plans) {
    answers.push_back({plan.tokens_per_s, plan.peak_reserved,
                       plan.usd_per_million_tokens.value_or(0), plan.step_time.count()});
  }
  return answers;
}

}  // namespace foreshard::simulator
