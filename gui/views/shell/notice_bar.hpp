// A line under the top bar that says one thing and offers what can be done about it: a mark of state,
// a sentence, buttons, and a cross. While a file is read: how far, as a line along its bottom.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "gui/models/base/colour_role.hpp"
#include "gui/views/base/painted_widget.hpp"

class QHBoxLayout;
class QPushButton;

namespace foreshard::gui {

struct NoticeButton {
  QString text;
  std::function<void()> act;
};

class NoticeBar : public PaintedWidget {
  Q_OBJECT
 public:
  explicit NoticeBar(QWidget* parent = nullptr);

  // `state` none: neither good nor bad, such as progress.
  void show_notice(std::optional<Role> state, const QString& text,
                   std::vector<NoticeButton> buttons = {}, bool can_be_closed = true);
  void set_text(const QString& text);
  void set_progress(double share);  // 0 to 1; less than 0: none
  const QString& text() const { return text_; }
  std::optional<Role> state() const { return state_; }

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void closed();  // by its cross

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  double text_right() const;

  std::optional<Role> state_;
  QString text_;
  double progress_ = -1;
  QHBoxLayout* row_;
  std::vector<QPushButton*> buttons_;
};

}  // namespace foreshard::gui
