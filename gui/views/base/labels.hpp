// Words in a view: a line of them, several lines, and what scrolls where there is no room for it.
#pragma once

#include <QLabel>
#include <QString>

#include "gui/models/base/colour_role.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/views/base/painted_widget.hpp"

class QScrollArea;

namespace foreshard::gui {

// A line of text of one of the design's sizes, in a colour role: elided where it does not fit, with
// the whole as its tooltip. Figures in it have fixed digits, so that they stay in place as they
// change.
class TextLabel : public PaintedWidget {
  Q_OBJECT
 public:
  TextLabel(Text size, Role role, QWidget* parent = nullptr);
  TextLabel(Text size, Role role, const QString& text, QWidget* parent = nullptr);

  void set_text(const QString& text);
  const QString& text() const { return text_; }
  void set_role(Role role);
  void set_alignment(Qt::Alignment alignment);  // left (as it begins) or right

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Text size_;
  Role role_;
  Qt::Alignment alignment_ = Qt::AlignLeft;
  QString text_;
};

// Words over several lines, beginning in bold where there is a lead: `Bound by compute. All but
// 0.01 ms of communication is hidden.` In a box of its own where it is what a panel has to say.
class Paragraph : public QLabel {
  Q_OBJECT
 public:
  enum class Frame : std::uint8_t { none, box };
  explicit Paragraph(Frame frame = Frame::none, Role role = Role::text2, QWidget* parent = nullptr);

  void set_sentence(const QString& lead, const QString& text);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void follow_theme();

  Frame frame_;
  Role role_;
};

// `content` in an area that scrolls up and down and has no ground of its own.
QScrollArea* scrolled(QWidget* content);

}  // namespace foreshard::gui
