#include "simulator/predict/remedies.hpp"

#include <algorithm>
#include <tuple>

#include "models/allocator/virtual_segments.hpp"
#include "models/plan/plan_keys.hpp"
#include "simulator/predict/predict_all.hpp"

namespace foreshard::simulator {
namespace {

constexpr std::size_t kRemedies = 3;

void wrap_embedding_and_head_apart(Plan& p) {
  p.wrap.policy = WrapPolicy::modules;
  p.wrap.modules = {{{"model.embed_tokens"}, false},
                    {{"model.layers.*"}, false},
                    {{"model.norm", "lm_head"}, true}};
}

// Half the sequences at a time, twice as often: the same tokens per step.
void halve_micro_batch(Plan& p) {
  if (p.batch.micro_batch % 2 != 0) return;
  p.batch.micro_batch /= 2;
  p.batch.accumulation *= 2;
}

// The plan with each of the remedies that take several keys, and of those that a key has.
std::vector<Plan> changed_plans(const Plan& plan) {
  std::vector<Plan> plans;
  for (const auto& change : {halve_micro_batch, wrap_embedding_and_head_apart}) {
    change(plans.emplace_back(plan));
  }
  for (const PlanKey& key : plan_keys()) {
    for (const PlanValue& value : key.remedies) key.set_in(plans.emplace_back(plan), value);
  }
  return plans;
}

// The keys in which a plan differs, as a plan file has them.
std::string difference(const Plan& before, const Plan& after) {
  std::string text;
  for (const PlanKey& key : plan_keys()) {
    const PlanValue value = key.value_in(after);
    if (value == key.value_in(before)) continue;
    text.append(text.empty() ? "" : ", ").append(key.name()).append(" = ").append(spelt(value));
  }
  return text;
}

struct Candidate {
  Job job;
  Remedy remedy;
  std::int64_t needed = 0;  // what is reserved on a device without limit
};

// A change without effect, or of what the plan has not, is no candidate.
std::vector<Candidate> candidates(const Job& job) {
  std::vector<Candidate> found;
  for (const Plan& plan : changed_plans(job.plan)) {
    if (plan == job.plan) continue;
    auto changed = replan(job, plan, "remedy");
    if (!changed || changed->warnings.size() > job.warnings.size()) continue;
    found.push_back({std::move(*changed), {difference(job.plan, plan)}, 0});
  }
  return found;
}

std::int64_t highest_reserved(const Prediction& prediction) {
  std::int64_t highest = 0;
  for (const RankPeaks& rank : prediction.ranks_memory) {
    highest = std::max(highest, rank.peaks.reserved);
  }
  return highest;
}

}  // namespace

Remedies find_remedies(const Job& job, const PredictionOptions& options, int threads) {
  std::vector<Candidate> all = candidates(job);
  PredictionOptions limited = options;
  limited.wants_path = limited.wants_explanation = limited.keeps_memory_records = false;
  PredictionOptions memory_only = limited;
  memory_only.wants_time = false;
  PredictionOptions unlimited = memory_only;
  unlimited.device_memory = VirtualSegments::kUnlimited;

  Remedies found;
  Remedy& present = found.present;
  const Prediction as_it_is = predict(job, limited);
  present.fits = as_it_is.fits;
  if (as_it_is.step_time.count() > 0) present.step_time = as_it_is.step_time;
  const std::int64_t needed = highest_reserved(predict(job, unlimited));
  present.peak_reserved = present.fits ? highest_reserved(as_it_is) : needed;
  const auto predict_candidates = [&](const PredictionOptions& how, const auto& use) {
    predict_all(
        all.size(), [&](std::size_t n) { return all[n].job; }, how, threads,
        [&](std::size_t n, const Job&, const Prediction& p) { use(all[n], p); });
  };
  predict_candidates(unlimited, [](Candidate& candidate, const Prediction& p) {
    candidate.needed = candidate.remedy.peak_reserved = highest_reserved(p);
  });
  predict_candidates(memory_only, [](Candidate& candidate, const Prediction& p) {
    candidate.remedy.fits = p.fits;
  });

  std::erase_if(all, [&](const Candidate& c) {
    const bool makes_it_fit = c.remedy.fits && !present.fits;
    return c.needed >= needed && !makes_it_fit;
  });
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(!a.remedy.fits, a.needed) < std::tuple(!b.remedy.fits, b.needed);
  });
  if (all.size() > kRemedies) all.erase(all.begin() + kRemedies, all.end());

  predict_candidates(limited, [](Candidate& candidate, const Prediction& p) {
    if (p.fits) candidate.remedy.peak_reserved = highest_reserved(p);
    if (p.step_time.count() > 0) candidate.remedy.step_time = p.step_time;
  });
  for (Candidate& candidate : all) found.changes.push_back(std::move(candidate.remedy));
  return found;
}

}  // namespace foreshard::simulator
