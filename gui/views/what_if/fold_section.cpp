#include "gui/views/what_if/fold_section.hpp"

#include <QPainter>

#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {

// Checked: open.
class FoldSection::Header : public QAbstractButton {
 public:
  explicit Header(QWidget* parent) : QAbstractButton(parent) {
    setCheckable(true);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  }
  void set_summary(const QString& summary) {
    if (summary == summary_) return;
    summary_ = summary;
    update();
  }
  QSize sizeHint() const override { return {376, 36}; }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    const QRectF box = rect();
    painter.fillRect(QRectF(0, 0, width(), 1), theme()[Role::line]);
    draw_triangle(painter, {20, box.center().y()}, isChecked(), theme()[Role::text2]);
    painter.setFont(gui::font(Text::strong));
    painter.setPen(theme()[Role::text]);
    painter.drawText(box.adjusted(32, 0, -16, 0), Qt::AlignVCenter | Qt::AlignLeft, text());
    painter.setFont(gui::font(Text::secondary));
    painter.setPen(theme()[Role::text3]);
    draw_figure(painter, box.adjusted(140, 0, -16, 0), Qt::AlignRight, summary_);
    if (!hasFocus()) return;
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme()[Role::focus], 2));
    painter.drawRoundedRect(box.adjusted(6, 5, -6, -5), 4, 4);
  }

 private:
  QString summary_;
};

FoldSection::FoldSection(const QString& title, bool is_open, QWidget* parent)
    : QWidget(parent), header_(new Header(this)), body_(new QWidget(this)) {
  header_->setText(title);
  header_->setAccessibleName(title);
  rows_ = new QVBoxLayout(body_);
  rows_->setContentsMargins(0, 0, 0, 10);
  rows_->setSpacing(2);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(header_);
  layout->addWidget(body_);
  connect(header_, &QAbstractButton::toggled, body_, &QWidget::setVisible);
  header_->setChecked(is_open);
  body_->setVisible(is_open);
}

void FoldSection::add_row(QWidget* row) {
  rows_->addWidget(row);
}

void FoldSection::set_summary(const QString& summary) {
  header_->set_summary(summary);
}

void FoldSection::set_open(bool is_open) {
  header_->setChecked(is_open);
}

bool FoldSection::is_open() const {
  return header_->isChecked();
}

}  // namespace foreshard::gui
