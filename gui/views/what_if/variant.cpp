#include "gui/views/what_if/variant.hpp"

#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

QColor grey_of(int place) {
  if (place == 0) return theme()[Role::ink];
  return theme().towards_canvas(theme()[Role::text2], 0.22 * ((place - 1) % 3));
}

}  // namespace

std::vector<Variant> variants_of(const WhatIf& what_if) {
  std::vector<Variant> variants;
  if (what_if.outcome() != nullptr) {
    const QString name = what_if.name_of(what_if.outcome()->settings);
    variants.push_back({WhatIf::tr("Now"), name, what_if.outcome(), 0});
  }
  int place = 0;
  for (const Pin& pin : what_if.pins()) {
    variants.push_back({pin.letter, pin.name, pin.outcome, ++place});
  }
  return variants;
}

StepPen pen_of(const Variant& variant) {
  StepPen pen{grey_of(variant.place), variant.place == 0 ? 2 : 1.6};
  if (variant.place % 3 == 2) pen.dash = 6, pen.gap = 4;
  if (variant.place % 3 == 0 && variant.place > 0) pen.dash = pen.gap = 3;
  return pen;
}

}  // namespace foreshard::gui
