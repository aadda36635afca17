#include "gui/views/base/memory_plot.hpp"

#include <QCoreApplication>
#include <QImage>
#include <algorithm>
#include <cmath>

#include "gui/paint/fonts.hpp"
#include "gui/paint/hatch.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/step_line.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr double kRoomAbove = 1.08;  // of the highest figure

// Columns before the first event are left out.
StepColumns steps_of(const MemoryColumns& columns, double left, double width_each,
                     const auto& y_of_column) {
  const auto is_told = [](std::uint32_t sample) { return sample != MemoryColumns::kNothing; };
  const auto first = static_cast<std::size_t>(std::ranges::find_if(columns.samples, is_told) -
                                              columns.samples.begin());
  StepColumns steps{left + width_each * static_cast<double>(first), width_each, {}};
  for (std::size_t n = first; n < columns.size(); ++n) steps.y.push_back(y_of_column(n));
  return steps;
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
  const auto steps = [&](const auto& bytes) {
    return steps_of(shown, area.left(), 1 / ratio,
                    [&](std::size_t n) { return y_of(bytes(n), area); });
  };
  // Under the areas, which hide all but the free part.
  fill_between(painter, steps([&](std::size_t n) { return shown.reserved[n]; }),
               steps([](std::size_t) { return std::int64_t{0}; }),
               hatch(theme()[Role::strong_line]));
  painter.drawImage(area.topLeft(), image);
  for (std::size_t layer = 0; layer < curve->layers().size(); ++layer) {
    if (!curve->layers()[layer].is_from_before) continue;
    const auto top = [&](std::size_t n) { return shown.tops_of(n)[layer]; };
    const auto bottom = [&](std::size_t n) {
      return layer == 0 ? std::int64_t{0} : shown.tops_of(n)[layer - 1];
    };
    fill_between(painter, steps(top), steps(bottom), hatch(theme()[curve->layers()[layer].role]));
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

void MemoryPlot::paint_line(QPainter& painter, const QRectF& area, const TimeAxis& axis,
                            QColor colour, bool of_reserved) const {
  const MemoryColumns& shown = columns(axis, area.width());
  painter.save();
  painter.setClipRect(area, Qt::IntersectClip);
  painter.setRenderHint(QPainter::Antialiasing, false);
  const auto y_of_column = [&](std::size_t n) {
    return std::round(y_of(of_reserved ? shown.reserved[n] : shown.allocated(n), area));
  };
  draw_step_line(painter, steps_of(shown, area.left(), 1, y_of_column),
                 {colour, 2, 4, is_predicted ? 2.5 : 0});
  painter.restore();
}

void MemoryPlot::paint_allocated_line(QPainter& painter, const QRectF& area, const TimeAxis& axis,
                                      QColor colour) const {
  paint_line(painter, area, axis, colour, false);
}

void MemoryPlot::paint_reserved_line(QPainter& painter, const QRectF& area,
                                     const TimeAxis& axis) const {
  paint_line(painter, area, axis, theme()[Role::text], true);
}

void MemoryPlot::paint_capacity_line(QPainter& painter, const QRectF& area) const {
  if (!capacity) return;
  painter.save();
  const double y = std::round(y_of(*capacity, area)) + 0.5;
  draw_limit(painter, {area.left(), y}, {area.right(), y});
  painter.restore();
}

}  // namespace foreshard::gui
