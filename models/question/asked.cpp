#include "models/question/asked.hpp"

#include <algorithm>
#include <utility>

#include "models/plan/plan_words.hpp"
#include "models/sharding/cuda_device.hpp"
#include "models/sharding/pytorch_device.hpp"

namespace foreshard {
namespace {

Result<void> check_nodes(const Asked& asked, const std::optional<Machine>& machine) {
  if (!asked.nodes) return {};
  const std::string ranks = "--ranks " + std::to_string(asked.ranks);
  if (*asked.nodes > asked.ranks) {
    return fail("", "--nodes",
                std::to_string(*asked.nodes) + " nodes cannot hold " + std::to_string(asked.ranks) +
                    " ranks; expected 1 to the number of ranks");
  }
  if (asked.ranks % *asked.nodes != 0) {
    return fail("", "--nodes",
                ranks + " cannot be spread evenly over --nodes " + std::to_string(*asked.nodes) +
                    "; expected a number of nodes that divides the ranks");
  }
  const std::int64_t on_a_node = asked.ranks / *asked.nodes;
  if (!machine || on_a_node <= machine->gpus_per_node) return {};
  return fail("", "--nodes",
              ranks + " on --nodes " + std::to_string(*asked.nodes) + " are " +
                  std::to_string(on_a_node) + " ranks a node, but " + machine->id + " has " +
                  std::to_string(machine->gpus_per_node) + "; expected at least " +
                  std::to_string(ceil_divide(asked.ranks, machine->gpus_per_node)) + " nodes");
}

OperatorSetName operators_of(const Asked& asked, const RecordedBy& recorded,
                             const std::optional<Machine>& machine) {
  if (asked.operators) return *asked.operators;
  if (asked.plan.writes("operators")) return asked.plan.plan.operators;
  if (recorded.operators) return *recorded.operators;
  if (!machine) return OperatorSetName::foreshard;
  return is_tpu(*machine) ? OperatorSetName::xla : OperatorSetName::pytorch_eager;
}

}  // namespace

int filled_nodes(const Question& question) {
  const ShardingPlan& sharding = question.plan.sharding;
  const bool is_hybrid = sharding.strategy == Strategy::hybrid_shard ||
                         sharding.strategy == Strategy::hybrid_shard_zero2;
  if (is_hybrid && sharding.shard_group == 0 && !question.machine) return 0;
  const int nodes = node_count(question);
  return question.ranks % nodes == 0 ? nodes : 0;
}

Result<DeviceTraits> modelled_device(const std::string& device,
                                     const std::optional<Machine>& machine) {
  if (device == "cpu") return DeviceTraits{};
  if (!machine) return fail("", "--machine", "is missing; expected a machine with GPUs");
  const auto traits = cuda_device(*machine);
  if (traits) return *traits;
  return fail("--machine", machine->id,
              "has no GPU that Foreshard's kernels are made for; expected an NVIDIA GPU of "
              "compute capability 8.0 or later, --device cpu or PyTorch's operators");
}

Plan default_plan(OperatorSetName operators, const LlamaConfig& model) {
  constexpr std::int64_t kLongest = 8192;
  Plan plan;
  plan.operators = operators;
  if (operators == OperatorSetName::foreshard) return plan;
  plan.batch.micro_batch = 1;
  plan.batch.sequence = std::min(kLongest, model.context);
  return plan;
}

std::optional<OperatorSetName> operators_named(std::string_view name) {
  const auto& words = kWords<OperatorSetName>;
  const auto* found = std::find(words.begin(), words.end(), name);
  if (found == words.end()) return std::nullopt;
  return static_cast<OperatorSetName>(found - words.begin());
}

Result<Question> question_of(const Asked& asked, const RecordedBy& recorded,
                             const OwnDevice& own_device) {
  Question question;
  question.machine = recorded.machine;
  if (!asked.machine.empty()) {
    auto machine = load_machine(asked.machine);
    if (!machine) return tl::unexpected(machine.error());
    question.machine = std::move(*machine);
  }
  if (auto ok = check_nodes(asked, question.machine); !ok) return tl::unexpected(ok.error());
  auto config = asked.config ? Result<LlamaConfig>(*asked.config) : load_llama_config(asked.model);
  if (!config) return tl::unexpected(config.error());
  question.model = std::move(*config);

  ConvertedPlan file = asked.plan;
  file.name = asked.plan_name();
  const OperatorSetName operators = operators_of(asked, recorded, question.machine);
  if (asked.operators) {
    file.plan.operators = operators;
    if (!file.writes("operators")) file.written.push_back({"operators", 0});
  }
  Result<Plan> plan = completed(file, default_plan(operators, question.model));
  if (!plan) return tl::unexpected(plan.error());
  question.plan = std::move(*plan);
  if (asked.is_deterministic) question.plan.pytorch.deterministic = true;

  const bool has_gpu = question.machine ? !is_tpu(*question.machine) : recorded.is_accelerator;
  const std::string device = !asked.device.empty() ? asked.device : has_gpu ? "cuda" : "cpu";
  if (operators == OperatorSetName::foreshard) {
    const bool is_unknown_gpu = asked.device.empty() && has_gpu && !question.machine;
    auto traits = own_device(
        device, is_unknown_gpu ? std::optional(default_pytorch_machine()) : question.machine);
    if (!traits) {
      Error error = traits.error();
      // Nobody named the machine: the costs were recorded on it.
      if (error.file == "--machine" && asked.machine.empty()) error.file = asked.costs;
      return tl::unexpected(std::move(error));
    }
    question.own_device = *traits;
  }
  question.ranks = asked.ranks;
  question.nodes = asked.nodes ? *asked.nodes : filled_nodes(question);
  question.model_path = asked.model;
  question.machine_id = asked.machine;
  question.costs = asked.costs;
  return question;
}

}  // namespace foreshard
