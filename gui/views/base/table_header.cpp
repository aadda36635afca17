#include "gui/views/base/table_header.hpp"

#include <QPainter>
#include <cmath>

#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr int kSortRoom = 12;  // for the triangle

void draw_sort_mark(QPainter& painter, QPointF centre, bool is_ascending) {
  const double tip = is_ascending ? -2.5 : 2.5;
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme()[Role::text2]);
  painter.drawPolygon(QPolygonF(
      {centre + QPointF(-3.5, -tip), centre + QPointF(3.5, -tip), centre + QPointF(0, tip)}));
}

}  // namespace

TableHeader::TableHeader(QWidget* parent) : QHeaderView(Qt::Horizontal, parent) {
  setHighlightSections(false);
  setSectionsClickable(true);
  setResizeContentsPrecision(64);
  setMinimumSectionSize(32);
  connect(&Appearance::instance(), &Appearance::changed, this, [this] {
    updateGeometry();
    viewport()->update();
  });
}

QString TableHeader::title(int section) const {
  return model() == nullptr ? QString() : model()->headerData(section, orientation()).toString();
}

QSize TableHeader::sizeHint() const {
  return {100, scaled(26)};
}

QSize TableHeader::sectionSizeFromContents(int section) const {
  const double width = QFontMetricsF(gui::font(Text::secondary)).horizontalAdvance(title(section));
  return {static_cast<int>(std::ceil(width)) + 2 * kCellMargin + kSortRoom, sizeHint().height()};
}

void TableHeader::paintSection(QPainter* painter, const QRect& rect, int section) const {
  painter->save();
  painter->fillRect(rect, theme()[Role::canvas]);
  painter->setPen(QPen(theme()[Role::line], 0));
  painter->drawLine(rect.bottomLeft(), rect.bottomRight());
  const auto alignment =
      Qt::Alignment(model()->headerData(section, orientation(), Qt::TextAlignmentRole).toInt());
  const bool is_right = alignment & Qt::AlignRight;
  const QRectF box = QRectF(rect).adjusted(kCellMargin, 0, -kCellMargin, 0);
  const bool is_sorted = isSortIndicatorShown() && sortIndicatorSection() == section;
  painter->setFont(gui::font(Text::secondary));
  painter->setPen(theme()[is_sorted ? Role::text2 : Role::text3]);
  painter->drawText(
      box, static_cast<int>((is_right ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter),
      title(section));
  if (is_sorted) {
    const double words = QFontMetricsF(painter->font()).horizontalAdvance(title(section)) + 8;
    const double x = is_right ? box.right() - words : box.left() + words;
    draw_sort_mark(*painter, {x, box.center().y()}, sortIndicatorOrder() == Qt::AscendingOrder);
  }
  painter->restore();
}

}  // namespace foreshard::gui
