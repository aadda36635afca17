#include "gui/views/memory/memory_legend.hpp"

#include <QPainter>

#include "gui/paint/fonts.hpp"
#include "gui/paint/hatch.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {

MemoryLegend::MemoryLegend(QWidget* parent) : PaintedWidget(parent) {
  setAccessibleName(tr("Categories of memory"));
  setFixedHeight(28);
}

void MemoryLegend::set_categories(std::vector<MemoryCategory> categories) {
  categories_ = std::move(categories);
  QStringList names;
  for (const MemoryCategory& category : categories_) names << category.name;
  setAccessibleDescription(names.join(QStringLiteral(", ")));
  update();
}

void MemoryLegend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme()[Role::panel]);
  painter.fillRect(QRectF(0, height() - 1, width(), 1), theme()[Role::line]);
  if (categories_.empty()) return;
  painter.setFont(gui::font(Text::secondary));
  const QFontMetricsF metrics(painter.font());
  const double middle = height() / 2.0;
  double x = 16;
  const auto entry = [&](const QString& name, const QBrush& fill, bool is_framed) {
    const double length = metrics.horizontalAdvance(name);
    if (x + length + 18 > width()) return;
    const QRectF box(x, middle - 4, is_framed ? 12 : 8, 8);
    painter.fillRect(box, fill);
    if (is_framed) {
      painter.setPen(theme()[Role::strong_line]);
      painter.drawRect(box);
    }
    painter.setPen(theme()[Role::text2]);
    painter.drawText(QRectF(box.right() + 6, 0, length + 2, height()), Qt::AlignVCenter, name);
    x = box.right() + 6 + length + 20;
  };
  for (const MemoryCategory& category : categories_) {
    const QColor colour = theme()[category.role];
    entry(category.name, category.is_from_before ? hatch(colour) : QBrush(colour),
          category.is_from_before);
  }
  entry(tr("reserved, free"), hatch(theme()[Role::strong_line]), true);
}

}  // namespace foreshard::gui
