#include "models/lowering/script/hook_walk.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "models/sharding/implementation.hpp"
#include "models/sharding/trained_parameters.hpp"

namespace foreshard::lowering {
namespace {

// Whether what a module returns is what the one around it returns, as it is.
bool is_output_of_parent(const Job& job, ModuleId id) {
  const Module& module = job.tree.modules[static_cast<std::size_t>(id)];
  if (module.parent == kNone) return false;
  const PyTorchPlan& pytorch = job.plan.pytorch;
  switch (job.tree.modules[static_cast<std::size_t>(module.parent)].kind) {
    case ModuleKind::root:  // which may compute the loss, or widen its logits
      return module.path.ends_with("lm_head") && !implementation_of(job.plan).loss_in_model &&
             pytorch.loss != LossKind::chunked && !pytorch.keep_logits;
    case ModuleKind::model: return module.path.ends_with(".norm");
    case ModuleKind::attention: return module.path.ends_with(".o_proj");
    case ModuleKind::mlp: return module.path.ends_with(".down_proj");
    default: return false;
  }
}

}  // namespace

HookTable::HookTable(const Job& job)
    : unit_of(job.tree.modules.size(), kNone),
      manager_of(job.tree.modules.size(), 0),
      returns_as_parent(job.tree.modules.size()),
      units(job.units.size()) {
  parent_of.reserve(job.tree.modules.size());
  for (const Module& module : job.tree.modules) parent_of.push_back(module.parent);
  const std::vector<bool> gradients = has_gradients(job);
  const auto kind_of = [&](ModuleId m) {
    return m == kNone ? ModuleKind::root : job.tree.modules[static_cast<std::size_t>(m)].kind;
  };
  const auto above = [&](ModuleId m) { return parent_of[static_cast<std::size_t>(m)]; };
  const auto shares_input = [&](ModuleId m) {
    const ModuleKind kind = kind_of(above(m));
    return (kind == ModuleKind::attention || kind == ModuleKind::mlp) &&
           !is_output_of_parent(job, m);
  };
  // The module at whose end all have run that read what this one is called with; what a base layer does is
  // read by a factor of its adapter too.
  const auto last_reader = [&](ModuleId m) {
    if (kind_of(above(m)) != ModuleKind::adapted) return shares_input(m) ? above(m) : kNone;
    return shares_input(above(m)) ? above(above(m)) : above(m);
  };
  for (std::size_t u = 0; u < job.units.size(); ++u) {
    for (const ModuleId m : job.units[u].modules) {
      const ModuleKind kind = job.tree.modules[static_cast<std::size_t>(m)].kind;
      unit_of[static_cast<std::size_t>(m)] = static_cast<UnitId>(u);
      returns_as_parent[static_cast<std::size_t>(m)] = is_output_of_parent(job, m);
      units[u].members += kind != ModuleKind::activation ? 1 : 0;
      if (!input_has_gradient(job, gradients, m)) units[u].has_input_gradient = false;
    }
    const std::vector<ParameterId>& parameters = job.units[u].parameters;
    const bool trains =
        std::any_of(parameters.begin(), parameters.end(),
                    [&gradients](ParameterId p) { return gradients[static_cast<std::size_t>(p)]; });
    if (job.plan.runtime == RuntimeName::fsdp1 && !trains) {
      units[u].waits_for = last_reader(job.units[u].modules.front());
    }
  }
  for (std::size_t m = 1; m < unit_of.size(); ++m) {
    manager_of[m] =
        unit_of[m] != kNone ? unit_of[m] : manager_of[static_cast<std::size_t>(parent_of[m])];
  }
}

HookWalk::HookWalk(const HookTable& hooks, Emitter& emit, ShardingRuntime& runtime)
    : hooks_(hooks), emit_(emit), runtime_(runtime), counts_(hooks.units.size()) {}

void HookWalk::begin(Mode mode, ModuleId base) {
  mode_ = mode;
  for (const UnitId unit : touched_) counts_[static_cast<std::size_t>(unit)] = {};
  touched_.clear();
  open_.clear();
  for (ModuleId m = base; m != kNone; m = parent(m)) {
    open_.push_back(m);
  }
  std::reverse(open_.begin(), open_.end());
  bottom_ = open_.size();
}

bool HookWalk::contains(ModuleId above, ModuleId module) const {
  while (module > above) module = parent(module);
  return module == above;
}

void HookWalk::enter(ModuleId module) {
  if (open_.size() > bottom_ && parent(open_.back()) == parent(module)) {
    if (open_.back() == module) return focus(module);
    leave_innermost();  // mostly it is the next one beside
    open_.push_back(module);
    entered(module);
    return focus(module);
  }
  while (open_.size() > bottom_ && !contains(open_.back(), module)) leave_innermost();
  const ModuleId from = open_.empty() ? kNone : open_.back();
  const std::size_t first = open_.size();
  for (ModuleId m = module; m != from; m = parent(m)) {
    open_.push_back(m);
  }
  if (open_.size() > first + 1) {
    std::reverse(open_.begin() + static_cast<std::ptrdiff_t>(first), open_.end());
  }
  entered_since(first);
  focus(module);
}

void HookWalk::entered_since(std::size_t first) {
  for (std::size_t at = first; at < open_.size();) {
    std::size_t end = at + 1;
    const auto is_output_of_last = [&] {
      return hooks_.returns_as_parent[static_cast<std::size_t>(open_[end])];
    };
    while (mode_ == Mode::backward && end < open_.size() && is_output_of_last()) ++end;
    for (std::size_t inner = end; inner > at; --inner) entered(open_[inner - 1]);
    at = end;
  }
}

void HookWalk::leave(ModuleId module) {
  while (open_.size() > bottom_ && contains(module, open_.back())) leave_innermost();
  if (!open_.empty()) focus(open_.back());
}

void HookWalk::focus(ModuleId module) {
  emit_.focus(hooks_.manager_of[static_cast<std::size_t>(module)], module);
}

void HookWalk::finish() {
  while (open_.size() > bottom_) leave_innermost();
}

void HookWalk::entered(ModuleId module) {
  const UnitId unit = hooks_.unit_of[static_cast<std::size_t>(module)];
  if (unit == kNone) return;
  Count& count = counts_[static_cast<std::size_t>(unit)];
  if (count.entered++ > 0) return;
  touched_.push_back(unit);
  switch (mode_) {
    case Mode::forward: return runtime_.pre_forward(unit);
    case Mode::backward: return runtime_.pre_backward(unit);
    case Mode::recompute: return runtime_.pre_forward_in_recompute(unit);
  }
}

void HookWalk::leave_innermost() {
  const ModuleId module = open_.back();
  open_.pop_back();
  left(module);
  if (!waiting_.empty()) run_waiting(module);
}

// In the order in which forward put them on the input.
void HookWalk::run_waiting(ModuleId above) {
  const auto first = std::stable_partition(waiting_.begin(), waiting_.end(), [&](UnitId unit) {
    return hooks_.units[static_cast<std::size_t>(unit)].waits_for != above;
  });
  std::vector<UnitId> due(first, waiting_.end());
  waiting_.erase(first, waiting_.end());
  std::sort(due.begin(), due.end());
  for (const UnitId unit : due) runtime_.post_backward(unit);
}

void HookWalk::left(ModuleId module) {
  const UnitId unit = hooks_.unit_of[static_cast<std::size_t>(module)];
  if (unit == kNone) return;
  const HookTable::UnitHooks& hooks = hooks_.units[static_cast<std::size_t>(unit)];
  if (++counts_[static_cast<std::size_t>(unit)].left < hooks.members) return;
  switch (mode_) {
    case Mode::forward: return runtime_.post_forward(unit, module == 0);
    case Mode::recompute: return runtime_.post_forward_in_recompute(unit);
    case Mode::backward: break;
  }
  if (hooks.waits_for != kNone && hooks.has_input_gradient) {
    waiting_.push_back(unit);
  } else if (hooks.has_input_gradient) {
    runtime_.post_backward(unit);
  }
}

}  // namespace foreshard::lowering
