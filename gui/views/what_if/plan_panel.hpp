// The left column: model, machine, ranks and every key of the plan, in sections that fold, and
// below them the buttons to pin, save and reset.
#pragma once

#include <QComboBox>
#include <QPushButton>
#include <QVBoxLayout>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "gui/models/what_if/what_if.hpp"
#include "gui/views/base/labels.hpp"
#include "gui/views/what_if/value_editors.hpp"

namespace foreshard::gui {

// A row of the panel: a label, the control of a key, a dot where the key was changed, and below it
// what is wrong with the value, or doubtful about it. A key that has no effect under the present
// plan is greyed and says what it would need; one as large as a tree is hidden.
class ControlRow : public PaintedWidget {
  Q_OBJECT
 public:
  // Takes the control; above each other where it needs the whole width.
  ControlRow(const QString& label, QWidget* control, bool is_wide, QWidget* parent);

  void set_changed(bool is_changed);
  void set_error(const QString& sentence);    // empty: nothing is wrong
  void set_warning(const QString& sentence);  // empty: nothing is doubtful
  void set_unused(const QString& why);        // empty: it has an effect
  bool is_changed() const { return is_changed_; }
  const QString& error() const { return error_.sentence; }
  const QString& warning() const { return warning_.sentence; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  struct Message {
    Role role;
    QString sentence{};
    Paragraph* shown = nullptr;  // made when it is first needed
  };
  void say(Message& message, const QString& sentence);

  QWidget* control_;
  bool is_wide_;
  TextLabel* label_;
  Message error_{Role::error}, warning_{Role::warn};
  bool is_changed_ = false;
  QString why_unused_;
};

class FoldSection;

class PlanPanel : public QWidget {
  Q_OBJECT
 public:
  explicit PlanPanel(WhatIf& what_if, QWidget* parent = nullptr);

  // By the key of the plan, or "model", "machine", "ranks", "nodes"; the last two share a row.
  ControlRow* row(const std::string& key) const;
  ValueEditor* editor(const std::string& key) const;

  // What changes are counted from, and what else is open and could be in its place; empty: nothing.
  void show_base(const QString& base, const QString& other);
  const QString& base() const { return base_->text(); }
  QPushButton& start_from_other() const { return *start_from_other_; }

 Q_SIGNALS:
  void save_wanted();
  void other_base_wanted();

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void add_head(QVBoxLayout& column);
  void add_run_section(QVBoxLayout& column);
  void add_plan_sections(QVBoxLayout& column);
  void add_buttons(QVBoxLayout& column);
  QComboBox* make_list(const QString& name);
  QWidget* ranks_and_nodes();
  void add_row(FoldSection& section, const QString& label, QWidget* control,
               std::initializer_list<const char*> keys);
  void show_settings();
  void show_run();
  void show_messages();  // what is wrong or doubtful

  WhatIf& what_if_;
  std::map<std::string, ControlRow*> rows_;
  std::map<std::string, ValueEditor*> editors_;
  std::vector<std::pair<const ControlSection*, FoldSection*>> sections_;
  QComboBox *models_ = nullptr, *machines_ = nullptr, *ranks_ = nullptr, *nodes_ = nullptr;
  TextLabel* base_ = nullptr;
  QPushButton* start_from_other_ = nullptr;
  TextLabel* problem_ = nullptr;  // with a key that has no row
  QPushButton *pin_ = nullptr, *reset_ = nullptr;
  TextLabel* changes_ = nullptr;
};

}  // namespace foreshard::gui
