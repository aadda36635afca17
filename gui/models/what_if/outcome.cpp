#include "gui/models/what_if/outcome.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "gui/models/what_if/step_memory.hpp"

namespace foreshard::gui {
namespace {

// Errors of the command line's options are those of the controls.
Error renamed(Error error) {
  if (error.field == "--ranks") error.field = "ranks";
  if (error.field == "--nodes") error.field = "nodes";
  return error;
}

Result<Job> renamed(Result<Job> job) {
  if (!job) return tl::unexpected(renamed(job.error()));
  return job;
}

// A prediction needs its plan only; the rest of a job stays.
bool differ_in_plan_alone(const WhatIfSettings& a, WhatIfSettings b) {
  b.plan = a.plan;
  return a == b;
}

}  // namespace

Result<Job> make_job(const WhatIfSettings& settings) {
  const Result<Plan> plan = settings.plan.plan();
  if (!plan) return tl::unexpected(plan.error());
  const Machine* machine = settings.costs->machine ? &*settings.costs->machine : nullptr;
  return renamed(
      foreshard::make_job(settings.model, *plan, "", settings.ranks, settings.nodes, machine));
}

Result<Job> Predictor::job_of(const WhatIfSettings& settings) {
  if (!made_of_ || !differ_in_plan_alone(*made_of_, settings)) return make_job(settings);
  const Result<Plan> plan = settings.plan.plan();
  if (!plan) return tl::unexpected(plan.error());
  return renamed(replan(*job_, *plan, ""));
}

OutcomePtr Predictor::predict(const WhatIfSettings& settings) {
  const auto start = std::chrono::steady_clock::now();
  Result<Job> job = job_of(settings);
  if (!job) {
    auto outcome = std::make_shared<Outcome>();
    outcome->settings = settings;
    outcome->error = job.error();
    return outcome;
  }
  made_of_ = settings;
  job_ = std::move(*job);
  simulator::PredictionOptions options = settings.costs->options();
  options.keeps_memory_records = true;
  memory_ = simulator::predict(*job_, options, std::move(memory_));
  auto outcome = std::make_shared<Outcome>(figures_of(settings, *job_, memory_));
  add_step(*outcome, memory_);
  outcome->answered_ns = static_cast<double>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
  return outcome;
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
  outcome.mfu = prediction.mfu;
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
