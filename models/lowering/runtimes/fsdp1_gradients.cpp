// Gradients from the operators that make them to the flat gradient of a unit (section 2.5).
#include <algorithm>

#include "models/lowering/runtimes/fsdp1.hpp"

namespace foreshard::lowering {

void Fsdp1::gradient_ready(ParameterId parameter, BufferId gradient) {
  ready_.push_back({parameter, gradient});
}

// A tied parameter's second gradient and its first become a third tensor, on the stream of the split that
// takes it: autograd's InputBuffer makes it wait, and records it for both.
void Fsdp1::accumulate_gradients() {
  for (const auto& [parameter, gradient] : ready_) {
    const ParameterPlace& place = places_[static_cast<std::size_t>(parameter)];
    UnitState& s = at(place.unit);
    BufferId& kept = s.gradients[place.index];
    constexpr ParameterId kEmbedding = 0;
    const bool is_first_of_two =
        job_.model.tied_embeddings && parameter == kEmbedding && kept == kNone;
    if (kept == kNone) {
      kept = gradient;
    } else {
      const std::int64_t numel = job_.tree.parameters[static_cast<std::size_t>(parameter)].numel();
      constexpr Stream stream = fsdp1_stream::unshard;
      emit_.wait_for(stream, Stream::compute);
      emit_.record_stream(kept, stream);
      emit_.record_stream(gradient, stream);
      const BufferId sum =
          emit_.allocate({numel * item_size(gradient_type_), Category::unsharded_gradients,
                          Role::gradient, emit_.parameter_name(parameter), stream});
      emit_.launch(stream, {Operator::add, gradient_type_, gradient_type_, gradient_type_, {numel}},
                   {kept, gradient}, {sum});
      emit_.free(kept);
      emit_.free(gradient);
      kept = sum;
    }
    if (is_first_of_two) continue;
    if (++s.complete == s.gradients.size()) complete_.push_back(place.unit);
  }
  ready_.clear();
}

// Autograd runs what was made last first: of the units whose gradients are complete, those that were
// split since then.
void Fsdp1::run_splits_backward(int since) {
  std::vector<UnitId> due;
  std::erase_if(complete_, [&](UnitId unit) {
    if (at(unit).split < since) return false;
    due.push_back(unit);
    return true;
  });
  std::stable_sort(due.begin(), due.end(),
                   [this](UnitId a, UnitId b) { return at(a).split > at(b).split; });
  for (const UnitId unit : due) run_split_backward(unit);
}

// The split's node and _post_backward_hook.
void Fsdp1::run_split_backward(UnitId unit) {
  focus(unit);
  const BufferId gradient = concatenate(unit);
  const auto range = emit_.range(Range::fsdp1_post_backward);
  reshard_after_backward(unit, fsdp1_stream::unshard);
  at(unit).is_prefetched = false;
  if (plan_.prefetch.backward_prefetch == BackwardPrefetch::post) {
    const auto prefetching = emit_.range(Range::fsdp1_post_backward_prefetch);
    prefetch_backward(unit);
  }
  reduce(unit, gradient);
}

// On the stream of the split's forward, which autograd makes wait for the gradients and records for
// them. Paddings have gradients of zeros.
BufferId Fsdp1::concatenate(UnitId unit) {
  const Stream stream = fsdp1_stream::unshard;
  const std::int64_t element = item_size(gradient_type_);
  UnitState& s = at(unit);
  emit_.wait_for(stream, Stream::compute);
  std::vector<BufferId> zeros;
  for (const std::int64_t padding : flat(unit).paddings) {
    zeros.push_back(emit_.allocate(
        {padding * element, Category::unsharded_gradients, Role::scratch, kNone, stream}));
    emit_.launch(
        stream,
        {Operator::fill_zero, gradient_type_, gradient_type_, gradient_type_, {padding * element}},
        {}, {zeros.back()});
  }
  const BufferId gradient = allocate_flat_gradient(unit);
  std::vector<BufferId> parts = s.gradients;
  parts.insert(parts.end(), zeros.begin(), zeros.end());
  const std::int64_t bytes = flat(unit).numel * element;
  emit_.launch(
      stream,
      emit_.intern({Operator::memory_bound, DType::fp32, DType::fp32, DType::fp32, {bytes, bytes}}),
      emit_.intern_operator("aten::cat"), parts, {&gradient, 1});
  for (const BufferId zero : zeros) emit_.free(zero);
  for (BufferId& part : s.gradients) {
    emit_.record_stream(part, stream);
    emit_.free(std::exchange(part, kNone));
  }
  s.complete = 0;
  return gradient;
}

BufferId Fsdp1::allocate_flat_gradient(UnitId unit) {
  return emit_.allocate({flat(unit).numel * item_size(gradient_type_),
                         Category::unsharded_gradients, Role::flat_gradient, kNone,
                         fsdp1_stream::unshard});
}

// AccumulateGrad of a later micro-step.
void Fsdp1::add_to(BufferId sum, DType type, BufferId gradient, std::int64_t elements) {
  emit_.launch(fsdp1_stream::unshard, {Operator::add, type, gradient_type_, type, {elements}},
               {gradient}, {sum});
}

BufferId Fsdp1::allocate_gradient(UnitId unit, std::int64_t elements, DType type, Stream pool) {
  UnitState& s = at(unit);
  if (type != plan_.precision.storage || s.has_gradient) {
    return emit_.allocate({elements * item_size(type), Category::reduce_scatter,
                           Role::reduce_scatter_output, kNone, pool});
  }
  s.has_gradient = true;
  return allocate_kept_gradient(unit, elements, pool);
}

BufferId Fsdp1::allocate_kept_gradient(UnitId unit, std::int64_t elements, Stream pool) {
  BufferId& gradient = held(unit).gradients[held(unit).current];
  if (gradient == kNone) {
    gradient =
        emit_.declare({elements * item_size(plan_.precision.storage), Category::gradients,
                       Role::sharded_gradient, kNone, pool, false, true});
  }
  emit_.allocate(gradient);
  return gradient;
}

BufferId Fsdp1::cast(UnitId unit, BufferId gradient, DType from, DType to, std::int64_t elements,
                     Stream stream) {
  const BufferId out = allocate_gradient(unit, elements, to, stream);
  emit_.launch(stream, {Operator::cast, to, from, to, {elements}}, {gradient}, {out});
  return out;
}

// In two steps around the reduction, whatever the type (_get_gradient_predivide_factor).
double Fsdp1::predivide_factor() const {
  int factor = 1;
  while (job_.ranks % factor == 0 && job_.ranks / factor > factor) factor *= 2;
  return factor;
}

double Fsdp1::postdivide_factor() const {
  return job_.ranks / predivide_factor();
}

void Fsdp1::divide(BufferId gradient, double factor, Stream stream) {
  if (factor <= 1) return;
  const std::int64_t bytes = emit_.buffer(gradient).bytes;
  emit_.launch(
      stream,
      emit_.intern({Operator::memory_bound, DType::fp32, DType::fp32, DType::fp32, {bytes, bytes}}),
      emit_.intern_operator("aten::div_"), {}, {&gradient, 1});
}

void Fsdp1::copy_to_host(UnitId unit, Stream stream) {
  if (!plan_.offload.parameters) return;
  const Held& h = held(unit);
  emit_.copy(stream, Operator::copy_device_to_host, emit_.buffer(h.host_gradient).bytes,
             h.gradient(), h.host_gradient);
}

// _use_unsharded_grad_views: of parameters that have no gradient yet.
void Fsdp1::allocate_placeholders(UnitId unit) {
  const bool are_on_device = !plan_.offload.parameters;
  if (!plan_.pytorch.use_orig_params || !are_on_device || at(unit).has_gradient) return;
  for (const ParameterShard& piece : flat(unit).layout.parameters) {
    emit_.free(emit_.allocate({piece.local * item_size(plan_.precision.storage),
                               Category::temporaries, Role::scratch,
                               emit_.parameter_name(piece.parameter), fsdp1_stream::unshard}));
  }
}

}  // namespace foreshard::lowering
