// The controls of the keys of a plan, one kind for each kind of key. Each shows a value as a plan file
// spells it, and says when the user gives it another one.
#pragma once

#include <QSlider>
#include <QStringList>
#include <QWheelEvent>
#include <QWidget>
#include <string>
#include <vector>

#include "gui/models/what_if/plan_control.hpp"
#include "gui/models/what_if/surroundings.hpp"

class QCheckBox;
class QLineEdit;
class QTreeWidget;

namespace foreshard::gui {

class ChoiceList;
class SegmentedControl;

class ValueEditor : public QWidget {
  Q_OBJECT
 public:
  ValueEditor(const PlanControl& control, QWidget* parent) : QWidget(parent), control_(control) {}

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

 protected:
  const PlanControl& control() const { return control_; }
  // A layout with the one widget, named for the key.
  void hold(QWidget& widget, Qt::Alignment alignment = {});

 private:
  const PlanControl& control_;
};

ValueEditor* make_editor(const PlanControl& control, QWidget* parent);

// A slider with words below its notches, such as those of the micro-batch. Where a notch's plan does
// not fit the track is hatched.
class NotchedSlider : public QSlider {
  Q_OBJECT
 public:
  explicit NotchedSlider(QWidget* parent = nullptr);

  void set_notches(const QStringList& notches, int current);  // tells nobody
  // Which notches do not fit, and why; null where it does, or nothing is known.
  void set_misfits(std::vector<QString> reasons);
  QPointF notch_centre(int notch) const;

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {120, sizeHint().height()}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override { event->ignore(); }  // it scrolls the panel
  bool event(QEvent* event) override;

 private:
  int notch_at(double x) const;
  bool is_misfit(int notch) const;
  void paint_track(QPainter& painter) const;
  void paint_labels(QPainter& painter) const;

  QStringList notches_;
  std::vector<QString> misfits_;
};

class SliderEditor : public ValueEditor {
  Q_OBJECT
 public:
  SliderEditor(const PlanControl& control, QWidget* parent);
  void show_value(const WhatIfSettings& settings) override;
  void show_surroundings(const Surroundings* surroundings) override;

 private:
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

  std::vector<ControlChoice> choices_;
  SegmentedControl* segments_ = nullptr;
  ChoiceList* list_ = nullptr;
};

// One box for a key that is on or off; one for each word of a key that is a list of them.
class CheckEditor : public ValueEditor {
  Q_OBJECT
 public:
  CheckEditor(const PlanControl& control, QWidget* parent);
  void show_value(const WhatIfSettings& settings) override;

 private:
  std::string value() const;

  std::vector<QCheckBox*> boxes_;
};

// Takes what is typed when Enter is pressed or the field is left.
class FieldEditor : public ValueEditor {
  Q_OBJECT
 public:
  FieldEditor(const PlanControl& control, QWidget* parent);
  void show_value(const WhatIfSettings& settings) override;

 private:
  std::string value_;
  QLineEdit* line_;
};

// wrap.modules as a tree of the model's modules with boxes to check: each that is checked is a unit
// of its own. Decoder layers stand for all layers, as `model.layers.*` does. Below it the value as
// a plan file spells it, which can be typed for what the tree cannot say: lists that share a unit.
class ModuleEditor : public ValueEditor {
  Q_OBJECT
 public:
  ModuleEditor(const PlanControl& control, QWidget* parent);

  void show_value(const WhatIfSettings& settings) override;
  bool takes_whole_row() const override { return true; }

 private:
  void build(const WhatIfSettings& settings);
  void tick(const std::string& value);
  std::string checked() const;

  LlamaConfig model_;  // whose modules the tree has
  std::string value_;
  QTreeWidget* tree_;
  QLineEdit* line_;
};

}  // namespace foreshard::gui
