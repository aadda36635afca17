#include "models/lowering/runtimes/whole_parameters.hpp"

#include "models/lowering/runtimes/module_order.hpp"
#include "models/sharding/trained_parameters.hpp"

namespace foreshard::lowering {

WholeParameters::WholeParameters(const Job& job, Emitter& emit, Role role, bool stay)
    : job_(job),
      emit_(emit),
      role_(role),
      stay_(stay),
      wholes_(job.tree.parameters.size(), kNone),
      unit_of_(job.tree.parameters.size(), kNone) {
  for (std::size_t u = 0; u < job.units.size(); ++u) {
    for (const ParameterId p : job.units[u].parameters) {
      unit_of_[static_cast<std::size_t>(p)] = static_cast<UnitId>(u);
    }
  }
}

std::vector<BufferId> WholeParameters::of(UnitId unit) const {
  std::vector<BufferId> all;
  for (const ParameterId p : job_.units[static_cast<std::size_t>(unit)].parameters) {
    all.push_back((*this)[p]);
  }
  return all;
}

BufferId WholeParameters::made(ParameterId parameter, ModuleId module) {
  const Parameter& whole = job_.tree.parameters[static_cast<std::size_t>(parameter)];
  emit_.focus(unit_of_[static_cast<std::size_t>(parameter)], module);
  return emit_.allocate({whole.numel() * item_size(storage_of(job_.plan, whole)),
                         Category::parameters, role_, emit_.parameter_name(parameter),
                         Stream::compute, false, stay_});
}

void WholeParameters::allocate(ModuleId module) {
  for (const ParameterId p : job_.tree.modules[static_cast<std::size_t>(module)].parameters) {
    BufferId& whole = wholes_[static_cast<std::size_t>(p)];
    if (whole == kNone) whole = made(p, module);
  }
}

void WholeParameters::move_to_device(const ShardingRuntime::ModuleBuffers& buffers_of) {
  for (const ModuleId id : post_order(job_.tree)) {
    allocate(id);
    buffers_of(id);
  }
}

void WholeParameters::make_on_device(const ShardingRuntime::ModuleBuffers& buffers_of) {
  std::vector<BufferId> untied;
  for (const ModuleId id : post_order(job_.tree)) {
    for (const ParameterId p : job_.tree.modules[static_cast<std::size_t>(id)].parameters) {
      BufferId& whole = wholes_[static_cast<std::size_t>(p)];
      const BufferId own = made(p, id);
      if (whole == kNone) {
        whole = own;
      } else {
        untied.push_back(own);
      }
    }
    buffers_of(id);
  }
  for (const BufferId own : untied) emit_.free(own);
}

}  // namespace foreshard::lowering
