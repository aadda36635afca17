#include "cli/common/job_options.hpp"

#include "cli/common/output.hpp"
#include "models/plan/foreign/foreign_plans.hpp"

namespace foreshard::cli {
namespace {

constexpr std::int64_t kMaxRanks = 1'000'000;

}  // namespace

void JobOptions::add_to(Options& options) {
  options.model(model);
  options.input("--plan", plan,
                {"PLAN",
                 "training plan (TOML), or a configuration of Accelerate, DeepSpeed, torchtitan, "
                 "transformers' "
                 "Trainer, axolotl or LLaMA-Factory",
                 false, "each key's own default, see `foreshard plan --defaults`"});
  options.whole_number("--ranks", ranks, {1, kMaxRanks}, {"RANKS", "number of ranks", true});
  options.whole_number("--nodes", nodes, {1, kMaxRanks},
                       {"NODES", "number of nodes that the ranks are spread over evenly", false,
                        "as many ranks per node as the machine holds"});
  options.flag("--deterministic", is_deterministic,
               "kernels whose results are the same bits in every run, also where they are slower: "
               "pytorch.deterministic = true in the plan");
}

Result<Job> JobOptions::load(const Machine* machine, const DeviceTraits& own_device) const {
  if (nodes && *nodes > ranks) {
    return fail("", "--nodes",
                std::to_string(*nodes) + " nodes cannot hold " + std::to_string(ranks) +
                    " ranks; expected 1 to the number of ranks");
  }
  if (nodes && ranks % *nodes != 0) {
    return fail("", "--nodes",
                "--ranks " + std::to_string(ranks) + " cannot be spread evenly over --nodes " +
                    std::to_string(*nodes) + "; expected a number of nodes that divides the ranks");
  }
  auto config = load_llama_config(model);
  if (!config) return tl::unexpected(config.error());
  auto loaded = plan.empty() ? Result<ConvertedPlan>(ConvertedPlan()) : read_any_plan(plan, ranks);
  if (!loaded) return tl::unexpected(loaded.error());
  if (loaded->is_foreign()) note(plan + ": " + conversion_origin(*loaded));
  Result<Plan> whole = completed(*loaded);
  if (!whole) return tl::unexpected(whole.error());
  if (is_deterministic) whole->pytorch.deterministic = true;
  const std::string name = plan.empty() ? "default plan" : plan;
  auto job = make_job(*config, *whole, name, ranks, nodes.value_or(0), machine, own_device);
  if (!job) return job;
  const std::vector<std::string> left_out = conversion_warnings(*loaded);
  job->warnings.insert(job->warnings.begin(), left_out.begin(), left_out.end());
  return job;
}

}  // namespace foreshard::cli
