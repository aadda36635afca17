#include "gui/views/shell/view_tabs.hpp"

#include <QKeyEvent>
#include <QMouseEvent>
#include <cmath>
#include <utility>

#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr int kTabPadding = 12;
constexpr int kUnderline = 2;

}  // namespace

ViewTabs::ViewTabs(std::vector<QString> titles, QWidget* parent)
    : PaintedWidget(parent), titles_(std::move(titles)) {
  setFocusPolicy(Qt::TabFocus);
  setMouseTracking(true);
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Expanding);
  setAccessibleName(tr("Views"));
}

void ViewTabs::set_current(int tab) {
  current_ = tab;
  setAccessibleDescription(titles_[static_cast<std::size_t>(tab)]);
  update();
}

QSize ViewTabs::sizeHint() const {
  return {static_cast<int>(std::ceil(boxes().back().right())), scaled(43)};
}

std::vector<QRectF> ViewTabs::boxes() const {
  const QFontMetricsF metrics(gui::font(Text::tab));
  std::vector<QRectF> all;
  double left = 0;
  for (const QString& title : titles_) {
    const double width = std::ceil(metrics.horizontalAdvance(title)) + 2 * kTabPadding;
    all.emplace_back(left, 0, width, height());
    left += width;
  }
  return all;
}

int ViewTabs::tab_at(QPointF point) const {
  const std::vector<QRectF> all = boxes();
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (all[n].contains(point)) return static_cast<int>(n);
  }
  return -1;
}

void ViewTabs::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const std::vector<QRectF> all = boxes();
  QFont current_font = gui::font(Text::tab);
  current_font.setWeight(QFont::DemiBold);
  for (std::size_t n = 0; n < all.size(); ++n) {
    const bool is_current = static_cast<int>(n) == current_;
    const bool is_bright = is_current || static_cast<int>(n) == hovered_;
    painter.setFont(is_current ? current_font : gui::font(Text::tab));
    painter.setPen(theme()[is_bright ? Role::text : Role::text2]);
    painter.drawText(all[n], Qt::AlignCenter, titles_[n]);
    if (!is_current) continue;
    painter.fillRect(QRectF(all[n].left() + kTabPadding, height() - kUnderline,
                            all[n].width() - 2 * kTabPadding, kUnderline),
                     theme()[Role::ink]);
  }
  draw_focus(painter, all[static_cast<std::size_t>(current_)].adjusted(4, 8, -4, -8));
}

void ViewTabs::mousePressEvent(QMouseEvent* event) {
  const int tab = tab_at(event->position());
  if (tab >= 0 && event->button() == Qt::LeftButton) Q_EMIT chosen(tab);
}

void ViewTabs::mouseMoveEvent(QMouseEvent* event) {
  const int tab = tab_at(event->position());
  if (tab != std::exchange(hovered_, tab)) update();
}

void ViewTabs::leaveEvent(QEvent*) {
  hovered_ = -1;
  update();
}

void ViewTabs::keyPressEvent(QKeyEvent* event) {
  const int step = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
  const int next = current_ + step;
  if (step == 0) return PaintedWidget::keyPressEvent(event);
  if (next >= 0 && next < static_cast<int>(titles_.size())) Q_EMIT chosen(next);
}

}  // namespace foreshard::gui
