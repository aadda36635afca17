#include "gui/views/memory/memory_legend.hpp"

#include <QPainter>

#include "gui/paint/fonts.hpp"
#include "gui/paint/hatch.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr double kLeft = 16, kTextGap = 6, kApart = 20;

double swatch_width(bool is_hatched) {
  return is_hatched ? 12 : 8;
}

int line_height() {
  return scaled(20);
}

}  // namespace

MemoryLegend::MemoryLegend(QWidget* parent) : PaintedWidget(parent) {
  setAccessibleName(tr("Categories of memory"));
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
}

void MemoryLegend::set_categories(std::vector<MemoryCategory> categories) {
  categories_ = std::move(categories);
  QStringList names;
  for (const MemoryCategory& category : categories_) names << category.name;
  setAccessibleDescription(names.join(QStringLiteral(", ")));
  updateGeometry();
  update();
}

std::vector<MemoryLegend::Entry> MemoryLegend::entries_in(int width) const {
  std::vector<Entry> entries;
  if (categories_.empty()) return entries;
  for (const MemoryCategory& category : categories_) {
    entries.push_back({category.name, category.role, category.is_from_before});
  }
  entries.push_back({tr("reserved, free"), Role::strong_line, true});
  const QFontMetricsF metrics(gui::font(Text::secondary));
  double x = kLeft;
  int line = 0;
  for (Entry& entry : entries) {
    const double length =
        swatch_width(entry.is_hatched) + kTextGap + metrics.horizontalAdvance(entry.name);
    if (x > kLeft && x + length > width - kLeft) {
      x = kLeft;
      ++line;
    }
    entry.left = x;
    entry.line = line;
    x += length + kApart;
  }
  return entries;
}

int MemoryLegend::heightForWidth(int width) const {
  const auto entries = entries_in(width);
  return line_height() * (entries.empty() ? 1 : entries.back().line + 1) + 8;
}

void MemoryLegend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme()[Role::panel]);
  painter.fillRect(QRectF(0, height() - 1, width(), 1), theme()[Role::line]);
  painter.setFont(gui::font(Text::secondary));
  for (const Entry& entry : entries_in(width())) {
    const double top = 4 + entry.line * line_height();
    const QRectF box(entry.left, top + line_height() / 2.0 - 4, swatch_width(entry.is_hatched), 8);
    const QColor colour = theme()[entry.role];
    painter.fillRect(box, entry.is_hatched ? hatch(colour) : QBrush(colour));
    if (entry.is_hatched) {
      painter.setPen(theme()[Role::strong_line]);
      painter.drawRect(box);
    }
    painter.setPen(theme()[Role::text2]);
    painter.drawText(QRectF(box.right() + kTextGap, top, width(), line_height()), Qt::AlignVCenter,
                     entry.name);
  }
}

}  // namespace foreshard::gui
