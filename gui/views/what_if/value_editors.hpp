// A ValueEditor for each kind of control.
#pragma once

#include <QComboBox>
#include <QLineEdit>
#include <vector>

#include "gui/views/base/segmented_control.hpp"
#include "gui/views/what_if/notched_slider.hpp"
#include "gui/views/what_if/toggle_switch.hpp"
#include "gui/views/what_if/value_editor.hpp"

namespace foreshard::gui {

class SliderEditor : public ValueEditor {
  Q_OBJECT
 public:
  SliderEditor(const PlanControl& control, QWidget* parent);
  void show_value(const WhatIfSettings& settings) override;
  void show_surroundings(const Surroundings* surroundings) override;

 private:
  const PlanControl& control_;
  std::vector<ControlChoice> choices_;
  NotchedSlider* slider_;
};

// Few short words as segments, others as a list that opens.
class ChoiceEditor : public ValueEditor {
  Q_OBJECT
 public:
  ChoiceEditor(const PlanControl& control, QWidget* parent);
  void show_value(const WhatIfSettings& settings) override;

 private:
  void choose(int choice);

  const PlanControl& control_;
  std::vector<ControlChoice> choices_;
  SegmentedControl* segments_ = nullptr;
  QComboBox* list_ = nullptr;
};

class ToggleEditor : public ValueEditor {
  Q_OBJECT
 public:
  ToggleEditor(const PlanControl& control, QWidget* parent);
  void show_value(const WhatIfSettings& settings) override;

 private:
  const PlanControl& control_;
  ToggleSwitch* switch_;
};

// Takes what is typed when Enter is pressed or the field is left.
class FieldEditor : public ValueEditor {
  Q_OBJECT
 public:
  FieldEditor(const PlanControl& control, QWidget* parent);
  void show_value(const WhatIfSettings& settings) override;

 private:
  const PlanControl& control_;
  std::string value_;
  QLineEdit* line_;
};

class OutputsEditor : public ValueEditor {
  Q_OBJECT
 public:
  OutputsEditor(const PlanControl& control, QWidget* parent);
  void show_value(const WhatIfSettings& settings) override;

 private:
  const PlanControl& control_;
  std::vector<CheckChip*> chips_;
};

}  // namespace foreshard::gui
