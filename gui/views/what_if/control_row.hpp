// A row of the panel: a label, the control of a key, a dot where the key was changed, and below it
// what is wrong with the value, or doubtful about it. A key that has no effect under the present
// plan is greyed and says what it would need; one as large as a tree is hidden.
#pragma once

#include <QString>

#include "gui/views/base/painted_widget.hpp"
#include "gui/views/base/paragraph.hpp"
#include "gui/views/base/text_label.hpp"

namespace foreshard::gui {

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
  QWidget* control() const { return control_; }

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

}  // namespace foreshard::gui
