// The answer above a view in words: a mark of state, a headline that begins in bold, and below it
// why. Where it is narrow one of the two takes a second line; what is too long even so is in the
// tooltip.
// A control, such as a choice of clocks, may stand at its right end, as wide as an inspector.
#pragma once

#include <QStringList>
#include <QTimer>
#include <optional>

#include "gui/models/base/colour_role.hpp"
#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

// A line along the bottom of its parent while an answer is awaited for long: a stretch of it that
// moves from left to right, or, where less motion is wanted, all of it. It takes no input.
class ProgressHairline : public PaintedWidget {
  Q_OBJECT
 public:
  static constexpr int kDelayMs = 200;  // answers that come sooner need no sign

  explicit ProgressHairline(QWidget* parent);

  // It appears after a while and stays as long as something is awaited.
  void set_awaiting(bool awaits);

 protected:
  bool eventFilter(QObject* parent, QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  void appear();
  void follow_parent();

  QTimer delay_, motion_;
  double place_ = 0;  // of the stretch's left end: 0 to 1
};

struct Sentence {
  Role state = Role::ok;  // ok, warn or error
  QString lead;           // bold: "The step fits:"
  QString text;           // "peak 57.27 GiB reserved of 79.19 GiB, 21.92 GiB to spare."
  QString detail{};       // the second line
  std::optional<Role> detail_state{};  // a mark before it: warn, where it warns
};

class SentenceStrip : public PaintedWidget {
  Q_OBJECT
 public:
  explicit SentenceStrip(QWidget* parent = nullptr);

  void set_sentence(Sentence sentence);
  const Sentence& sentence() const { return sentence_; }
  void set_aside(QWidget* control);  // takes it
  void set_stale(bool is_stale);
  void set_awaiting(bool awaits);  // another answer: a line of progress, once that takes long

  struct Lines {
    QStringList headline, detail;
  };
  Lines lines() const;

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  double text_right() const;

  Sentence sentence_;
  QWidget* aside_ = nullptr;
  ProgressHairline* progress_;
  bool is_stale_ = false;
};

}  // namespace foreshard::gui
