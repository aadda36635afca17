#include "tests/property/accumulating_job.hpp"

namespace foreshard::tests {

Job accumulating_job(JobDrawer& drawer) {
  Job job = drawer.draw();
  job.plan.batch.accumulation = drawer.integer(1, 9);
  return job;
}

std::optional<Job> accumulating_pytorch_job(JobDrawer& drawer) {
  const Job job = accumulating_job(drawer);
  Plan plan = job.plan;
  plan.operators =
      drawer.one_of({OperatorSetName::pytorch_eager, OperatorSetName::pytorch_compile});
  plan.optimizer.kernel =
      drawer.one_of({OptimizerKernel::fused, OptimizerKernel::foreach, OptimizerKernel::loop});
  plan.runtime = drawer.one_of({RuntimeName::fsdp2, RuntimeName::fsdp2, RuntimeName::fsdp2,
                                RuntimeName::fsdp1, RuntimeName::ddp});
  const auto made = make_job(job.model, plan, "plan", job.ranks);
  return made ? std::optional(*made) : std::nullopt;
}

Job any_accumulating_job(JobDrawer& drawer) {
  if (drawer.chance(0.6)) return accumulating_job(drawer);
  const auto job = accumulating_pytorch_job(drawer);
  return job ? *job : accumulating_job(drawer);
}

std::string job_text(const Job& job) {
  return std::to_string(job.ranks) + " ranks\n" + to_toml(job.plan) + to_json(job.model);
}

}  // namespace foreshard::tests
