// The control of one key of the plan. It shows a value as a plan file spells it, and says when the
// user gives it another one.
#pragma once

#include <QWidget>
#include <string>

#include "gui/models/what_if/plan_control.hpp"
#include "gui/models/what_if/surroundings.hpp"

namespace foreshard::gui {

class ValueEditor : public QWidget {
  Q_OBJECT
 public:
  using QWidget::QWidget;

  // Of settings; tells nobody.
  virtual void show_value(const WhatIfSettings& settings) = 0;
  // Which values fit the device; null: not known yet.
  virtual void show_surroundings(const Surroundings*) {}
  virtual bool takes_whole_row() const { return false; }  // the label stands above it

 Q_SIGNALS:
  void edited(const std::string& value);
  // Of what is edited between them only the last value counts.
  void drag_began();
  void drag_ended();
};

ValueEditor* make_editor(const PlanControl& control, QWidget* parent);

}  // namespace foreshard::gui
