#include "models/lowering/hooks.hpp"

#include <algorithm>

namespace foreshard::lowering {

HookWalk::HookWalk(const Job& job, Emitter& emit, Fsdp2& runtime, Mode mode, ModuleId base)
    : job_(job),
      emit_(emit),
      runtime_(runtime),
      mode_(mode),
      bottom_(0),
      unit_of_(job.tree.modules.size(), kNone),
      manager_of_(job.tree.modules.size(), 0),
      members_(job.units.size()),
      entered_(job.units.size()),
      left_(job.units.size()) {
  for (std::size_t u = 0; u < job.units.size(); ++u) {
    for (const ModuleId m : job.units[u].modules) {
      unit_of_[static_cast<std::size_t>(m)] = static_cast<UnitId>(u);
      const bool is_walked =
          job.tree.modules[static_cast<std::size_t>(m)].kind != ModuleKind::activation;
      members_[u] += is_walked ? 1 : 0;
    }
  }
  for (std::size_t m = 1; m < unit_of_.size(); ++m) {
    manager_of_[m] = unit_of_[m] != kNone
                         ? unit_of_[m]
                         : manager_of_[static_cast<std::size_t>(job.tree.modules[m].parent)];
  }
  for (ModuleId m = base; m != kNone; m = job.tree.modules[static_cast<std::size_t>(m)].parent) {
    open_.insert(open_.begin(), m);
  }
  bottom_ = open_.size();
}

bool HookWalk::contains(ModuleId above, ModuleId module) const {
  while (module > above) module = job_.tree.modules[static_cast<std::size_t>(module)].parent;
  return module == above;
}

void HookWalk::go_to(ModuleId module) {
  while (open_.size() > bottom_ && !contains(open_.back(), module)) leave(open_.back());
  const ModuleId from = open_.empty() ? kNone : open_.back();
  if (from != module) {
    std::size_t at = open_.size();
    for (ModuleId m = module; m != from;
         m = job_.tree.modules[static_cast<std::size_t>(m)].parent) {
      open_.insert(open_.begin() + static_cast<std::ptrdiff_t>(at), m);
    }
    for (; at < open_.size(); ++at) enter(open_[at]);
  }
  emit_.module = module;
  emit_.unit = manager_of_[static_cast<std::size_t>(module)];
}

void HookWalk::finish() {
  while (open_.size() > bottom_) leave(open_.back());
}

void HookWalk::enter(ModuleId module) {
  const UnitId unit = unit_of_[static_cast<std::size_t>(module)];
  if (unit == kNone || entered_[static_cast<std::size_t>(unit)]++ > 0) return;
  switch (mode_) {
    case Mode::forward: return runtime_.pre_forward(unit);
    case Mode::backward: return runtime_.pre_backward(unit);
    case Mode::recompute: return runtime_.pre_forward_in_recompute(unit);
  }
}

void HookWalk::leave(ModuleId module) {
  open_.pop_back();
  const UnitId unit = unit_of_[static_cast<std::size_t>(module)];
  if (unit == kNone) return;
  const auto& modules = job_.units[static_cast<std::size_t>(unit)].modules;
  const std::size_t u = static_cast<std::size_t>(unit);
  if (++left_[u] < members_[u]) return;
  switch (mode_) {
    case Mode::forward: return runtime_.post_forward(unit, module == 0);
    case Mode::recompute: return runtime_.post_forward_in_recompute(unit);
    case Mode::backward: break;
  }
  // The hook sits on the gradient of the unit's inputs. Token ids have none and none comes back from
  // the rotary embedding; such units wait for the final callback.
  const bool has_no_gradient = std::any_of(modules.begin(), modules.end(), [this](ModuleId m) {
    const ModuleKind kind = job_.tree.modules[static_cast<std::size_t>(m)].kind;
    return kind == ModuleKind::root || kind == ModuleKind::model || kind == ModuleKind::embedding ||
           kind == ModuleKind::rotary;
  });
  if (!has_no_gradient) runtime_.post_backward(unit);
}

}  // namespace foreshard::lowering
