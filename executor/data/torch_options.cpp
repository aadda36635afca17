#include "executor/data/torch_options.hpp"

#include <functional>
#include <utility>

#include "executor/data/torch_pickle.hpp"
#include "models/plan/plan.hpp"

namespace foreshard::executor {
namespace {

using Write = std::function<void(TorchPickle& pickle)>;

std::string pickled(const Write& write) {
  TorchPickle pickle;
  write(pickle);
  return pickle.finish();
}

Write real(double value) {
  return [value](TorchPickle& pickle) { pickle.real(value); };
}
Write integer(std::int64_t value) {
  return [value](TorchPickle& pickle) { pickle.integer(value); };
}
Write boolean(bool value) {
  return [value](TorchPickle& pickle) { pickle.boolean(value); };
}
Write none() {
  return [](TorchPickle& pickle) { pickle.none(); };
}
Write list_of(double value) {
  return [value](TorchPickle& pickle) {
    pickle.empty_list(), pickle.mark(), pickle.real(value), pickle.append();
  };
}
Write list_of(std::vector<std::string> texts) {
  return [texts = std::move(texts)](TorchPickle& pickle) {
    pickle.empty_list(), pickle.mark();
    for (const std::string& text : texts) pickle.text(text);
    pickle.append();
  };
}

// A group's options, by name. The kernel is the optimizer's own choice; torchtitan asks for the fused one.
std::vector<std::pair<std::string, Write>> group_options(const OptimizerPlan& optimizer,
                                                         StateNames names, double lr) {
  const bool is_torchtitan = names == StateNames::torchtitan;
  std::vector<std::pair<std::string, Write>> options = {{"lr", real(lr)}};
  if (optimizer.name == OptimizerName::adamw) {
    options.emplace_back("betas", [&optimizer](TorchPickle& pickle) {
      pickle.real(optimizer.beta1), pickle.real(optimizer.beta2), pickle.tuple(2);
    });
    options.emplace_back("eps", real(optimizer.eps));
    options.emplace_back("amsgrad", boolean(false));
    options.emplace_back("capturable", boolean(false));
    options.emplace_back("decoupled_weight_decay", boolean(true));
  } else {
    options.emplace_back("momentum", real(optimizer.momentum));
    options.emplace_back("dampening", real(0));
    options.emplace_back("nesterov", boolean(false));
  }
  options.emplace_back("weight_decay", real(optimizer.weight_decay));
  options.emplace_back("maximize", boolean(false));
  options.emplace_back("differentiable", boolean(false));
  options.emplace_back("foreach", is_torchtitan ? boolean(false) : none());
  options.emplace_back("fused", is_torchtitan ? boolean(true) : none());
  if (is_torchtitan) options.emplace_back("initial_lr", real(optimizer.lr));
  return options;
}

}  // namespace

Result<std::vector<TorchOption>> torch_options(StateNames names, const RunState& state,
                                               const DcpMetadata& tensors) {
  const auto plan = parse_plan(state.plan, "the plan");
  if (!plan) return tl::unexpected(plan.error());
  const OptimizerPlan& optimizer = plan->optimizer;
  const double lr = learning_rate(optimizer, state.step + 1, state.total_steps);
  const auto group = group_options(optimizer, names, lr);
  const bool is_torchtitan = names == StateNames::torchtitan;
  std::vector<TorchOption> options;
  std::vector<std::string> parameters;
  for (const auto& [name, tensor] : tensors.tensors) {
    const auto known = known_state(name);
    if (!known) continue;
    if (known->role == "exp_avg") {
      options.push_back(
          {state_key(names, known->parameter, "step"), {}, static_cast<float>(state.step)});
    }
    if (known->role != "parameter") continue;
    parameters.push_back(known->parameter);
    for (const auto& [option, write] : group) {
      if (!is_torchtitan) break;
      options.push_back({option_key(names, known->parameter, option), pickled(write), {}});
    }
  }
  if (!is_torchtitan) {
    for (const auto& [option, write] : group) {
      options.push_back({option_key(names, "", option), pickled(write), {}});
    }
    options.push_back({option_key(names, "", "params"), pickled(list_of(parameters)), {}});
    return options;
  }
  const auto add = [&options](const std::string& outer, const std::string& inner,
                              const Write& write) {
    options.push_back({{outer + "." + inner, {outer, inner}}, pickled(write), {}});
  };
  add("lr_scheduler", "base_lrs", list_of(optimizer.lr));
  add("lr_scheduler", "last_epoch", integer(state.step));
  add("lr_scheduler", "_step_count", integer(state.step + 1));
  add("lr_scheduler", "_is_initial", boolean(false));
  add("lr_scheduler", "_get_lr_called_within_step", boolean(false));
  add("lr_scheduler", "_last_lr", list_of(lr));
  add("train_state", "step", integer(state.step));
  add("train_state", "ntokens_seen", integer(state.samples * plan->batch.sequence));
  return options;
}

}  // namespace foreshard::executor
