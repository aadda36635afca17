// What the items of rows are coloured by. Every item has one of at most 255 categories, and every
// category a fill; pyramids count in categories.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "gui/models/base/colour_role.hpp"
#include "gui/models/timeline/row.hpp"

namespace foreshard::gui {

enum class ColourBy : std::uint8_t { phase, unit, operators, cost_source, kCount };

// A colour without a theme.
struct Fill {
  bool is_unit = false;
  EventColour colour;  // where it is not a unit's
  double depth = 0;    // of the unit, 0 to 1
  bool is_odd = false;
};

using CategoryId = std::uint8_t;

class Colouring {
 public:
  Colouring(const traces::Trace& trace, ColourBy by);

  ColourBy by() const { return by_; }
  CategoryId category(const Row& row, std::size_t item) const;
  const Fill& fill(CategoryId category) const { return fills_[category]; }
  // Units in the order of their first use, the root left out.
  const std::vector<traces::StringId>& units() const { return units_; }
  Fill unit_fill(traces::StringId unit) const;

 private:
  CategoryId of_unit(traces::StringId unit) const;
  CategoryId add(const Fill& fill);

  const traces::Trace* trace_;
  ColourBy by_;
  std::vector<Fill> fills_;
  std::vector<traces::StringId> units_;
  std::vector<CategoryId> of_unit_;                         // by string
  std::unordered_map<std::uint64_t, CategoryId> of_event_;  // by name and phase
  std::vector<CategoryId> of_phase_;                        // by string
  std::array<CategoryId, static_cast<std::size_t>(CostSource::kCount)> of_source_{};
  CategoryId exposed_ = 0;
};

}  // namespace foreshard::gui
