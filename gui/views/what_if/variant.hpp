// A variant as plots and tables show it: the present settings, or a pin. Hues mean data, so
// variants are greys told apart by letter and dash.
#pragma once

#include <QPainter>
#include <vector>

#include "gui/models/what_if/what_if.hpp"
#include "gui/paint/step_line.hpp"

namespace foreshard::gui {

struct Variant {
  QString letter;  // "Now", "A"
  QString name;
  OutcomePtr outcome;
  int place = 0;  // 0: now, then the pins
};

// The present answer first, where there is one.
std::vector<Variant> variants_of(const WhatIf& what_if);

StepPen pen_of(const Variant& variant);
constexpr double kBadgeHeight = 18;
double badge_width(const QString& letter);
void draw_badge(QPainter& painter, QPointF centre, const Variant& variant);
// A title and, in grey, what it is about, on one line from the left.
void draw_heading(QPainter& painter, QPointF baseline, const QString& title, const QString& about);

}  // namespace foreshard::gui
