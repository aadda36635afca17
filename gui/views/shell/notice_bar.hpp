// Lines under the top bar: what is to be known, and what is asked.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "gui/models/session/part_offer.hpp"
#include "gui/views/base/labels.hpp"

class QHBoxLayout;
class QPushButton;
class QSpinBox;

namespace foreshard::gui {

struct NoticeButton {
  QString text;
  std::function<void()> act;
  bool is_primary = false;
};

// Says one thing and offers what can be done about it: a mark of state, a sentence, buttons, and a
// cross. While a file is read: how far, as a line along its bottom.
class NoticeBar : public PaintedWidget {
  Q_OBJECT
 public:
  explicit NoticeBar(QWidget* parent = nullptr);

  // `state` none: neither good nor bad, such as progress.
  void show_notice(std::optional<Role> state, const QString& text,
                   std::vector<NoticeButton> buttons = {}, bool can_be_closed = true);
  void set_text(const QString& text);
  void set_progress(double share);  // 0 to 1; less than 0: none
  const QString& text() const { return text_->text(); }
  std::optional<Role> state() const { return state_; }
  QPushButton& button(std::size_t number) const { return *buttons_.at(number); }

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void closed();  // by its cross

 protected:
  void add_question(QWidget* question);  // after the sentence
  void paintEvent(QPaintEvent* event) override;

 private:
  std::optional<Role> state_;
  TextLabel* text_;
  double progress_ = -1;
  QHBoxLayout* row_;
  std::vector<QPushButton*> buttons_;
};

// Asks which steps of a recording are to be opened, where all of it would take more memory than is
// free, or where somebody wants some of it only.
class PartBar : public NoticeBar {
  Q_OBJECT
 public:
  explicit PartBar(QWidget* parent = nullptr);

  // Of an offer with steps. Shows itself.
  void ask(const PartOffer& offer);

  QSpinBox& first() const { return *first_; }
  QSpinBox& last() const { return *last_; }
  QPushButton& open_part() const { return button(0); }
  QPushButton& open_all() const { return button(1); }

 Q_SIGNALS:
  void part_wanted(const std::string& path, foreshard::traces::StepRange steps);
  void all_wanted(const std::string& path);
  void answered();  // in whichever way

 private:
  QSpinBox *first_, *last_;
};

}  // namespace foreshard::gui
