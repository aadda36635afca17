// Categories of memory as they are shown: their names, colours and the order in which they are
// stacked.
#pragma once

#include <QString>
#include <string>
#include <string_view>

#include "gui/models/base/colour_role.hpp"

namespace foreshard::gui {

struct MemoryCategory {
  std::string key;  // as traces have it: "optimizer_states"
  QString name;     // "optimizer states"
  Role role = Role::memory_temporaries;
  bool is_from_before = false;  // allocated before the recording began: hatched
  bool operator==(const MemoryCategory&) const = default;
};

MemoryCategory memory_category(std::string_view key);
// Whether a category is stacked below another one.
bool is_below(const MemoryCategory& a, const MemoryCategory& b);

}  // namespace foreshard::gui
