#include "models/sharding/program_size.hpp"

namespace foreshard {
namespace {

// Counted in programs of the operators "foreshard": a step has 220 instructions for each block that is
// a unit, 650 where each of its matrices is one too.
constexpr std::int64_t kOfABlock = 160, kOfAUnit = 65;
constexpr std::int64_t kMaxInstructions = 20'000'000;

}  // namespace

std::int64_t estimated_instructions(const Job& job) {
  const auto units = static_cast<std::int64_t>(job.units.size());
  return job.plan.batch.accumulation * (kOfABlock * job.model.layers + kOfAUnit * units);
}

Result<void> check_program_size(const Job& job, const std::string& plan_file) {
  constexpr std::int64_t kMillion = 1'000'000;
  const std::int64_t instructions = estimated_instructions(job);
  const EvaluationPlan& evaluation = job.plan.evaluation;
  const std::int64_t of_a_batch = instructions / job.plan.batch.accumulation;
  if (evaluation.every > 0 && evaluation.batches > kMaxInstructions / of_a_batch) {
    return fail(plan_file, "evaluation.batches",
                "is " + std::to_string(evaluation.batches) + ", with " +
                    std::to_string(job.model.layers) + " layers more than " +
                    std::to_string(kMaxInstructions / kMillion) +
                    " million instructions; expected at most " +
                    std::to_string(kMaxInstructions / of_a_batch));
  }
  if (instructions <= kMaxInstructions) return {};
  return fail(plan_file, "batch.accumulation",
              "results, with " + std::to_string(job.model.layers) + " layers, in a step of about " +
                  std::to_string(instructions / kMillion) +
                  " million instructions; expected at most " +
                  std::to_string(kMaxInstructions / kMillion) +
                  " million; use fewer micro-steps or layers");
}

}  // namespace foreshard
