#include "models/lowering/training/optimizer.hpp"

#include "models/lowering/training/gradient_clipping.hpp"
#include "models/lowering/training/staging.hpp"

namespace foreshard::lowering {
namespace {

// The averaged gradients of all units before clipping, for the host to keep.
void export_gradients(const Job& job, Emitter& emit, const std::vector<OptimizerTensors>& all) {
  const auto once = emit.only_once();
  for (const OptimizerTensors& t : all) {
    emit.focus(t.unit, job.units[static_cast<std::size_t>(t.unit)].modules[0]);
    const BufferId gradient = job.plan.offload.parameters ? t.host_gradient : t.gradient;
    Staging staging(emit, {&gradient, 1});
    staging.copy_to_host();
    staging.wait();
    emit.host_compute(key_of(Operator::export_gradients, job.plan.precision.storage, t.padded),
                      staging.host(), {});
    staging.free();
  }
  emit.focus_on_step();
}

}  // namespace

Optimizer::Optimizer(const Job& job, const RankPlace& place, Emitter& emit,
                     ShardingRuntime& runtime, const TrainingBuffers& buffers,
                     const RunVariant& run)
    : job_(job),
      plan_(job.plan),
      place_(place),
      emit_(emit),
      runtime_(runtime),
      buffers_(buffers),
      run_(run),
      states_(job.units.size()) {}

void Optimizer::step(const std::function<void()>& before_update) {
  emit_.set_phase(Phase::optimizer);
  emit_.focus_on_step();
  const auto range = emit_.range(Range::optimizer);
  const std::vector<OptimizerTensors> all = runtime_.optimizer_tensors();
  if (run_.exports_gradients) export_gradients(job_, emit_, all);
  clip_gradients(job_, place_, emit_, all, buffers_);
  if (before_update) {
    before_update();
    emit_.set_phase(Phase::optimizer);
  }
  for (const OptimizerTensors& tensors : all) {
    emit_.focus(tensors.unit, job_.units[static_cast<std::size_t>(tensors.unit)].modules[0]);
    if (plan_.optimizer.name == OptimizerName::adamw) create_states(tensors);
    update(tensors);
  }
  emit_.focus_on_step();
  if (plan_.offload.optimizer && !plan_.offload.parameters) {
    // The next step's all-gathers wait for it.
    emit_.wait_for(Stream::compute, Stream::host_to_device);
  }
  runtime_.zero_gradients();
}

void Optimizer::create_states(const OptimizerTensors& tensors) {
  std::vector<BufferId>& states = states_[static_cast<std::size_t>(tensors.unit)];
  if (!states.empty()) return;
  const auto once = emit_.only_once();
  const DType type = plan_.precision.optimizer_state;
  const bool on_host = optimizes_on_host(plan_);
  const std::size_t parameters = tensors.parameters.size();
  states.resize(2 * parameters);
  for (std::size_t i = 0; i < parameters; ++i) {
    const ParameterShard& p = tensors.parameters[i];
    const std::int64_t bytes = p.local * item_size(type);
    for (const Role role : {Role::exp_avg, Role::exp_avg_sq}) {
      BufferId& state = states[role == Role::exp_avg ? i : parameters + i];
      state = emit_.allocate({bytes, Category::optimizer_states, role,
                              emit_.parameter_name(p.parameter), Stream::compute, on_host, true});
      if (bytes == 0 || run_.resumes) continue;
      const CostKey zero = key_of(Operator::fill_zero, type, bytes);
      if (on_host) {
        emit_.host_compute(zero, {}, {&state, 1});
      } else {
        emit_.launch(Stream::compute, emit_.intern(zero), {}, {&state, 1});
      }
    }
  }
  if (run_.resumes) restore_states(tensors);
}

void Optimizer::restore_states(const OptimizerTensors& tensors) {
  Staging staging(emit_, states(tensors.unit));
  emit_.host_compute(
      key_of(Operator::restore_states, plan_.precision.optimizer_state, 2 * tensors.local), {},
      staging.host());
  staging.copy_to_device();
  staging.free();
}

void Optimizer::update(const OptimizerTensors& tensors) {
  const DType storage = plan_.precision.storage;
  const bool is_adamw = plan_.optimizer.name == OptimizerName::adamw;
  const CostKey key{is_adamw ? Operator::adamw : Operator::sgd,
                    storage,
                    storage,
                    is_adamw ? plan_.precision.optimizer_state : storage,
                    {tensors.local}};
  const bool has_masters = !tensors.master_shards.empty();
  const auto updated = tensors.updated(), states_of_unit = states(tensors.unit);
  std::vector<BufferId> writes;
  writes.reserve(updated.size() + states_of_unit.size());
  writes.insert(writes.end(), updated.begin(), updated.end());
  writes.insert(writes.end(), states_of_unit.begin(), states_of_unit.end());
  if (!optimizes_on_host(plan_)) {
    const BufferId reads[] = {tensors.gradient, buffers_.clip};
    emit_.launch(Stream::compute, emit_.intern(key), reads, writes);
    return;
  }
  if (has_masters) emit_.host_wait(tensors.on_host);
  const BufferId reads[] = {tensors.host_gradient, buffers_.host_clip};
  emit_.host_compute(key, reads, writes);
  for (std::size_t i = 0; i < tensors.master_shards.size(); ++i) {
    emit_.copy(Stream::host_to_device, Operator::copy_host_to_device,
               tensors.parameters[i].padded * item_size(storage), tensors.master_shards[i],
               tensors.shards[i]);
  }
}

}  // namespace foreshard::lowering
