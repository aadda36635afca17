#include "models/lowering/training/pytorch_optimizer.hpp"

#include <algorithm>
#include <string_view>

namespace foreshard::lowering {
namespace {

// What torch.optim's _multi_tensor_adamw reads and writes of each element, call by call, besides the
// square roots: the weights' decay, the moments, the denominator, the step.
struct ForeachPass {
  std::string_view op;
  std::int64_t reads, writes;
};
constexpr ForeachPass kForeachAdamw[] = {
    {"aten::_foreach_mul_", 1, 1},     {"aten::_foreach_lerp_", 2, 1},
    {"aten::_foreach_mul_", 1, 1},     {"aten::_foreach_addcmul_", 2, 1},
    {"aten::_foreach_div_", 1, 1},     {"aten::_foreach_add_", 1, 1},
    {"aten::_foreach_addcdiv_", 3, 1},
};

}  // namespace

PyTorchOptimizer::PyTorchOptimizer(const Job& job, const RankPlace& place, Emitter& emit,
                                   ShardingRuntime& runtime)
    : plan_(job.plan),
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
  if (states_.empty()) create_states(all);
  update(all);
}

// What the host works on is no memory of the device.
void PyTorchOptimizer::step_on_host() {
  const DType storage = plan_.precision.storage;
  const bool is_adamw = plan_.optimizer.name == OptimizerName::adamw;
  if (states_.empty() && is_adamw) {
    for (const OptimizerTensors& unit : runtime_.optimizer_tensors()) {
      for (int n = 0; n < 2; ++n) {
        states_.push_back(
            emit_.allocate({unit.local * item_size(storage), Category::optimizer_states,
                            Role::exp_avg, kNone, Stream::compute, true, true}));
      }
    }
  }
  for (const OptimizerTensors& unit : runtime_.optimizer_tensors()) {
    const BufferId reads[] = {unit.host_gradient};
    emit_.host_compute(
        {is_adamw ? Operator::adamw : Operator::sgd, storage, storage, storage, {unit.local}},
        reads, unit.shards);
  }
}

void PyTorchOptimizer::create_states(const std::vector<OptimizedParameter>& items) {
  if (plan_.optimizer.name != OptimizerName::adamw) return;
  const auto allocate = [&](const OptimizedParameter& item, std::int64_t bytes, Role role) {
    const NameId owner = item.parameter == kNone ? kNone : emit_.parameter_name(item.parameter);
    states_.push_back(emit_.allocate(
        {bytes, Category::optimizer_states, role, owner, Stream::compute, false, true}));
  };
  for (const OptimizedParameter& item : items) {
    const std::int64_t bytes = item.local * item_size(plan_.precision.storage);
    // The fused kernel reads the number of the step on the device.
    if (plan_.optimizer.kernel == OptimizerKernel::fused) allocate(item, 4, Role::scratch);
    allocate(item, bytes, Role::exp_avg);
    allocate(item, bytes, Role::exp_avg_sq);
  }
}

void PyTorchOptimizer::update(const std::vector<OptimizedParameter>& items) {
  const DType storage = plan_.precision.storage;
  const std::int64_t element = item_size(storage);
  const bool is_adamw = plan_.optimizer.name == OptimizerName::adamw;
  std::vector<BufferId> roots;
  BufferId before = kNone;
  const bool is_in_passes = is_adamw && plan_.optimizer.kernel == OptimizerKernel::foreach;
  if (is_in_passes) {
    for (std::size_t n = 0; n < items.size(); ++n) {
      const BufferId exp_avg_sq = states_[2 * n + 1];
      roots.push_back(tensors_.make("aten::_foreach_sqrt", items[n].local * element, {exp_avg_sq}));
    }
  } else if (is_adamw && plan_.optimizer.kernel == OptimizerKernel::loop) {
    for (const OptimizedParameter& item : items) {
      const BufferId root = tensors_.make("aten::sqrt", item.local * element, {});
      const BufferId denominator = tensors_.make("aten::add", item.local * element, {root});
      tensors_.free({root, before});
      before = denominator;
    }
  }
  for (const OptimizerTensors& unit : runtime_.optimizer_tensors()) {
    if (is_in_passes) {
      update_in_passes(unit);
      continue;
    }
    const BufferId reads[] = {unit.gradient};
    emit_.launch(
        Stream::compute,
        emit_.intern(
            {is_adamw ? Operator::adamw : Operator::sgd, storage, storage, storage, {unit.local}}),
        reads, unit.shards);
  }
  tensors_.free_reversed(roots);
  tensors_.free({before});
}

void PyTorchOptimizer::update_in_passes(const OptimizerTensors& unit) {
  const std::int64_t bytes = unit.local * item_size(plan_.precision.storage);
  for (const ForeachPass& pass : kForeachAdamw) {
    tensors_.update(pass.op, {&unit.gradient, 1}, pass.reads * bytes, unit.shards,
                    pass.writes * bytes);
  }
}

}  // namespace foreshard::lowering
