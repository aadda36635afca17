#include "models/lowering/runtimes/ddp.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

#include "models/lowering/runtimes/whole_parameters.hpp"
#include "models/sharding/implementation.hpp"
#include "models/sharding/pytorch_support.hpp"
#include "models/sharding/trained_parameters.hpp"

namespace foreshard::lowering {

std::span<const StreamInfo> ddp_streams() {
  static const StreamInfo kStreams[] = {{"compute", StreamRole::compute, 0},
                                        {"all_reduce", StreamRole::communication, 0}};
  return kStreams;
}

namespace {

constexpr std::int64_t kIndex = 4;  // bytes
constexpr std::int64_t kMebibyte = 1 << 20;

}  // namespace

Ddp::Ddp(const Job& job, const RankProgram& program, Emitter& emit)
    : job_(job),
      plan_(job.plan),
      program_(program),
      emit_(emit),
      type_(trained_storage(job.plan)),
      parameters_(job.tree.parameters.size()),
      gradients_(job.tree.parameters.size(), kNone) {}

void Ddp::allocate_shards(const ModuleBuffers& buffers_of) {
  WholeParameters wholes(job_, emit_, Role::shard, true);
  if (model_setup(plan_) == ModelSetup::host) {
    wholes.move_to_device(buffers_of);
  } else {
    wholes.make_on_device(buffers_of);
  }
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    parameters_[p].whole = wholes[static_cast<ParameterId>(p)];
  }
  emit_.focus(0, 0);
  if (plan_.pytorch.init_sync) broadcast(module_states());
  make_first_buckets();
}

// The others are no part of a bucket.
std::vector<ParameterId> Ddp::trained_parameters() const {
  std::vector<ParameterId> order = named_parameters(job_.tree);
  std::erase_if(order, [this](ParameterId p) {
    return !job_.tree.parameters[static_cast<std::size_t>(p)].trains;
  });
  return order;
}

// bucket_cap_mb, by default with a first bucket of 1 MiB so that reducing begins early.
std::vector<std::int64_t> Ddp::bucket_caps() const {
  if (const auto set = plan_.pytorch.bucket_cap_mb.mebibytes) return {*set * kMebibyte};
  return {kMebibyte, 25 * kMebibyte};
}

// _ddp_init_helper: one bucket of the whole model, as it is to be made anew; or, where it will not be,
// buckets from the last parameter to the first.
void Ddp::make_first_buckets() {
  const std::vector<ParameterId> order = trained_parameters();
  if (rebuilds_buckets()) {
    make_buckets(order,
                 buckets_by_size(sizes_of(order), {std::numeric_limits<std::int64_t>::max()}));
  } else {
    auto buckets = buckets_by_size(sizes_of(order), bucket_caps());
    std::reverse(buckets.begin(), buckets.end());
    make_buckets(order, buckets);
  }
  // local_used_map_dev_, which set_static_graph makes whether it is there or not.
  const auto used_map = [&] {
    return emit_.allocate({kIndex * static_cast<std::int64_t>(order.size()), Category::gradients,
                           Role::scratch, kNone, Stream::compute, false, true});
  };
  const BufferId first = plan_.pytorch.find_unused_parameters ? used_map() : kNone;
  if (!is_static()) return;
  used_map();
  if (first != kNone) emit_.free(first);
}

std::vector<SizedTensor> Ddp::sizes_of(const std::vector<ParameterId>& parameters) const {
  std::vector<SizedTensor> tensors;
  for (const ParameterId p : parameters) {
    tensors.push_back(
        {bytes(p), storage_of(plan_, job_.tree.parameters[static_cast<std::size_t>(p)])});
  }
  return tensors;
}

void Ddp::make_buckets(const std::vector<ParameterId>& order, const BucketAssignment& assignment) {
  buckets_.clear();
  for (const auto& members : assignment) {
    Bucket& bucket = buckets_.emplace_back();
    std::int64_t size = 0;
    for (const std::size_t index : members) {
      bucket.parameters.push_back(order[index]);
      at(order[index]).bucket = buckets_.size() - 1;
      size += bytes(order[index]);
    }
    bucket.buffer = emit_.allocate(
        {size, Category::gradients, Role::bucket, kNone, Stream::compute, false, true});
  }
}

// Reducer::rebuild_buckets: rank 0 broadcasts the order and the sizes. Gradients that are there as views
// keep the old buckets until they have moved.
void Ddp::rebuild_buckets() {
  const std::vector<Bucket> before = buckets_;
  const BucketAssignment assignment = buckets_by_size(sizes_of(ready_order_), bucket_caps());
  const auto index = [&](std::size_t count) {
    return emit_.allocate(
        {kIndex * static_cast<std::int64_t>(count), Category::temporaries, Role::scratch});
  };
  const BufferId order = index(ready_order_.size() + 1);
  const BufferId sizes = index(assignment.size());
  emit_.free(sizes);
  emit_.free(order);
  const auto free_old = [&] {
    for (const Bucket& bucket : before) emit_.free(bucket.buffer);
  };
  if (!has_viewed_gradients_) free_old();
  make_buckets(ready_order_, assignment);
  if (has_viewed_gradients_) free_old();
  has_rebuilt_ = has_rebuilt_in_step_ = true;
}

void Ddp::begin_micro_step(bool is_last) {
  is_last_micro_step_ = is_last;
  evaluates_ = false;
}

bool Ddp::reduces_now() const {
  return is_last_micro_step_ || plan_.batch.gradient_sync == When::every;
}

void Ddp::pre_forward(UnitId unit) {
  emit_.focus(unit, 0);
  for (Bucket& bucket : buckets_) bucket.ready = 0;
  const int recorded = is_static() ? 2 : 1;
  if (rebuilds_buckets() && !has_rebuilt_ && !evaluates_ && iterations_ >= recorded) {
    rebuild_buckets();
  }
  if (broadcasts_) broadcast(buffers());
  broadcasts_ = reduces_now() && !evaluates_;
}

// What _sync_module_states takes, in its order.
std::vector<SizedTensor> Ddp::module_states() const {
  std::vector<SizedTensor> states = sizes_of(named_parameters(job_.tree));
  const std::vector<SizedTensor> more = buffers();
  states.insert(states.end(), more.begin(), more.end());
  return states;
}

std::vector<SizedTensor> Ddp::buffers() const {
  std::vector<SizedTensor> all;
  for (const Module& module : job_.tree.modules) {
    for (const std::int64_t bytes : rotary_buffers(module, job_.model, plan_)) {
      all.push_back({bytes, rotary_buffer_type(plan_)});
    }
  }
  return all;
}

// broadcast_coalesced: through flat copies of at most 250 MiB, two at a time. One tensor is broadcast as
// it is (flatten_dense_tensors).
void Ddp::broadcast(const std::vector<SizedTensor>& tensors) {
  constexpr std::size_t kInFlight = 2;
  std::deque<BufferId> in_flight;
  const auto finish = [&] {
    if (in_flight.front() != kNone) emit_.free(in_flight.front());
    in_flight.pop_front();
  };
  for (const auto& members : buckets_by_size(tensors, {250 * kMebibyte})) {
    if (in_flight.size() == kInFlight) finish();
    in_flight.push_back(members.size() < 2 ? kNone : flattened(tensors, members));
  }
  while (!in_flight.empty()) finish();
}

BufferId Ddp::flattened(const std::vector<SizedTensor>& tensors,
                        const std::vector<std::size_t>& members) {
  std::int64_t size = 0;
  for (const std::size_t index : members) size += tensors[index].bytes;
  const BufferId flat = emit_.allocate({size, Category::temporaries, Role::scratch});
  emit_.launch(
      Stream::compute,
      emit_.intern({Operator::memory_bound, DType::fp32, DType::fp32, DType::fp32, {size, size}}),
      emit_.intern_operator("aten::cat"), {}, {&flat, 1});
  return flat;
}

// _DDPSink: where unused parameters are looked for, and until a static graph is known, callers get copies
// of the outputs. In an evaluation they keep the originals, which have no node, and the copies die.
void Ddp::returned(std::span<BufferId*> outputs) {
  const bool has_sink = is_static() ? iterations_ == 0 : plan_.pytorch.find_unused_parameters;
  if (!has_sink) return;
  std::vector<BufferId> dropped;
  for (BufferId* output : outputs) {
    const std::int64_t size = emit_.buffer(*output).bytes;
    const BufferId copy = emit_.allocate({size, Category::activations, Role::logits});
    emit_.launch(
        Stream::compute,
        emit_.intern({Operator::memory_bound, DType::fp32, DType::fp32, DType::fp32, {size, size}}),
        emit_.intern_operator("aten::clone"), {output, 1}, {&copy, 1});
    dropped.push_back(evaluates_ ? copy : std::exchange(*output, copy));
  }
  for (const BufferId tensor : dropped) emit_.free(tensor);
}

std::int64_t Ddp::bytes(ParameterId p) const {
  const Parameter& parameter = job_.tree.parameters[static_cast<std::size_t>(p)];
  return parameter.numel() * item_size(storage_of(plan_, parameter));
}

BufferId Ddp::parameter(ParameterId parameter) const {
  return parameters_[static_cast<std::size_t>(parameter)].whole;
}

std::vector<OptimizerTensors> Ddp::optimizer_tensors() const {
  std::vector<OptimizerTensors> out;
  for (const ParameterShard& shard : program_.units[0].parameters) {
    const ParameterState& s = parameters_[static_cast<std::size_t>(shard.parameter)];
    if (!job_.tree.parameters[static_cast<std::size_t>(shard.parameter)].trains) continue;
    out.push_back({.unit = 0,
                   .parameters = {&shard, 1},
                   .shards = {&s.whole, 1},
                   .master_shards = {},
                   .padded = shard.padded,
                   .local = shard.local,
                   .gradient = has_views() ? buckets_[s.bucket].buffer : s.gradient});
  }
  return out;
}

// Views of buckets take no memory of their own.
void Ddp::zero_gradients() {
  emit_.focus(0, 0);
  for (const ParameterId p : trained_parameters()) free_gradient(p);
  has_viewed_gradients_ = false;
}

void Ddp::free_gradient(ParameterId parameter) {
  BufferId& gradient = at(parameter).gradient;
  if (gradient != kNone) emit_.free(std::exchange(gradient, kNone));
}

}  // namespace foreshard::lowering
