#include "gui/views/shell/top_bar.hpp"

#include <QHBoxLayout>
#include <QPushButton>

#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/base/choices.hpp"
#include "gui/views/inspector/search.hpp"
#include "gui/views/shell/document_chips.hpp"

namespace foreshard::gui {
namespace {

constexpr int kMarkWidth = 16;

// The program's mark: three bars, a whole one and shards of it.
void draw_mark(QPainter& painter, const QRectF& box, QColor colour) {
  const double unit = box.width() / 14;
  QColor pale = colour;
  pale.setAlphaF(0.55F);
  painter.fillRect(QRectF(box.left(), box.top(), 4 * unit, box.height()), colour);
  painter.fillRect(QRectF(box.left() + 5 * unit, box.top(), 4 * unit, box.height() * 0.62), colour);
  painter.fillRect(
      QRectF(box.left() + 5 * unit, box.top() + box.height() * 0.7, 4 * unit, box.height() * 0.3),
      pale);
  painter.fillRect(QRectF(box.left() + 10 * unit, box.top(), 4 * unit, box.height() * 0.3), pale);
  painter.fillRect(QRectF(box.left() + 10 * unit, box.top() + box.height() * 0.38, 4 * unit,
                          box.height() * 0.62),
                   colour);
}

}  // namespace

TopBar::TopBar(Session& session, Search& search, const QStringList& views, QWidget* parent)
    : PaintedWidget(parent),
      tabs_(new SegmentedControl(views, this, SegmentedControl::Look::underlined)),
      chips_(new DocumentChips(session, this)),
      search_(new SearchField(search, this)),
      help_(new QPushButton(QStringLiteral("?"), this)) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  tabs_->setAccessibleName(tr("Views"));
  help_->setAccessibleName(tr("Keys"));
  help_->setToolTip(tr("All keys"));
  help_->setFixedWidth(34);
  help_->setFocusPolicy(Qt::TabFocus);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(16 + kMarkWidth, 0, 16, 1);
  row->setSpacing(0);
  row->addWidget(tabs_);
  row->addSpacing(20);
  row->addWidget(chips_, 1);
  row->addSpacing(16);
  row->addWidget(search_);
  row->addSpacing(12);
  row->addWidget(help_);
}

QSize TopBar::sizeHint() const {
  return {1000, scaled(44)};
}

void TopBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme()[Role::panel]);
  painter.fillRect(QRect(0, height() - 1, width(), 1), theme()[Role::line]);
  painter.fillRect(QRect(tabs_->geometry().right() + 10, height() / 2 - 10, 1, 20),
                   theme()[Role::line]);
  draw_mark(painter, QRectF(16, height() / 2.0 - 7, 14, 14), theme()[Role::ink]);
}

}  // namespace foreshard::gui
