#include "models/lowering/training/pytorch_optimizer.hpp"

#include <algorithm>
#include <string_view>

#include "models/sharding/accelerate.hpp"
#include "models/sharding/trained_parameters.hpp"

namespace foreshard::lowering {
namespace {

using Pass = PyTorchOptimizer::ForeachPass;

// torch.optim's _multi_tensor_adamw besides the square roots: the weights' decay, the moments, the
// denominator, the step.
constexpr Pass kForeachAdamw[] = {
    {"aten::_foreach_mul_", 1, 1},     {"aten::_foreach_lerp_", 2, 1},
    {"aten::_foreach_mul_", 1, 1},     {"aten::_foreach_addcmul_", 2, 1},
    {"aten::_foreach_div_", 1, 1},     {"aten::_foreach_add_", 1, 1},
    {"aten::_foreach_addcdiv_", 3, 1},
};
constexpr Pass kForeachMomentum[] = {{"aten::_foreach_mul_", 1, 1}, {"aten::_foreach_add_", 2, 1}};

}  // namespace

PyTorchOptimizer::PyTorchOptimizer(const Job& job, const RankPlace& place, Emitter& emit,
                                   ShardingRuntime& runtime)
    : job_(job),
      plan_(job.plan),
      emit_(emit),
      runtime_(runtime),
      tensors_(emit),
      clipping_(job, place, emit),
      position_(job.tree.parameters.size()) {
  int position = 0;
  for (const ParameterId p : named_parameters(job.tree)) {
    position_[static_cast<std::size_t>(p)] = position++;
  }
}

// Those that are no parameters of the model, such as flat ones, stand in the order of their units.
std::vector<OptimizedParameter> PyTorchOptimizer::items(
    const std::vector<OptimizerTensors>& tensors) const {
  std::vector<OptimizedParameter> items;
  for (const OptimizerTensors& unit : tensors) {
    for (const ParameterShard& p : unit.parameters) {
      items.push_back({unit.gradient, p.local, p.parameter});
    }
  }
  const auto position = [this](const OptimizedParameter& item) {
    return item.parameter == kNone ? 0 : position_[static_cast<std::size_t>(item.parameter)];
  };
  std::stable_sort(items.begin(), items.end(),
                   [&](const auto& a, const auto& b) { return position(a) < position(b); });
  return items;
}

void PyTorchOptimizer::step() {
  emit_.set_phase(Phase::optimizer);
  emit_.focus_on_step();
  const auto range = emit_.range(Range::optimizer);
  const bool clips = plan_.optimizer.clip_grad_norm > 0;
  if (plan_.offload.parameters) {
    if (clips) clipping_.clip_on_host(runtime_.clipped_gradients());
    return step_on_host();
  }
  const std::vector<OptimizerTensors> tensors = runtime_.optimizer_tensors();
  const std::vector<OptimizedParameter> all = items(tensors);
  if (clips) clipping_.clip(all, tensors, runtime_.clipped_gradients());
  for (const ParameterGroup& group : groups(all, tensors)) {
    if (plan_.optimizer.name == OptimizerName::adamw) {
      adamw(group);
    } else {
      sgd(group);
    }
  }
}

// Trainer's two: norms and biases, which do not decay, come last (get_decay_parameter_names).
std::vector<PyTorchOptimizer::ParameterGroup> PyTorchOptimizer::groups(
    const std::vector<OptimizedParameter>& all,
    const std::vector<OptimizerTensors>& tensors) const {
  const bool is_first_step = states_.empty();
  if (!runs_in_trainer(plan_)) return {{all, tensors, 0, is_first_step}};
  ParameterGroup with{{}, tensors, 0, is_first_step}, without{{}, {}, 0, is_first_step};
  for (const OptimizedParameter& item : all) (decays(item) ? with : without).items.push_back(item);
  without.begin = with.items.size();
  return {with, without};
}

bool PyTorchOptimizer::decays(const OptimizedParameter& item) const {
  if (item.parameter == kNone) return true;
  const Parameter& parameter = job_.tree.parameters[static_cast<std::size_t>(item.parameter)];
  const Module& module = job_.tree.modules[static_cast<std::size_t>(parameter.module)];
  return module.kind != ModuleKind::norm && !parameter.name.ends_with(".bias");
}

// What the host works on is no memory of the device.
void PyTorchOptimizer::step_on_host() {
  const DType storage = trained_storage(plan_);
  const bool is_adamw = plan_.optimizer.name == OptimizerName::adamw;
  const std::vector<Role> roles = is_adamw         ? std::vector{Role::exp_avg, Role::exp_avg_sq}
                                  : has_momentum() ? std::vector{Role::momentum_buffer}
                                                   : std::vector<Role>();
  const std::vector<OptimizerTensors> tensors = runtime_.optimizer_tensors();
  if (states_.empty()) {
    for (const OptimizerTensors& unit : tensors) {
      for (const Role role : roles) {
        states_.push_back(
            emit_.allocate({unit.local * item_size(storage), Category::optimizer_states, role,
                            kNone, Stream::compute, true, true}));
      }
    }
  }
  for (const OptimizerTensors& unit : tensors) {
    const BufferId reads[] = {unit.host_gradient};
    emit_.host_compute(
        {is_adamw ? Operator::adamw : Operator::sgd, storage, storage, storage, {unit.local}},
        reads, unit.shards);
  }
}

BufferId PyTorchOptimizer::state(const OptimizedParameter& item, std::int64_t bytes, Role role) {
  const NameId owner = item.parameter == kNone ? kNone : emit_.parameter_name(item.parameter);
  return states_.emplace_back(emit_.allocate(
      {bytes, Category::optimizer_states, role, owner, Stream::compute, false, true}));
}

std::int64_t PyTorchOptimizer::bytes_of(const OptimizedParameter& item) const {
  return item.local * item_size(trained_storage(plan_));
}

void PyTorchOptimizer::adamw(const ParameterGroup& group) {
  const OptimizerKernel kernel = plan_.optimizer.kernel;
  const std::vector<OptimizedParameter>& items = group.items;
  if (group.is_first_step) {
    for (const OptimizedParameter& item : items) {
      // The fused kernel reads the number of the step on the device.
      if (kernel == OptimizerKernel::fused) state(item, 4, Role::scratch);
      state(item, bytes_of(item), Role::exp_avg);
      state(item, bytes_of(item), Role::exp_avg_sq);
    }
  }
  std::vector<BufferId> roots;
  BufferId before = kNone;
  if (kernel == OptimizerKernel::foreach) {
    for (std::size_t n = 0; n < items.size(); ++n) {
      const BufferId exp_avg_sq = states_[2 * (group.begin + n) + 1];
      roots.push_back(tensors_.make("aten::_foreach_sqrt", bytes_of(items[n]), {exp_avg_sq}));
    }
  } else if (kernel == OptimizerKernel::loop) {
    for (const OptimizedParameter& item : items) {
      const BufferId root = tensors_.make("aten::sqrt", bytes_of(item), {});
      const BufferId denominator = tensors_.make("aten::add", bytes_of(item), {root});
      tensors_.free({root, before});
      before = denominator;
    }
  }
  if (kernel == OptimizerKernel::foreach) {
    update_in_passes(kForeachAdamw, group.tensors);
  } else {
    update(Operator::adamw, group.tensors);
  }
  tensors_.free_reversed(roots);
  tensors_.free({before});
}

// Momentum buffers are made in the first step, of gradients with the weights' decay in them. The loop
// (_single_tensor_sgd) takes one parameter after the other, _multi_tensor_sgd all of them call by call.
void PyTorchOptimizer::sgd(const ParameterGroup& group) {
  const std::vector<OptimizedParameter>& items = group.items;
  const OptimizerKernel kernel = plan_.optimizer.kernel;
  const bool is_fused = kernel == OptimizerKernel::fused;
  const bool has_decay = group.begin == 0 || !runs_in_trainer(plan_);
  const bool decays = plan_.optimizer.weight_decay > 0 && has_decay && !is_fused;
  const bool is_first = has_momentum() && group.is_first_step;
  const auto decayed = [&](const OptimizedParameter& item, std::string_view op) {
    return tensors_.make_of_part(op, bytes_of(item), item.gradient, 2 * bytes_of(item));
  };
  const auto momentum_buffer = [&](const OptimizedParameter& item) {
    const BufferId buffer = state(item, bytes_of(item), Role::momentum_buffer);
    if (is_fused) return;
    tensors_.update("aten::clone", {&item.gradient, 1}, bytes_of(item), {&buffer, 1},
                    bytes_of(item));
  };
  std::vector<BufferId> sums;
  if (kernel == OptimizerKernel::loop) {
    for (const OptimizedParameter& item : items) {
      const BufferId sum = decays ? decayed(item, "aten::add") : kNone;
      if (is_first) momentum_buffer(item);
      tensors_.free({sum});
    }
  } else {
    for (const OptimizedParameter& item : items) {
      if (decays) sums.push_back(decayed(item, "aten::_foreach_add"));
    }
    for (const OptimizedParameter& item : items) {
      if (is_first) momentum_buffer(item);
    }
  }
  if (has_momentum() && !is_fused && !is_first) update_in_passes(kForeachMomentum, group.tensors);
  if (has_momentum()) tensors_.free_reversed(std::exchange(sums, {}));
  update(Operator::sgd, group.tensors);
  tensors_.free_reversed(sums);
}

void PyTorchOptimizer::update(Operator op, const std::vector<OptimizerTensors>& tensors) {
  const DType storage = trained_storage(plan_);
  for (const OptimizerTensors& unit : tensors) {
    const BufferId reads[] = {unit.gradient};
    emit_.launch(Stream::compute, emit_.intern({op, storage, storage, storage, {unit.local}}),
                 reads, unit.shards);
  }
}

void PyTorchOptimizer::update_in_passes(std::span<const ForeachPass> passes,
                                        const std::vector<OptimizerTensors>& tensors) {
  for (const OptimizerTensors& unit : tensors) {
    const std::int64_t bytes = unit.local * item_size(trained_storage(plan_));
    for (const ForeachPass& pass : passes) {
      tensors_.update(pass.op, {&unit.gradient, 1}, pass.reads * bytes, unit.shards,
                      pass.writes * bytes);
    }
  }
}

}  // namespace foreshard::lowering
