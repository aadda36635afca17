// wrap.modules as a tree of the model's modules with boxes to check: each that is checked is a unit
// of its own. Decoder layers stand for all layers, as `model.layers.*` does. Below it the value as
// a plan file spells it, which can be typed for what the tree cannot say: lists that share a unit.
#pragma once

#include <QLineEdit>
#include <QTreeWidget>

#include "gui/views/what_if/value_editor.hpp"

namespace foreshard::gui {

class ModuleEditor : public ValueEditor {
  Q_OBJECT
 public:
  ModuleEditor(const PlanControl& control, QWidget* parent);

  void show_value(const WhatIfSettings& settings) override;
  bool takes_whole_row() const override { return true; }
  QTreeWidget& tree() const { return *tree_; }

 private:
  void build(const WhatIfSettings& settings);
  void tick(const std::string& value);
  std::string checked() const;

  const PlanControl& control_;
  LlamaConfig model_;  // whose modules the tree has
  std::string value_;
  QTreeWidget* tree_;
  QLineEdit* line_;
};

}  // namespace foreshard::gui
