#include "gui/models/what_if/outcome.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "gui/models/what_if/step_memory.hpp"

namespace foreshard::gui {
namespace {

// A prediction needs its plan only; the rest of a job stays.
bool differ_in_plan_alone(const WhatIfSettings& a, WhatIfSettings b) {
  b.plan = a.plan;
  return a == b;
}

}  // namespace

OutcomePtr Predictor::predict(const WhatIfSettings& settings) {
  const std::lock_guard lock(mutex_);
  const auto start = std::chrono::steady_clock::now();
  const bool is_like = made_of_ && differ_in_plan_alone(*made_of_, settings);
  Result<Job> job = make_job(settings, is_like ? &*job_ : nullptr);
  if (!job) {
    auto outcome = std::make_shared<Outcome>();
    outcome->settings = settings;
    outcome->error = job.error();
    return outcome;
  }
  made_of_ = settings;
  job_ = std::move(*job);
  // All that views explain it by, so that the document of these settings needs no second prediction.
  simulator::PredictionOptions options = made_of_->options();
  options.keeps_memory_records = options.wants_explanation = true;
  simulator::SimulatedRun scratch;
  if (prediction_) scratch = std::move(prediction_->run);
  prediction_ = simulator::predict(*job_, options, std::move(scratch));
  auto outcome = std::make_shared<Outcome>(figures_of(settings, *job_, *prediction_));
  add_step(*outcome, *prediction_);
  outcome->answered_ns = static_cast<double>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
  return outcome;
}

std::shared_ptr<const PredictedRun> Predictor::take(const WhatIfSettings& settings) {
  const std::lock_guard lock(mutex_);
  if (!prediction_ || !(*made_of_ == settings)) return nullptr;
  auto run = std::make_shared<const PredictedRun>(PredictedRun{*job_, std::move(*prediction_)});
  prediction_.reset();
  return run;
}

Outcome figures_of(const WhatIfSettings& settings, const Job& job,
                   const simulator::Prediction& prediction) {
  Outcome outcome;
  outcome.settings = settings;
  outcome.fits = prediction.fits;
  outcome.oom = prediction.oom;
  outcome.step_ns = static_cast<double>(prediction.step_time.count());
  outcome.low_ns = static_cast<double>(prediction.step_time_low.count());
  outcome.high_ns = static_cast<double>(prediction.step_time_high.count());
  outcome.tokens_per_s = prediction.tokens_per_s;
  outcome.mfu = prediction.has_plausible_mfu() ? prediction.mfu : 0;
  outcome.exposed_ns = static_cast<double>(prediction.exposed_communication.count());
  for (const simulator::RankPeaks& rank : prediction.ranks_memory) {
    outcome.allocated = std::max(outcome.allocated, rank.peaks.allocated);
    outcome.reserved = std::max(outcome.reserved, rank.peaks.reserved);
  }
  outcome.capacity = prediction.capacity;
  outcome.tokens_of_rank = tokens_per_step(job) / job.ranks;
  outcome.units = job.units.size();
  outcome.sources = prediction.cost_sources;
  outcome.warnings = prediction.warnings;
  return outcome;
}

}  // namespace foreshard::gui
