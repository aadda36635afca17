#include <utility>

#include <foreshard/predict.hpp>

#include "models/base/json_text.hpp"
#include "simulator/api/error.hpp"
#include "simulator/predict/asked_job.hpp"
#include "simulator/predict/prediction_report.hpp"
#include "simulator/predict/remedies.hpp"
#include "traces/processors.hpp"

namespace foreshard::api {
namespace {

foreshard::Result<void> check_between(const char* member, std::int64_t value, std::int64_t most) {
  if (value >= 1 && value <= most) return {};
  return fail("", member,
              "is " + std::to_string(value) + "; expected 1 to " + std::to_string(most));
}

foreshard::Result<void> check(const Question& question) {
  if (question.model.empty()) return fail("", "model", "is missing; expected a model");
  if (auto ok = check_between("ranks", question.ranks, kMostAskedRanks); !ok) return ok;
  if (auto ok = check_between("nodes", question.nodes.value_or(1), kMostAskedRanks); !ok) return ok;
  if (auto ok = check_between("steps", question.steps, kMostAskedSteps); !ok) return ok;
  const std::int64_t memory = question.device_memory.value_or(1);
  if (memory < 1) {
    return fail("", "device_memory",
                "is " + std::to_string(memory) + "; expected a number of bytes above 0");
  }
  const std::string& device = question.device;
  if (device.empty() || device == "cpu" || device == "cuda") return {};
  return fail("", "device", "is '" + device + "'; expected 'cpu' or 'cuda'");
}

foreshard::Result<Asked> asked(const Question& question) {
  Asked asked;
  asked.model = question.model;
  asked.ranks = question.ranks;
  asked.nodes = question.nodes;
  asked.machine = question.machine;
  asked.device = question.device;
  asked.costs = question.costs;
  if (!question.operators.empty()) {
    asked.operators = operators_named(question.operators);
    if (!asked.operators) {
      return fail("", "operators",
                  "is '" + question.operators +
                      "'; expected 'foreshard', 'pytorch-eager' or 'pytorch-compile'");
    }
  }
  if (question.plan.empty() && question.plan_text.empty()) return asked;
  auto plan = question.plan.empty()
                  ? parse_any_plan(question.plan_text, "plan_text", question.ranks)
                  : read_any_plan(question.plan, question.ranks);
  if (!plan) return tl::unexpected(plan.error());
  asked.plan = std::move(*plan);
  return asked;
}

std::optional<std::int64_t> known(Nanoseconds time) {
  return time.count() > 0 ? std::optional(time.count()) : std::nullopt;
}

foreshard::Result<Prediction> predicted(const Question& question) {
  if (auto ok = check(question); !ok) return tl::unexpected(ok.error());
  auto asks = asked(question);
  if (!asks) return tl::unexpected(asks.error());
  const auto ask = simulator::asked_job(std::move(*asks), modelled_device);
  if (!ask) return tl::unexpected(ask.error());
  const Job& job = ask->job;
  simulator::PredictionOptions options = ask->prediction_options();
  options.steps = question.steps;
  options.device_memory = question.device_memory;
  options.wants_path = options.wants_explanation = options.wants_time_basis = true;
  simulator::Prediction found = simulator::predict(job, options);
  if (!found.fits) found.remedies = simulator::find_remedies(job, options, traces::cores());
  found.checkpoint = simulator::checkpoint_cost(job, job.machine ? &*job.machine : nullptr);

  Prediction prediction;
  prediction.fits = found.fits;
  prediction.step_time_ns = known(found.step_time);
  prediction.step_time_low_ns = known(found.step_time_low);
  prediction.step_time_high_ns = known(found.step_time_high);
  prediction.tokens_per_s = found.tokens_per_s;
  prediction.mfu = found.mfu;
  prediction.exposed_communication_ns = found.exposed_communication.count();
  for (const simulator::RankPeaks& rank : found.ranks_memory) {
    const MemoryPeaks& peaks = rank.peaks;
    prediction.ranks.push_back(
        {rank.rank, peaks.allocated, peaks.reserved, peaks.active, rank.peak_host});
  }
  prediction.warnings = found.warnings;
  prediction.text = simulator::prediction_text(job, found, false);
  prediction.json = with_schema_version(simulator::prediction_json(job, found));
  return prediction;
}

}  // namespace

Result<Prediction> predict(const Question& question) {
  auto prediction = predicted(question);
  if (!prediction) return error_of(prediction.error());
  return std::move(*prediction);
}

}  // namespace foreshard::api
