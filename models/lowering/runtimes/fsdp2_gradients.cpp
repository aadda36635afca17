// Gradients from the operators that make them to the units that keep them: AccumulateGrad (section
// 1.11).
#include <algorithm>

#include "models/lowering/runtimes/fsdp2.hpp"

namespace foreshard::lowering {

BufferId Fsdp2::gradient(ParameterId parameter) const {
  const ParameterPlace& place = places_[static_cast<std::size_t>(parameter)];
  const auto& gradients = states_[static_cast<std::size_t>(place.unit)].gradients;
  return gradients.empty() ? kNone : gradients[static_cast<std::size_t>(place.trained)];
}

BufferId& Fsdp2::gradient_of(ParameterId parameter) {
  const ParameterPlace& place = places_[static_cast<std::size_t>(parameter)];
  UnitState& s = at(place.unit);
  s.gradients.resize(trained(place.unit).parameters.size(), kNone);
  return s.gradients[static_cast<std::size_t>(place.trained)];
}

// How many operators a parameter's gradient comes from. Foreshard's own add to the first in place.
std::int64_t Fsdp2::uses_of(ParameterId parameter) const {
  constexpr ParameterId kEmbedding = 0;
  return is_pytorch_ && job_.model.tied_embeddings && parameter == kEmbedding ? 2 : 1;
}

// Whether autograd casts the gradient to the reduce type: the first that is not reduced at once.
bool Fsdp2::widens(ParameterId parameter) {
  return rules_.autograd_casts_unreduced && !reduces_now() &&
         item_size(reduce_type_) > item_size(gradient_type_) && gradient_of(parameter) == kNone;
}

BufferId Fsdp2::widened(ParameterId parameter, BufferId gradient) {
  const std::int64_t numel = job_.tree.parameters[static_cast<std::size_t>(parameter)].numel();
  at(places_[static_cast<std::size_t>(parameter)].unit).gradients_are_wide = true;
  const BufferId wide =
      emit_.allocate({numel * item_size(reduce_type_), Category::unsharded_gradients,
                      Role::gradient, emit_.parameter_name(parameter)});
  emit_.launch(Stream::compute,
               {Operator::cast, reduce_type_, gradient_type_, reduce_type_, {numel}}, {gradient},
               {wide});
  emit_.free(gradient);
  return wide;
}

// A linear layer's gradient comes through the node of the weight's transpose, others straight from the
// operator's own, which casts before it lets go of what it was given.
void Fsdp2::gradient_ready(ParameterId parameter, BufferId gradient) {
  const ModuleId module = job_.tree.parameters[static_cast<std::size_t>(parameter)].module;
  const bool is_last_use =
      uses_of(parameter) == 1 ||
      std::any_of(first_use_.begin(), first_use_.end(),
                  [parameter](const ReadyGradient& r) { return r.parameter == parameter; });
  const bool is_direct =
      job_.tree.modules[static_cast<std::size_t>(module)].kind != ModuleKind::linear && is_last_use;
  if (is_direct && widens(parameter)) gradient = widened(parameter, gradient);
  ready_.push_back({parameter, gradient});
}

void Fsdp2::accumulate_gradients() {
  for (const auto& [parameter, gradient] : ready_) {
    if (uses_of(parameter) == 1) {
      keep_or_add(parameter, gradient);
      continue;
    }
    const auto first =
        std::find_if(first_use_.begin(), first_use_.end(),
                     [p = parameter](const ReadyGradient& r) { return r.parameter == p; });
    if (first == first_use_.end()) {
      const bool widens_now = widens(parameter);
      first_use_.push_back({parameter, widens_now ? widened(parameter, gradient) : gradient});
      continue;
    }
    keep_sum(parameter, first->gradient, gradient);
    first_use_.erase(first);
  }
  ready_.clear();
}

// Of the two uses of a tied parameter. What autograd has cast nobody else holds, so that it grows in
// place; otherwise the sum is a third tensor.
void Fsdp2::keep_sum(ParameterId parameter, BufferId first, BufferId second) {
  const std::int64_t numel = job_.tree.parameters[static_cast<std::size_t>(parameter)].numel();
  const bool is_wide = widens(parameter);
  const DType type = is_wide ? reduce_type_ : gradient_type_;
  const CostKey add = {Operator::add, type, type, type, {numel}};
  if (is_wide) {
    emit_.launch(Stream::compute, add, {second}, {first});
    emit_.free(second);
    gradient_of(parameter) = first;
    return;
  }
  const BufferId sum = emit_.allocate({numel * item_size(type), Category::unsharded_gradients,
                                       Role::gradient, emit_.parameter_name(parameter)});
  emit_.launch(Stream::compute, add, {first, second}, {sum});
  emit_.free(first);
  emit_.free(second);
  keep_or_add(parameter, sum);
}

// The first is kept; a later one is added to it in place.
void Fsdp2::keep_or_add(ParameterId parameter, BufferId gradient) {
  BufferId& existing = gradient_of(parameter);
  if (existing == kNone) {
    const ModuleId module = job_.tree.parameters[static_cast<std::size_t>(parameter)].module;
    const bool is_linear =
        job_.tree.modules[static_cast<std::size_t>(module)].kind == ModuleKind::linear;
    existing = is_linear && widens(parameter) ? widened(parameter, gradient) : gradient;
    return;
  }
  const bool is_wide = at(places_[static_cast<std::size_t>(parameter)].unit).gradients_are_wide;
  const DType type = is_wide ? reduce_type_ : gradient_type_;
  const std::int64_t numel = job_.tree.parameters[static_cast<std::size_t>(parameter)].numel();
  emit_.launch(Stream::compute, {Operator::add, type, gradient_type_, type, {numel}}, {gradient},
               {existing});
  emit_.free(gradient);
}

}  // namespace foreshard::lowering
