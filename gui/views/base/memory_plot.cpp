#include "gui/views/base/memory_plot.hpp"

#include <QCoreApplication>
#include <QImage>
#include <algorithm>
#include <cmath>
#include <functional>

#include "gui/paint/fonts.hpp"
#include "gui/paint/hatch.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr double kRoomAbove = 1.08;  // of the highest figure

// Corners of a line of steps; columns before the first event are left out.
QPolygonF steps_of(const MemoryColumns& columns, double left, double width_each,
                   const std::function<double(std::size_t)>& y_of_column) {
  QPolygonF line;
  for (std::size_t n = 0; n < columns.size(); ++n) {
    if (columns.samples[n] == MemoryColumns::kNothing) continue;
    const double x = left + static_cast<double>(n) * width_each, y = y_of_column(n);
    if (line.isEmpty()) {
      line << QPointF(x, y);
    } else if (line.back().y() != y) {
      line << QPointF(x, line.back().y()) << QPointF(x, y);
    }
  }
  if (!line.isEmpty()) {
    line << QPointF(left + static_cast<double>(columns.size()) * width_each, line.back().y());
  }
  return line;
}

QPen line_pen(QColor colour, double width, bool is_dashed) {
  QPen pen(colour, width);
  pen.setJoinStyle(Qt::MiterJoin);
  if (is_dashed) pen.setDashPattern({4 / width, 2.5 / width});
  pen.setCapStyle(Qt::FlatCap);
  return pen;
}

// Between two lines of steps.
void fill_between(QPainter& painter, const QPolygonF& upper, const QPolygonF& lower,
                  const QBrush& brush) {
  QPolygonF outline = upper;
  for (auto point = lower.rbegin(); point != lower.rend(); ++point) outline << *point;
  painter.setPen(Qt::NoPen);
  painter.setBrush(brush);
  painter.drawPolygon(outline);
}

struct Place {
  double centre_x = 0, centre_y = 0, height = 0;
};

// Where a layer is highest over the width of its label.
Place roomiest(const std::vector<double>& tops, const std::vector<double>& bottoms,
               std::size_t width) {
  constexpr std::size_t kStride = 4;
  Place best;
  for (std::size_t first = 0; first + width <= tops.size(); first += 2 * kStride) {
    double top = tops[first], bottom = bottoms[first];
    for (std::size_t n = first; n < first + width && bottom - top > best.height; n += kStride) {
      top = std::max(top, tops[n]);
      bottom = std::min(bottom, bottoms[n]);
    }
    if (bottom - top <= best.height) continue;
    best = {static_cast<double>(first) + static_cast<double>(width) / 2, (top + bottom) / 2,
            bottom - top};
  }
  return best;
}

}  // namespace

std::int64_t MemoryPlot::bytes_at_top() const {
  if (most_bytes > 0) return most_bytes;
  std::int64_t most = capacity.value_or(0);
  if (curve != nullptr && curve->size() > 0) {
    most = std::max({most, curve->peak_reserved(), curve->allocated(curve->peak())});
  }
  return std::max<std::int64_t>(std::llround(static_cast<double>(most) * kRoomAbove), 1);
}

double MemoryPlot::y_of(std::int64_t bytes, const QRectF& area) const {
  return area.bottom() -
         area.height() * static_cast<double>(bytes) / static_cast<double>(bytes_at_top());
}

const MemoryColumns& MemoryPlot::columns(const TimeAxis& axis, double width,
                                         double pixels_per_column) const {
  const auto count = static_cast<std::size_t>(std::ceil(width / pixels_per_column));
  std::vector<std::int64_t> edges(count + 1);
  for (std::size_t n = 0; n <= count; ++n) {
    edges[n] = axis.ns_at(static_cast<double>(n) * pixels_per_column) - shift_ns;
  }
  if (curve == columns_of_ && clock == columns_clock_ && edges == edges_) return columns_;
  columns_ = curve == nullptr ? MemoryColumns() : curve->columns(clock, edges);
  columns_of_ = curve;
  columns_clock_ = clock;
  edges_ = std::move(edges);
  return columns_;
}

void MemoryPlot::paint_areas(QPainter& painter, const QRectF& area, const TimeAxis& axis) const {
  const double ratio = painter.device()->devicePixelRatioF();
  const MemoryColumns& shown = columns(axis, area.width(), 1 / ratio);
  const int width = static_cast<int>(shown.size());
  const int height = static_cast<int>(std::lround(area.height() * ratio));
  if (width == 0 || height <= 0) return;

  // Device pixels are written directly: a column is a few runs of one colour each.
  QImage image(width, height, QImage::Format_ARGB32_Premultiplied);
  image.fill(Qt::transparent);
  auto* const pixels = reinterpret_cast<QRgb*>(image.bits());
  const auto stride = static_cast<std::size_t>(image.bytesPerLine()) / sizeof(QRgb);
  std::vector<QRgb> colours;
  for (const MemoryCategory& layer : curve->layers()) {
    const QColor colour = theme()[layer.role];
    colours.push_back((layer.is_from_before ? theme().towards_canvas(colour, 0.6) : colour).rgb());
  }
  const double pixels_per_byte = height / static_cast<double>(bytes_at_top());
  for (std::size_t n = 0; n < shown.size(); ++n) {
    int bottom = height;  // of the layer: rows below it are filled
    const auto tops = shown.tops_of(n);
    for (std::size_t layer = 0; layer < tops.size(); ++layer) {
      const int top = std::max(height - static_cast<int>(std::lround(
                                            static_cast<double>(tops[layer]) * pixels_per_byte)),
                               0);
      for (int y = top; y < bottom; ++y)
        pixels[static_cast<std::size_t>(y) * stride + n] = colours[layer];
      bottom = std::min(bottom, top);
    }
  }
  image.setDevicePixelRatio(ratio);

  painter.save();
  painter.setClipRect(area, Qt::IntersectClip);
  painter.setRenderHint(QPainter::Antialiasing, false);
  const auto line_at = [&](const std::function<std::int64_t(std::size_t)>& bytes) {
    return steps_of(shown, area.left(), 1 / ratio,
                    [&](std::size_t n) { return y_of(bytes(n), area); });
  };
  // Under the areas, which hide all but the free part.
  const auto ground = [](std::size_t) { return std::int64_t{0}; };
  fill_between(painter, line_at([&](std::size_t n) { return shown.reserved[n]; }), line_at(ground),
               hatch(theme()[Role::strong_line]));
  painter.drawImage(area.topLeft(), image);
  for (std::size_t layer = 0; layer < curve->layers().size(); ++layer) {
    if (!curve->layers()[layer].is_from_before) continue;
    const auto top = [&](std::size_t n) { return shown.tops_of(n)[layer]; };
    const auto bottom = [&](std::size_t n) { return layer == 0 ? 0 : shown.tops_of(n)[layer - 1]; };
    fill_between(painter, line_at(top), line_at(bottom),
                 hatch(theme()[curve->layers()[layer].role]));
  }
  painter.restore();
}

void MemoryPlot::paint_labels(QPainter& painter, const QRectF& area, const TimeAxis& axis) const {
  const MemoryColumns& shown = columns(axis, area.width());
  painter.save();
  painter.setFont(font(Text::secondary_strong));
  const QFontMetricsF metrics(painter.font());
  std::vector<double> tops(shown.size()), bottoms(shown.size(), area.bottom());
  const auto label = [&](const QString& text, QColor colour) {
    const double width = metrics.horizontalAdvance(text);
    const Place place = roomiest(tops, bottoms, static_cast<std::size_t>(width) + 24);
    if (place.height < metrics.height()) return;
    painter.setPen(colour);
    painter.drawText(QRectF(area.left() + place.centre_x - width / 2 - 1,
                            place.centre_y - metrics.height() / 2, width + 2, metrics.height()),
                     Qt::AlignCenter, text);
  };
  const std::size_t layers = curve == nullptr ? 0 : curve->layers().size();
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (std::size_t n = 0; n < shown.size(); ++n) tops[n] = y_of(shown.tops_of(n)[layer], area);
    const MemoryCategory& category = curve->layers()[layer];
    label(category.name,
          category.is_from_before ? theme()[Role::text] : theme().text_on(theme()[category.role]));
    bottoms = tops;
  }
  for (std::size_t n = 0; n < shown.size(); ++n) tops[n] = y_of(shown.reserved[n], area);
  label(QCoreApplication::translate("MemoryPlot", "reserved, free"), theme()[Role::text2]);
  painter.restore();
}

// As boxes on whole pixels: to stroke a line that goes up and down in every column, in dashes at that,
// takes longer than a frame has.
void MemoryPlot::paint_allocated_line(QPainter& painter, const QRectF& area, const TimeAxis& axis,
                                      QColor colour) const {
  constexpr double kThickness = 2, kDash = 4, kPeriod = 6.5;
  const MemoryColumns& shown = columns(axis, area.width());
  const double dash = is_predicted ? kDash : kPeriod;
  painter.save();
  painter.setClipRect(area, Qt::IntersectClip);
  painter.setRenderHint(QPainter::Antialiasing, false);
  double before = shown.size() > 0 ? y_of(shown.allocated(0), area) : 0;
  for (std::size_t n = 0; n < shown.size(); ++n) {
    const double along = static_cast<double>(n), x = area.left() + along;
    const double y = y_of(shown.allocated(n), area), top = std::min(y, before);
    if (std::fmod(along, kPeriod) < dash) {
      painter.fillRect(QRectF(x, y - kThickness / 2, 1, kThickness), colour);
    }
    const double bottom = std::max(y, before);
    const double piece = is_predicted ? kPeriod : bottom - top;
    for (double at = top; at < bottom; at += piece) {
      painter.fillRect(
          QRectF(x, at, kThickness, std::min(is_predicted ? dash : piece, bottom - at)), colour);
    }
    before = y;
  }
  painter.restore();
}

void MemoryPlot::paint_reserved_line(QPainter& painter, const QRectF& area,
                                     const TimeAxis& axis) const {
  const MemoryColumns& shown = columns(axis, area.width());
  painter.save();
  painter.setClipRect(area, Qt::IntersectClip);
  painter.setPen(line_pen(theme()[Role::text], 1.6, is_predicted));
  painter.drawPolyline(steps_of(shown, area.left(), 1,
                                [&](std::size_t n) { return y_of(shown.reserved[n], area); }));
  painter.restore();
}

void MemoryPlot::paint_capacity_line(QPainter& painter, const QRectF& area) const {
  if (!capacity) return;
  painter.save();
  const double y = std::round(y_of(*capacity, area)) + 0.5;
  draw_limit(painter, {area.left(), y}, {area.right(), y});
  painter.restore();
}

}  // namespace foreshard::gui
