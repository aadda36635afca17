#include "gui/views/what_if/sweep_marks.hpp"

#include <cmath>
#include <numbers>

#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr double kRadius = 4.5, kLine = 18, kGap = 16, kTextLeft = 10;

// Corners at equal angles, the first one above the centre; every second one `inner` of the way out.
QPolygonF corners(QPointF centre, int count, double radius, double turn = 0, double inner = 1) {
  QPolygonF shape;
  for (int n = 0; n < count; ++n) {
    const double angle = 2 * std::numbers::pi * n / count + turn;
    const double r = n % 2 == 0 ? radius : radius * inner;
    shape << centre + QPointF(r * std::sin(angle), -r * std::cos(angle));
  }
  return shape;
}

QPolygonF plus(QPointF centre) {
  constexpr double out = 5, in = 1.8;
  return QPolygonF({{-in, -out},
                    {in, -out},
                    {in, -in},
                    {out, -in},
                    {out, in},
                    {in, in},
                    {in, out},
                    {-in, out},
                    {-in, in},
                    {-out, in},
                    {-out, -in},
                    {-in, -in}})
      .translated(centre);
}

}  // namespace

void draw_sweep_mark(QPainter& painter, QPointF centre, std::size_t value, bool is_filled) {
  constexpr double half_turn = std::numbers::pi;
  painter.setPen(QPen(theme()[Role::text2], 1.4));
  painter.setBrush(theme()[is_filled ? Role::text2 : Role::canvas]);
  switch (value % kSweepShapes) {
    case 0: painter.drawEllipse(centre, kRadius, kRadius); break;
    case 1: painter.drawPolygon(corners(centre + QPointF(0, 1), 3, kRadius + 1.5)); break;
    case 2: painter.drawRect(QRectF(centre.x() - 4, centre.y() - 4, 8, 8)); break;
    case 3: painter.drawPolygon(corners(centre, 4, kRadius + 1)); break;
    case 4:
      painter.drawPolygon(corners(centre - QPointF(0, 1), 3, kRadius + 1.5, half_turn));
      break;
    case 5: painter.drawPolygon(plus(centre)); break;
    case 6: painter.drawPolygon(corners(centre, 10, kRadius + 2, 0, 0.45)); break;
    default: painter.drawRect(QRectF(centre.x() - 2, centre.y() - 6, 4, 12));
  }
}

SweepLegend::SweepLegend(const QStringList& values, QPointF top_left, double width) {
  const QFont font = gui::font(Text::secondary);
  QPointF at = top_left;
  for (const QString& value : values) {
    const double room = kTextLeft + kRadius + figure_width(font, value) + kGap;
    if (at.x() > top_left.x() && at.x() + room - kGap > top_left.x() + width) {
      at = {top_left.x(), at.y() + kLine};
    }
    entries_.push_back({at + QPointF(6, kLine / 2), value});
    at.rx() += room;
  }
  if (!entries_.empty()) height_ = at.y() + kLine - top_left.y();
}

void SweepLegend::paint(QPainter& painter) const {
  painter.setFont(gui::font(Text::secondary));
  for (std::size_t n = 0; n < entries_.size(); ++n) {
    const auto& [mark, text] = entries_[n];
    draw_sweep_mark(painter, mark, n, true);
    painter.setPen(theme()[Role::text2]);
    draw_figure(painter, QRectF(mark.x() + kTextLeft, mark.y() - kLine / 2, 0, kLine),
                Qt::AlignLeft, text);
  }
}

}  // namespace foreshard::gui
