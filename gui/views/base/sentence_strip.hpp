// The answer above a view in words: a mark of state, a headline that begins in bold, and below it
// why. Where it is narrow one of the two takes a second line; what is too long even so is in the
// tooltip.
// A control, such as a choice of clocks, may stand at its right end, 320 wide.
#pragma once

#include <QStringList>
#include <optional>

#include "gui/models/base/colour_role.hpp"
#include "gui/views/base/painted_widget.hpp"
#include "gui/views/base/progress_hairline.hpp"

namespace foreshard::gui {

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
