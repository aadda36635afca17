#include "gui/models/what_if/candidates.hpp"

#include <utility>

#include "gui/models/what_if/outcome.hpp"
#include "simulator/predict/predict_all.hpp"

namespace foreshard::gui {
namespace {

struct Unwanted {};

}  // namespace

WhatIfSettings with(WhatIfSettings settings, const Changes& changes) {
  for (const SpeltKey& change : changes) settings.plan.set(change.name, change.value);
  return settings;
}

std::optional<std::vector<Candidate>> predict_candidates(const WhatIfSettings& base,
                                                         const std::vector<Changes>& all,
                                                         int threads,
                                                         const std::atomic<bool>& is_unwanted) {
  std::vector<Candidate> candidates(all.size());
  std::vector<std::size_t> possible;
  std::vector<Job> jobs;
  std::optional<Job> first;  // whose tree the others share
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (is_unwanted) return std::nullopt;
    candidates[n].changes = all[n];
    Result<Job> job = make_job(with(base, all[n]), first ? &*first : nullptr);
    if (!job) {
      candidates[n].error = job.error();
      continue;
    }
    if (!first) first = *job;
    possible.push_back(n);
    jobs.push_back(std::move(*job));
  }
  try {
    simulator::predict_all(
        jobs.size(),
        [&](std::size_t n) {
          if (is_unwanted) throw Unwanted();
          return std::move(jobs[n]);
        },
        base.options(), threads,
        [&](std::size_t n, const Job& job, const simulator::Prediction& prediction) {
          const Outcome outcome = figures_of(base, job, prediction);
          Candidate& candidate = candidates[possible[n]];
          candidate.fits = outcome.fits;
          candidate.oom = outcome.oom;
          candidate.tokens_per_s = outcome.tokens_per_s;
          candidate.step_ns = outcome.step_ns;
          candidate.reserved = outcome.reserved;
        });
  } catch (const Unwanted&) {
    return std::nullopt;
  }
  return candidates;
}

}  // namespace foreshard::gui
