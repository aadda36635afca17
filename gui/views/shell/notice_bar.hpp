// A line under the top bar that says one thing and offers what can be done about it: a mark of state,
// a sentence, buttons, and a cross. While a file is read: how far, as a line along its bottom.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "gui/models/base/colour_role.hpp"
#include "gui/models/session/part_offer.hpp"
#include "gui/views/base/painted_widget.hpp"

class QHBoxLayout;
class QPushButton;
class QSpinBox;

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

// A line under the top bar that asks which steps of a recording are to be opened, where all of it
// would take more memory than is free, or where somebody wants some of it only.
class TextLabel;

class PartBar : public PaintedWidget {
  Q_OBJECT
 public:
  explicit PartBar(QWidget* parent = nullptr);

  // Of an offer with steps. Shows itself.
  void ask(const PartOffer& offer);

  QSize sizeHint() const override;
  QSpinBox& first() const { return *first_; }
  QSpinBox& last() const { return *last_; }
  QPushButton& open_part() const { return *open_part_; }
  QPushButton& open_all() const { return *open_all_; }

 Q_SIGNALS:
  void part_wanted(const std::string& path, foreshard::traces::StepRange steps);
  void all_wanted(const std::string& path);
  void answered();  // in whichever way

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  PartOffer offer_;
  TextLabel* too_large_;
  QSpinBox *first_, *last_;
  QPushButton *open_part_, *open_all_;
};

}  // namespace foreshard::gui
