#include "gui/models/base/colour_role.hpp"

#include <array>
#include <utility>

namespace foreshard::gui {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

template <std::size_t N>
Role find(const std::array<std::pair<std::string_view, Role>, N>& table, std::string_view key,
          Role otherwise) {
  for (const auto& [name, role] : table) {
    if (name == key) return role;
  }
  return otherwise;
}

// Kernels of FSDP that move parameters or gradients in and out of a collective's buffer.
bool is_copy_of(std::string_view name, std::string_view collective) {
  return contains(name, collective) && contains(name, "copy");
}

}  // namespace

Role role_of_phase(std::string_view phase) {
  static constexpr std::array<std::pair<std::string_view, Role>, 7> table{
      {{"setup", Role::setup},
       {"forward", Role::forward},
       {"loss", Role::loss},
       {"recompute", Role::recompute},
       {"backward", Role::backward},
       {"optimizer", Role::optimizer},
       {"report", Role::report}}};
  return find(table, phase, Role::host);
}

Role role_of_category(std::string_view category) {
  static constexpr std::array<std::pair<std::string_view, Role>, 11> table{
      {{"parameters", Role::memory_parameters},
       {"gradients", Role::memory_gradients},
       {"optimizer_states", Role::memory_optimizer_states},
       {"unsharded_parameters", Role::memory_unsharded_parameters},
       {"all_gather", Role::memory_all_gather},
       {"unsharded_gradients", Role::memory_unsharded_gradients},
       {"reduce_scatter", Role::memory_reduce_scatter},
       {"activations", Role::memory_activations},
       {"temporaries", Role::memory_temporaries},
       {"inputs", Role::memory_inputs},
       {"workspaces", Role::memory_workspaces}}};
  return find(table, category, Role::memory_temporaries);
}

Role role_of_cost_source(CostSource source) {
  switch (source) {
    case CostSource::measured: return Role::cost_measured;
    case CostSource::fitted: return Role::cost_fitted;
    case CostSource::modelled: return Role::cost_modelled;
    case CostSource::unknown: return Role::cost_unknown;
    default: return Role::host;
  }
}

EventColour colour_of_operator(std::string_view name, std::string_view phase) {
  if (is_copy_of(name, "all_gather")) return {Role::all_gather, Tint::copy};
  if (is_copy_of(name, "reduce_scatter")) return {Role::reduce_scatter, Tint::copy};
  if (contains(name, "all_gather") || contains(name, "AllGather")) return {Role::all_gather};
  if (contains(name, "reduce_scatter") || contains(name, "ReduceScatter")) {
    return {Role::reduce_scatter};
  }
  if (contains(name, "all_reduce") || contains(name, "AllReduce")) return {Role::all_reduce};
  if (contains(name, "host_to_device") || contains(name, "device_to_host") ||
      contains(name, "HtoD") || contains(name, "DtoH")) {
    return {Role::copies};
  }
  const Role role = role_of_phase(phase);
  if (contains(name, "matmul") || contains(name, "gemm") || contains(name, "nvjet") ||
      contains(name, "cutlass")) {
    return {role, Tint::plain};
  }
  if (contains(name, "attention") || contains(name, "flash") || contains(name, "fmha")) {
    return {role, Tint::attention};
  }
  return {role, Tint::rest};
}

}  // namespace foreshard::gui
