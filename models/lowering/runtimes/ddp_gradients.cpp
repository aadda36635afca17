// DDP's gradients: from autograd into buckets, which are all-reduced as soon as they are complete.
#include "models/lowering/runtimes/ddp.hpp"

namespace foreshard::lowering {

// Where gradients are no views, autograd's first tensor lives until the next step clears it. Of a tied
// parameter that is the sum of both its uses.
BufferId Ddp::lasting_gradient(ParameterId parameter) {
  const bool is_summed_first = is_tied(parameter) && !(sums_in_place() && first_use_ == kNone);
  return is_summed_first ? kNone : kept_gradient(parameter);
}

// What autograd has cast nobody else holds, so that it grows in place (InputBuffer's accumulate).
bool Ddp::sums_in_place() const {
  return job_.plan.pytorch.autocast != Autocast::none;
}

BufferId Ddp::kept_gradient(ParameterId parameter) {
  if (has_views() || at(parameter).gradient != kNone) return kNone;
  BufferId& buffer = gradients_[static_cast<std::size_t>(parameter)];
  if (buffer == kNone) {
    buffer = emit_.declare({bytes(parameter), Category::gradients, Role::gradient,
                            emit_.parameter_name(parameter), Stream::compute, false, true});
  }
  return buffer;
}

bool Ddp::is_tied(ParameterId parameter) const {
  constexpr ParameterId kEmbedding = 0;
  return job_.model.tied_embeddings && parameter == kEmbedding;
}

void Ddp::gradient_ready(ParameterId parameter, BufferId gradient) {
  ready_.push_back({parameter, gradient});
}

void Ddp::accumulate_gradients() {
  for (const auto& [parameter, gradient] : ready_) {
    if (!is_tied(parameter)) {
      accumulate(parameter, gradient);
    } else if (first_use_ == kNone) {
      first_use_ = gradient;
    } else {
      accumulate(parameter, sum_of_uses(parameter, gradient));
    }
  }
  ready_.clear();
}

// Autograd adds what comes of both before AccumulateGrad runs.
BufferId Ddp::sum_of_uses(ParameterId parameter, BufferId second) {
  if (sums_in_place()) {
    emit_.launch(Stream::compute, {Operator::add, type_, type_, type_, {numel(parameter)}},
                 {second}, {first_use_});
    emit_.free(second);
    return std::exchange(first_use_, kNone);
  }
  BufferId sum = kept_gradient(parameter);
  if (sum == kNone) {
    sum = emit_.declare({bytes(parameter), Category::unsharded_gradients, Role::gradient,
                         emit_.parameter_name(parameter)});
  }
  emit_.allocate(sum);
  emit_.launch(Stream::compute, {Operator::add, type_, type_, type_, {numel(parameter)}},
               {first_use_, second}, {sum});
  emit_.free(std::exchange(first_use_, kNone));
  emit_.free(second);
  return sum;
}

// AccumulateGrad, which keeps a first gradient and adds later ones to it, then the reducer's hook. What
// is a view of a bucket already grows there.
void Ddp::accumulate(ParameterId parameter, BufferId gradient) {
  BufferId& kept = at(parameter).gradient;
  const bool is_view = kept == kNone && has_viewed_gradients_ && !reduces_now();
  const BufferId sum = is_view ? buckets_[at(parameter).bucket].buffer : kept;
  if (sum == kNone) {
    kept = gradient;
  } else {
    emit_.launch(Stream::compute, {Operator::add, type_, type_, type_, {numel(parameter)}},
                 {gradient}, {sum});
    emit_.free(gradient);
  }
  if (!reduces_now()) return;
  if (iterations_ == 0) ready_order_.push_back(parameter);
  const bool waits_for_all = is_static() && iterations_ == 0;
  if (!waits_for_all) put_into_bucket(parameter);
}

// Scaled by the number of ranks. Where gradients are views of the bucket, the tensor is done with.
void Ddp::put_into_bucket(ParameterId parameter) {
  const BufferId gradient = at(parameter).gradient;
  Bucket& bucket = buckets_[at(parameter).bucket];
  const std::int64_t size = bytes(parameter);
  emit_.launch(
      Stream::compute,
      emit_.intern({Operator::memory_bound, DType::fp32, DType::fp32, DType::fp32, {size, size}}),
      emit_.intern_operator("aten::mul"), {&gradient, 1}, {&bucket.buffer, 1});
  if (has_views()) free_gradient(parameter);
  if (++bucket.ready == bucket.parameters.size()) all_reduce(bucket);
}

void Ddp::all_reduce(Bucket& bucket) {
  const std::int64_t ranks = job_.ranks;
  if (ranks == 1) return;
  emit_.wait_for(ddp_stream::all_reduce, Stream::compute);
  emit_.collective(
      ddp_stream::all_reduce, Group::replicate,
      {Operator::all_reduce, type_, type_, type_, {emit_.buffer(bucket.buffer).bytes, ranks}},
      bucket.buffer, bucket.buffer);
}

// The end of backward: what a graph that is not known yet has put off, then the wait for all buckets.
void Ddp::final_callback() {
  if (!reduces_now()) return;
  emit_.focus(0, 0);
  if (is_static() && iterations_ == 0) {
    for (const ParameterId p : trained_parameters()) put_into_bucket(p);
  }
  ++iterations_;
  emit_.wait_for(Stream::compute, ddp_stream::all_reduce);
  has_viewed_gradients_ = has_views();
  if (has_views()) return;
  for (const Bucket& bucket : buckets_) {
    const std::int64_t size = emit_.buffer(bucket.buffer).bytes;
    std::vector<BufferId> gradients;
    for (const ParameterId p : bucket.parameters) gradients.push_back(at(p).gradient);
    emit_.launch(
        Stream::compute,
        emit_.intern({Operator::memory_bound, DType::fp32, DType::fp32, DType::fp32, {size, size}}),
        emit_.intern_operator("aten::copy_"), {&bucket.buffer, 1}, gradients);
  }
}

}  // namespace foreshard::lowering
