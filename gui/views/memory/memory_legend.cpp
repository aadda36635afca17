#include "gui/views/memory/memory_legend.hpp"

#include <QPainter>
#include <algorithm>

#include "gui/paint/fonts.hpp"
#include "gui/paint/hatch.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr double kLeft = 16, kHatched = 12;  // a hatch shows on a wider swatch

LegendItem entry_of(const QString& name, Role role, bool is_hatched) {
  if (!is_hatched) {
    return {name, 8, [role](QPainter& painter, QPointF centre) {
              draw_swatch(painter, centre, theme()[role]);
            }};
  }
  return {name, kHatched, [role](QPainter& painter, QPointF centre) {
            const QRectF box(centre - QPointF(kHatched / 2, 4), QSizeF(kHatched, 8));
            painter.fillRect(box, hatch(theme()[role]));
            painter.setPen(theme()[Role::strong_line]);
            painter.drawRect(box);
          }};
}

}  // namespace

MemoryLegend::MemoryLegend(QWidget* parent) : PaintedWidget(parent) {
  setAccessibleName(tr("Categories of memory"));
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
}

void MemoryLegend::set_categories(const std::vector<MemoryCategory>& categories) {
  entries_.clear();
  QStringList names;
  for (const MemoryCategory& category : categories) {
    names << category.name;
    entries_.push_back(entry_of(category.name, category.role, category.is_from_before));
  }
  if (!entries_.empty()) {
    entries_.push_back(entry_of(tr("reserved, free"), Role::strong_line, true));
  }
  setAccessibleDescription(names.join(QStringLiteral(", ")));
  updateGeometry();
  update();
}

Legend MemoryLegend::legend_in(int width) const {
  return Legend(entries_, {kLeft, 4}, width - 2 * kLeft);
}

int MemoryLegend::heightForWidth(int width) const {
  return std::max(scaled(20), static_cast<int>(legend_in(width).height())) + 8;
}

void MemoryLegend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme()[Role::panel]);
  painter.fillRect(QRectF(0, height() - 1, width(), 1), theme()[Role::line]);
  legend_in(width()).paint(painter);
}

}  // namespace foreshard::gui
