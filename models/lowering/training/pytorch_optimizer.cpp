#include "models/lowering/training/pytorch_optimizer.hpp"

#include <algorithm>

namespace foreshard::lowering {
namespace {

constexpr std::int64_t kNormChunk = 65536;  // elements that a block of _foreach_norm sums

constexpr std::int64_t chunks(std::int64_t elements) {
  return (elements + kNormChunk - 1) / kNormChunk;
}

}  // namespace

PyTorchOptimizer::PyTorchOptimizer(const Job& job, const RankPlace& place, Emitter& emit,
                                   ShardingRuntime& runtime)
    : job_(job),
      plan_(job.plan),
      place_(place),
      rules_(pytorch_rules(job.plan.pytorch)),
      emit_(emit),
      runtime_(runtime),
      order_(named_parameters(job.tree)) {}

std::vector<PyTorchOptimizer::Item> PyTorchOptimizer::items() const {
  std::vector<Item> by_parameter(job_.tree.parameters.size());
  for (const OptimizerTensors& unit : runtime_.optimizer_tensors()) {
    for (std::size_t i = 0; i < unit.parameters.size(); ++i) {
      const ParameterShard& p = unit.parameters[i];
      by_parameter[static_cast<std::size_t>(p.parameter)] = {unit.shards[i], unit.gradient, p.local,
                                                             p.parameter};
    }
  }
  std::vector<Item> ordered;
  for (const ParameterId p : order_) ordered.push_back(by_parameter[static_cast<std::size_t>(p)]);
  return ordered;
}

BufferId PyTorchOptimizer::temporary(std::int64_t bytes, Role role) {
  return emit_.allocate({bytes, Category::temporaries, role});
}

BufferId PyTorchOptimizer::make(std::string_view op, std::int64_t bytes,
                                std::initializer_list<BufferId> reads) {
  const BufferId out = temporary(bytes);
  std::int64_t read = 0;
  std::vector<BufferId> operands;
  for (const BufferId buffer : reads) {
    if (buffer == kNone) continue;
    read += emit_.buffer(buffer).bytes;
    operands.push_back(buffer);
  }
  const DType fp32 = DType::fp32;
  emit_.launch(Stream::compute,
               emit_.intern({Operator::memory_bound, fp32, fp32, fp32, {read, bytes}}),
               emit_.intern_operator(op), operands, {&out, 1});
  return out;
}

void PyTorchOptimizer::free(std::initializer_list<BufferId> buffers) {
  for (const BufferId buffer : buffers) {
    if (buffer != kNone) emit_.free(buffer);
  }
}

void PyTorchOptimizer::free_reversed(const std::vector<BufferId>& buffers) {
  for (auto buffer = buffers.rbegin(); buffer != buffers.rend(); ++buffer) emit_.free(*buffer);
}

void PyTorchOptimizer::step() {
  emit_.phase = Phase::optimizer;
  emit_.focus_on_step();
  const auto range = emit_.range(Range::optimizer);
  if (plan_.offload.parameters) return step_on_host();
  const std::vector<Item> all = items();
  if (plan_.optimizer.clip_grad_norm > 0) clip(all);
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

std::vector<BufferId> PyTorchOptimizer::norm_scratch(const std::vector<Item>& items) {
  const auto count = static_cast<std::int64_t>(items.size());
  std::int64_t sum = 0, most = 0;
  for (const Item& item : items) {
    sum += chunks(item.local);
    most = std::max(most, chunks(item.local));
  }
  if (!rules_.norm_scratch_is_packed) return {temporary(4 * count * most)};
  return {temporary(8 * (count + 1)), temporary(4 * sum)};
}

// _get_total_norm, then _clip_grads_with_norm_. Norms of DTensors are partial until the sum over the
// ranks; a gradient without elements has a norm of its own, a zero.
void PyTorchOptimizer::clip(const std::vector<Item>& items) {
  const std::int64_t element = item_size(plan_.precision.storage);
  const auto count = static_cast<std::int64_t>(items.size());
  const bool is_sharded = place_[Group::shard].size > 1;
  const std::vector<BufferId> scratch = norm_scratch(items);
  std::vector<BufferId> made, norms;
  for (std::size_t i = 0; i < items.size(); ++i) {
    made.push_back(make("aten::_foreach_norm", element, {items[i].gradient}));
  }
  std::size_t used = 0;
  std::vector<BufferId> zeros;
  for (const Item& item : items) {
    if (item.local == 0) zeros.push_back(make("aten::zeros", element, {}));
  }
  std::size_t zero = 0;
  for (const Item& item : items) norms.push_back(item.local > 0 ? made[used++] : zeros[zero++]);
  for (std::size_t i = used; i < made.size(); ++i) emit_.free(made[i]);
  free_reversed(scratch);

  const BufferId all = make("aten::stack", element * count, {norms.front()});
  const auto summed_over_ranks = [&](std::int64_t bytes, BufferId of) {
    const BufferId power = make("aten::pow", bytes, {of});
    const BufferId sums = make("aten::clone", bytes, {power});
    const std::int64_t ranks = place_[Group::shard].size;
    emit_.collective(Stream::compute, Group::shard,
                     key_of(Operator::all_reduce, DType::fp32, bytes, ranks), sums, sums);
    const BufferId root = make("aten::pow", bytes, {sums});
    free({power, sums});
    return root;
  };
  BufferId partial = kNone;
  if (is_sharded && rules_.norm_summed_before_total) {
    partial = summed_over_ranks(element * count, all);
  }
  const BufferId total =
      make("aten::linalg_vector_norm", element, {partial == kNone ? all : partial});
  free({partial, all});
  free_reversed(norms);
  const BufferId added = make("aten::add", element, {total});
  BufferId summed = kNone;
  if (!rules_.norm_summed_before_total) summed = summed_over_ranks(element, added);
  const BufferId inverse = make("aten::reciprocal", element, {summed == kNone ? added : summed});
  free({summed});
  const BufferId factor = make("aten::mul", element, {inverse});
  free({inverse, added});
  const BufferId clamped = make("aten::clamp", element, {factor});
  for (const OptimizerTensors& unit : runtime_.optimizer_tensors()) {
    if (unit.gradient == kNone) continue;
    const BufferId reads[] = {clamped};
    const std::int64_t bytes = unit.local * element;
    emit_.launch(
        Stream::compute,
        emit_.intern(
            {Operator::memory_bound, DType::fp32, DType::fp32, DType::fp32, {bytes, bytes}}),
        emit_.intern_operator("aten::_foreach_mul_"), reads, {&unit.gradient, 1});
  }
  free({factor, clamped, total});
}

void PyTorchOptimizer::create_states(const std::vector<Item>& items) {
  if (plan_.optimizer.name != OptimizerName::adamw) return;
  const auto allocate = [&](const Item& item, std::int64_t bytes, Role role) {
    states_.push_back(
        emit_.allocate({bytes, Category::optimizer_states, role,
                        emit_.parameter_name(item.parameter), Stream::compute, false, true}));
  };
  for (const Item& item : items) {
    const std::int64_t bytes = item.local * item_size(plan_.precision.storage);
    // The fused kernel reads the number of the step on the device.
    if (plan_.optimizer.kernel == OptimizerKernel::fused) allocate(item, 4, Role::scratch);
    allocate(item, bytes, Role::exp_avg);
    allocate(item, bytes, Role::exp_avg_sq);
  }
}

void PyTorchOptimizer::update(const std::vector<Item>& items) {
  const DType storage = plan_.precision.storage;
  const std::int64_t element = item_size(storage);
  const bool is_adamw = plan_.optimizer.name == OptimizerName::adamw;
  std::vector<BufferId> roots;
  BufferId before = kNone;
  if (is_adamw && plan_.optimizer.kernel == OptimizerKernel::foreach) {
    for (const Item& item : items) {
      roots.push_back(make("aten::_foreach_sqrt", item.local * element, {}));
    }
  } else if (is_adamw && plan_.optimizer.kernel == OptimizerKernel::loop) {
    for (const Item& item : items) {
      const BufferId root = make("aten::sqrt", item.local * element, {});
      const BufferId denominator = make("aten::add", item.local * element, {root});
      free({root, before});
      before = denominator;
    }
  }
  for (const OptimizerTensors& unit : runtime_.optimizer_tensors()) {
    const BufferId reads[] = {unit.gradient};
    emit_.launch(
        Stream::compute,
        emit_.intern(
            {is_adamw ? Operator::adamw : Operator::sgd, storage, storage, storage, {unit.local}}),
        reads, unit.shards);
  }
  free_reversed(roots);
  free({before});
}

}  // namespace foreshard::lowering
