#include "gui/views/base/ruler.hpp"

#include <algorithm>
#include <cmath>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/labels.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr double kHandleWidth = 6;
constexpr double kReach = 5;  // from the middle of what is taken hold of
constexpr double kFlagWidth = 14;

QColor with_alpha(QColor colour, double alpha) {
  colour.setAlphaF(static_cast<float>(alpha));
  return colour;
}

void fill_line(QPainter& painter, double x, double top, double bottom, QColor colour) {
  const double hairline = 1 / painter.device()->devicePixelRatioF();
  painter.fillRect(QRectF(x, top, hairline, bottom - top), colour);
}

// Where the pills of the cursor and the range and the marks' flags stand in place of ticks.
std::vector<std::pair<double, double>> covered(const Ruler& ruler, const QRectF& pill) {
  constexpr double kGap = 4;
  std::vector<std::pair<double, double>> spans{{pill.left() - kGap, pill.right() + kGap}};
  if (const auto& range = ruler.range) {
    const double from = std::max(ruler.grid.x(range->start_ns), 0.0);
    const double to = std::min(ruler.grid.x(range->end_ns), ruler.width);
    spans.emplace_back(from - kHandleWidth, to + kHandleWidth);
  }
  for (const auto& mark : ruler.marks) {
    if (mark) spans.emplace_back(ruler.grid.x(*mark), ruler.grid.x(*mark) + kFlagWidth);
  }
  return spans;
}

void paint_ticks(QPainter& painter, const QRectF& lanes, const Ruler& ruler, const QRectF& pill) {
  const auto spans = covered(ruler, pill.translated(-lanes.left(), 0));
  for (const Tick& tick : ruler.ticks) {
    const double x = lanes.left() + tick.pixel;
    const bool is_large = !tick.text.isEmpty();
    fill_line(painter, x, lanes.bottom() - (is_large ? 6 : 3), lanes.bottom(),
              theme()[is_large ? Role::text3 : Role::strong_line]);
    const double half = is_large ? figure_label_width(tick.text, Text::secondary) / 2 : 0;
    const bool is_covered = std::any_of(spans.begin(), spans.end(), [&](const auto& span) {
      return tick.pixel + half > span.first && tick.pixel - half < span.second;
    });
    if (!is_large || is_covered) continue;
    const double centre = std::clamp(x, lanes.left() + half + 2, lanes.right() - half - 2);
    draw_figure_label(painter,
                      QRectF(centre - half - 2, lanes.top(), 2 * half + 4, lanes.height() - 4),
                      Qt::AlignHCenter, tick.text, Text::secondary, theme()[Role::text2]);
  }
}

void paint_range(QPainter& painter, const QRectF& lanes, const Ruler& ruler,
                 const traces::Interval& range) {
  const QColor blue = theme()[Role::focus];
  const double start = lanes.left() + ruler.grid.x(range.start_ns);
  const double end = lanes.left() + ruler.grid.x(range.end_ns);
  const double from = std::max(start, lanes.left()), to = std::min(end, lanes.right());
  if (from > lanes.right() || to < lanes.left()) return;
  const double middle = std::round(lanes.center().y());
  painter.fillRect(QRectF(from, middle, to - from, 1), blue);
  for (const double x : {start, end}) {
    painter.fillRect(
        QRectF(x - kHandleWidth / 2, lanes.top() + 5, kHandleWidth, lanes.height() - 10), blue);
  }
  const QString length = time_figure(static_cast<double>(range.end_ns - range.start_ns)).text();
  if (to - from > figure_label_width(length, Text::secondary_strong) + 32) {
    draw_pill(painter, (from + to) / 2, lanes.top() + 2, length, blue, theme()[Role::canvas], from,
              to);
  }
}

void paint_marks(QPainter& painter, const QRectF& lanes, const Ruler& ruler,
                 const std::vector<std::optional<std::int64_t>>& marks) {
  for (std::size_t n = 0; n < marks.size(); ++n) {
    if (!marks[n]) continue;
    const QRectF flag(lanes.left() + ruler.grid.x(*marks[n]), lanes.top(), kFlagWidth, 13);
    painter.fillRect(flag, theme()[Role::focus]);
    draw_label(painter, flag, Qt::AlignHCenter, QString::number(n + 1), Text::tick,
               theme()[Role::canvas]);
  }
}

}  // namespace

void Ruler::add_times() {
  const double ns_per_pixel = grid.ns_per_pixel * grid.ratio;
  const std::int64_t start = grid.ns(grid.first);
  ticks = time_ticks(start, origin_ns, ns_per_pixel, width);
  for (Tick& tick : ticks) tick.pixel = grid.x(start + std::lround(tick.pixel * ns_per_pixel));
}

RulerHit hit_ruler(const Ruler& ruler, double x) {
  for (std::size_t n = 0; n < ruler.marks.size(); ++n) {
    if (!ruler.marks[n]) continue;
    const double at = ruler.grid.x(*ruler.marks[n]);
    if (x >= at - 2 && x <= at + kFlagWidth) return {RulerPart::mark, n};
  }
  if (const auto& range = ruler.range) {
    const double to_start = std::abs(x - ruler.grid.x(range->start_ns));
    const double to_end = std::abs(x - ruler.grid.x(range->end_ns));
    if (std::min(to_start, to_end) <= kReach) {
      return {to_start < to_end ? RulerPart::range_start : RulerPart::range_end, 0};
    }
  }
  return {};
}

void paint_ruler(QPainter& painter, const QRectF& box, double left, const Ruler& ruler) {
  painter.fillRect(box, theme()[Role::panel]);
  const double hairline = 1 / painter.device()->devicePixelRatioF();
  painter.fillRect(QRectF(box.left(), box.bottom() - hairline, box.width(), hairline),
                   theme()[Role::line]);
  const QRectF header(16, box.top(), left - 24, box.height());
  draw_label(painter, header, Qt::AlignLeft, ruler.title, Text::secondary_strong,
             theme()[Role::text]);
  const double title_width = label_width(ruler.title, Text::secondary_strong);
  draw_label(painter, header.adjusted(title_width + 8, 0, 0, 0), Qt::AlignLeft,
             elided_label(ruler.note, Text::secondary, header.width() - title_width - 8),
             Text::secondary, theme()[Role::text3]);

  const QRectF lanes(left, box.top(), ruler.width, box.height());
  painter.save();
  painter.setClipRect(lanes, Qt::IntersectClip);
  const double x = ruler.cursor ? ruler.grid.x(*ruler.cursor) : -1;
  const bool has_cursor = x >= 0 && x <= ruler.width;
  const QRectF pill = has_cursor
                          ? pill_box(left + x, box.top() + 2, ruler.cursor_text, left, box.right())
                          : QRectF();
  paint_ticks(painter, lanes, ruler, pill);
  if (ruler.range) paint_range(painter, lanes, ruler, *ruler.range);
  paint_marks(painter, lanes, ruler, ruler.marks);
  painter.restore();
  if (!has_cursor) return;
  draw_pill(painter, left + x, box.top() + 2, ruler.cursor_text, theme()[Role::ink],
            theme()[Role::canvas], left, box.right());
}

void paint_time_lines(QPainter& painter, const QRectF& lanes, const Ruler& ruler) {
  painter.save();
  painter.setClipRect(lanes, Qt::IntersectClip);
  const QColor blue = theme()[Role::focus];
  if (const auto& range = ruler.range) {
    const double from = std::clamp(ruler.grid.x(range->start_ns), -8.0, lanes.width() + 8);
    const double to = std::clamp(ruler.grid.x(range->end_ns), -8.0, lanes.width() + 8);
    painter.fillRect(QRectF(lanes.left() + from, lanes.top(), to - from, lanes.height()),
                     with_alpha(blue, 0.09));
    fill_line(painter, lanes.left() + from, lanes.top(), lanes.bottom(), blue);
    fill_line(painter, lanes.left() + to, lanes.top(), lanes.bottom(), blue);
  }
  const auto line_at = [&](std::optional<std::int64_t> ns, QColor colour) {
    const double x = ns ? ruler.grid.x(*ns) : -1;
    if (x >= 0 && x <= lanes.width()) {
      fill_line(painter, lanes.left() + x, lanes.top(), lanes.bottom(), colour);
    }
  };
  for (const auto& mark : ruler.marks) line_at(mark, blue);
  line_at(ruler.cursor, theme()[Role::ink]);
  painter.restore();
}

}  // namespace foreshard::gui
