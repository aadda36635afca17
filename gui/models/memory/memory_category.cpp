#include "gui/models/memory/memory_category.hpp"

#include <algorithm>
#include <tuple>

#include "traces/snapshot/allocation_cause.hpp"

namespace foreshard::gui {
namespace {

// Of categories that imported recordings have besides those of programs.
Role role_of(std::string_view key, bool is_from_before) {
  if (key.empty() || is_from_before || key == traces::kUnattributed || key == "not recorded") {
    return Role::host;
  }
  if (key == "sharded state") return Role::memory_parameters;
  if (key == "loss") return Role::loss;
  return role_of_category(key);
}

}  // namespace

MemoryCategory memory_category(std::string_view key) {
  MemoryCategory category;
  category.key = key;
  std::string name(key.empty() ? "unknown" : key);
  const bool is_collective = key == "all_gather" || key == "reduce_scatter";
  std::replace(name.begin(), name.end(), '_', is_collective ? '-' : ' ');
  category.name = QString::fromStdString(name);
  category.is_from_before = key == traces::kBeforeRecording;
  category.role = role_of(key, category.is_from_before);
  return category;
}

bool is_below(const MemoryCategory& a, const MemoryCategory& b) {
  const auto place = [](const MemoryCategory& category) {
    // What was there before lies at the bottom, what is of no known purpose on top.
    const int layer = category.is_from_before ? 0 : category.role == Role::host ? 2 : 1;
    // The loss is what the forward leaves behind, as activations are.
    const Role role = category.role == Role::loss ? Role::memory_activations : category.role;
    return std::tuple(layer, role, std::string_view(category.key));
  };
  return place(a) < place(b);
}

}  // namespace foreshard::gui
