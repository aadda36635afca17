#include "models/lowering/runtimes/module_order.hpp"

#include <deque>

namespace foreshard::lowering {
namespace {

void append_post_order(const ModuleTree& tree, ModuleId id, std::vector<ModuleId>& out) {
  for (const ModuleId child : tree.modules[static_cast<std::size_t>(id)].children) {
    append_post_order(tree, child, out);
  }
  out.push_back(id);
}

}  // namespace

std::vector<ModuleId> post_order(const ModuleTree& tree) {
  std::vector<ModuleId> out;
  out.reserve(tree.modules.size());
  append_post_order(tree, 0, out);
  return out;
}

std::vector<UnitId> wrapping_order(const Job& job) {
  std::vector<UnitId> unit_of(job.tree.modules.size(), kNone), order;
  for (std::size_t u = 0; u < job.units.size(); ++u) {
    unit_of[static_cast<std::size_t>(job.units[u].modules[0])] = static_cast<UnitId>(u);
  }
  for (const ModuleId id : post_order(job.tree)) {
    const UnitId unit = unit_of[static_cast<std::size_t>(id)];
    if (unit != kNone) order.push_back(unit);
  }
  return order;
}

ManagedModules::ManagedModules(const Job& job)
    : job_(job), unit_of_(job.tree.modules.size(), kNone) {
  for (std::size_t u = 0; u < job.units.size(); ++u) {
    for (const ModuleId m : job.units[u].modules) {
      unit_of_[static_cast<std::size_t>(m)] = static_cast<UnitId>(u);
    }
  }
}

void ManagedModules::collect(ModuleId id, std::vector<ModuleId>& out) const {
  for (const ModuleId child : module(id).children) {
    if (!is_wrapped(child)) collect(child, out);
  }
  out.push_back(id);
}

std::vector<ModuleId> ManagedModules::depth_first(UnitId unit) const {
  std::vector<ModuleId> out;
  for (const ModuleId id : job_.units[static_cast<std::size_t>(unit)].modules) collect(id, out);
  return out;
}

// Transformers' checkpointing is no module.
bool ManagedModules::has_checkpoint_wrapper(const Module& module) const {
  return module.kind == ModuleKind::decoder_layer &&
         job_.plan.checkpointing.mode != CheckpointMode::transformers &&
         is_checkpointed(job_, static_cast<std::size_t>(module.layer));
}

bool ManagedModules::is_factor(const Module& one) const {
  return one.parent != kNone && module(one.parent).kind == ModuleKind::adapted &&
         !one.path.ends_with(".base_layer");
}

std::vector<ModuleId> ManagedModules::breadth_first(UnitId unit) const {
  struct Visit {
    ModuleId id;
    bool is_wrapper;
  };
  const auto visit = [this](ModuleId id) {
    return Visit{id, has_checkpoint_wrapper(module(id)) || is_factor(module(id))};
  };
  std::vector<ModuleId> out;
  std::deque<Visit> queue;
  for (const ModuleId id : job_.units[static_cast<std::size_t>(unit)].modules) {
    queue.push_back(visit(id));
  }
  while (!queue.empty()) {
    const auto [id, is_wrapper] = queue.front();
    queue.pop_front();
    if (is_wrapper) {
      queue.push_back({id, false});
      continue;
    }
    out.push_back(id);
    for (const ModuleId child : module(id).children) {
      if (!is_wrapped(child)) queue.push_back(visit(child));
    }
  }
  return out;
}

}  // namespace foreshard::lowering
