#include "models/lowering/runtimes/ddp.hpp"

#include <limits>

#include "models/sharding/implementation.hpp"
#include "models/sharding/trained_parameters.hpp"

namespace foreshard::lowering {

std::span<const StreamInfo> ddp_streams() {
  static const StreamInfo kStreams[] = {{"compute", StreamRole::compute, 0},
                                        {"all_reduce", StreamRole::communication, 0}};
  return kStreams;
}

namespace {

constexpr std::int64_t kIndex = 4;  // bytes

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
  allocate_module(0, buffers_of);
  emit_.focus(0, 0);
  const std::vector<ParameterId> order = trained_parameters();
  make_buckets(order, std::numeric_limits<std::int64_t>::max());
  if (is_static()) {  // which parameters a graph uses, for the ranks to agree on
    emit_.allocate({kIndex * static_cast<std::int64_t>(order.size()), Category::gradients,
                    Role::scratch, kNone, Stream::compute, false, true});
  }
}

void Ddp::allocate_module(ModuleId id, const ModuleBuffers& buffers_of) {
  const Module& module = job_.tree.modules[static_cast<std::size_t>(id)];
  for (const ModuleId child : module.children) allocate_module(child, buffers_of);
  emit_.focus(0, id);
  for (const ParameterId p : module.parameters) {
    BufferId& whole = at(p).whole;
    if (whole != kNone) continue;  // tied
    whole = emit_.allocate({bytes(p), Category::parameters, Role::shard, emit_.parameter_name(p),
                            Stream::compute, false, true});
  }
  buffers_of(id);
}

// The others are no part of a bucket.
std::vector<ParameterId> Ddp::trained_parameters() const {
  std::vector<ParameterId> order = named_parameters(job_.tree);
  std::erase_if(order, [this](ParameterId p) {
    return !job_.tree.parameters[static_cast<std::size_t>(p)].trains;
  });
  return order;
}

// A bucket is closed when it has reached the cap.
void Ddp::make_buckets(const std::vector<ParameterId>& order, std::int64_t cap) {
  buckets_.clear();
  std::int64_t size = 0;
  for (const ParameterId p : order) {
    if (size == 0) buckets_.emplace_back();
    at(p).bucket = buckets_.size() - 1;
    buckets_.back().parameters.push_back(p);
    size += bytes(p);
    if (size >= cap) size = 0;
  }
  for (Bucket& bucket : buckets_) {
    std::int64_t sum = 0;
    for (const ParameterId p : bucket.parameters) sum += bytes(p);
    bucket.buffer = emit_.allocate(
        {sum, Category::gradients, Role::bucket, kNone, Stream::compute, false, true});
  }
}

// Reducer::rebuild_buckets: rank 0 broadcasts the order and the sizes. Gradients that are there as views
// keep the old buckets until they have moved.
void Ddp::rebuild_buckets() {
  const std::vector<Bucket> before = buckets_;
  constexpr std::int64_t kMebibyte = 1 << 20;
  const std::int64_t cap = plan_.pytorch.bucket_cap_mb.mebibytes.value_or(25) * kMebibyte;
  std::int64_t closed = 0, size = 0;
  for (const ParameterId p : ready_order_) {
    if (size == 0) ++closed;
    size += bytes(p);
    if (size >= cap) size = 0;
  }
  const auto index = [&](std::int64_t count) {
    return emit_.allocate({kIndex * count, Category::temporaries, Role::scratch});
  };
  const BufferId order = index(static_cast<std::int64_t>(ready_order_.size()) + 1);
  const BufferId sizes = index(closed);
  emit_.free(sizes);
  emit_.free(order);
  const auto free_old = [&] {
    for (const Bucket& bucket : before) emit_.free(bucket.buffer);
  };
  if (!has_viewed_gradients_) free_old();
  make_buckets(ready_order_, cap);
  if (has_viewed_gradients_) free_old();
  has_rebuilt_ = has_rebuilt_in_step_ = true;
}

void Ddp::begin_micro_step(bool is_last) {
  is_last_micro_step_ = is_last;
  evaluates_ = false;
}

bool Ddp::ends_differently() const {
  return plan_.batch.gradient_sync == When::last;
}

bool Ddp::reduces_now() const {
  return is_last_micro_step_ || plan_.batch.gradient_sync == When::every;
}

void Ddp::pre_forward(UnitId unit) {
  emit_.focus(unit, 0);
  for (Bucket& bucket : buckets_) bucket.ready = 0;
  const int recorded = is_static() ? 2 : 1;
  if (!has_rebuilt_ && !evaluates_ && iterations_ >= recorded) rebuild_buckets();
  if (broadcasts_) broadcast_buffers();
  broadcasts_ = reduces_now() && !evaluates_;
}

// Two or more buffers are broadcast as one tensor, one as it is (flatten_dense_tensors).
void Ddp::broadcast_buffers() {
  std::int64_t size = 0;
  int count = 0;
  for (const Module& module : job_.tree.modules) {
    for (const std::int64_t bytes : rotary_buffers(module, job_.model, plan_)) {
      size += bytes;
      ++count;
    }
  }
  if (count < 2) return;
  const BufferId flat = emit_.allocate({size, Category::temporaries, Role::scratch});
  emit_.launch(
      Stream::compute,
      emit_.intern({Operator::memory_bound, DType::fp32, DType::fp32, DType::fp32, {size, size}}),
      emit_.intern_operator("aten::cat"), {}, {&flat, 1});
  emit_.free(flat);
}

// _DDPSink: until the graph is known, callers get copies of the outputs.
void Ddp::returned(std::span<BufferId*> outputs) {
  if (!is_static() || iterations_ > 0) return;
  std::vector<BufferId> originals;
  for (BufferId* const output : outputs) {
    const std::int64_t size = emit_.buffer(*output).bytes;
    const BufferId copy = emit_.allocate({size, Category::activations, Role::logits});
    emit_.launch(
        Stream::compute,
        emit_.intern(
            {Operator::memory_bound, DType::fp32, DType::fp32, DType::fp32, {size, size}}),
        emit_.intern_operator("aten::clone"), {output, 1}, {&copy, 1});
    originals.push_back(std::exchange(*output, copy));
  }
  for (const BufferId original : originals) emit_.free(original);
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
