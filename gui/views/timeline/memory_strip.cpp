#include "gui/views/timeline/memory_strip.hpp"

#include <cmath>

#include "gui/models/base/in_background.hpp"
#include "gui/models/base/units_text.hpp"
#include "gui/models/memory/memory_curves.hpp"
#include "gui/models/memory/rank_memory.hpp"
#include "gui/models/session/sentences.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/labels.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"
#include "gui/paint/time_ticks.hpp"
#include "gui/views/timeline/row_headers.hpp"

namespace foreshard::gui {
namespace {

constexpr int kMemoryHeader = 24, kLeastPlot = 140;  // at the usual size of text

// Without decimals that say nothing: "20 GiB".
QString round_bytes(std::int64_t bytes) {
  const Figure figure = bytes_figure(bytes);
  return QString::number(figure.number.toDouble(), 'g', 4) + QLatin1Char(' ') + figure.unit;
}

void draw_ring(QPainter& painter, QPointF centre) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme()[Role::ink], 1.6));
  painter.setBrush(theme()[Role::canvas]);
  painter.drawEllipse(centre, 3.5, 3.5);
  painter.restore();
}

}  // namespace

MemoryStrip::MemoryStrip(QObject* parent) : QObject(parent) {
  connect(&watcher_, &QFutureWatcherBase::finished, this, &MemoryStrip::take);
}

void MemoryStrip::show(const DocumentPtr& document, int rank) {
  plot_ = {};
  is_busy_ = document != nullptr;
  if (!is_busy_) return watcher_.setFuture({});
  plot_.is_predicted = document->is_predicted();
  title_ = tr("Memory") + of_rank(*document, rank);
  watcher_.setFuture(in_background([document, rank] {
    MemorySource source;
    source.trace = document->trace;
    if (document->run != nullptr) {
      source.prediction =
          std::shared_ptr<const simulator::Prediction>(document->run, &document->run->prediction);
    }
    return Made{memory_curve(document->trace, rank), memory_capacity(source, rank)};
  }));
}

void MemoryStrip::take() {
  if (watcher_.isCanceled() || watcher_.future().resultCount() == 0) return;
  is_busy_ = false;
  const Made made = watcher_.result();
  plot_.curve = made.curve;
  plot_.capacity = made.capacity;
  plot_.clock =
      made.curve->has(MemoryClock::device_time) ? MemoryClock::device_time : MemoryClock::host_time;
  Q_EMIT changed();
}

bool MemoryStrip::is_empty() const {
  return plot_.curve == nullptr || plot_.curve->size() == 0;
}

double MemoryStrip::header_height() const {
  return is_empty() ? 0 : scaled(kMemoryHeader);
}

double MemoryStrip::least_height() const {
  return header_height() + (is_folded_ || is_empty() ? 0 : scaled(kLeastPlot));
}

bool MemoryStrip::has_host_time() const {
  return !is_folded_ && !is_empty() && plot_.clock == MemoryClock::host_time;
}

// Between the clocks that have moments; the order of events has none.
void MemoryStrip::next_clock() {
  if (is_empty()) return;
  const MemoryClock other =
      plot_.clock == MemoryClock::device_time ? MemoryClock::host_time : MemoryClock::device_time;
  if (plot_.curve->has(other)) plot_.clock = other;
}

std::optional<std::int64_t> MemoryStrip::peak_ns() const {
  if (is_empty()) return std::nullopt;
  return plot_.curve->position(plot_.clock, plot_.curve->peak());
}

void MemoryStrip::paint(QPainter& painter, const QRectF& box, double left, const TimeAxis& axis,
                        const Ruler& ruler) const {
  if (is_empty()) return;
  painter.fillRect(box, theme()[Role::canvas]);
  paint_header(painter, QRectF(box.left(), box.top(), box.width(), scaled(kMemoryHeader)), left);
  if (is_folded_) return;
  const QRectF area(left, box.top() + scaled(kMemoryHeader), axis.width(),
                    box.height() - scaled(kMemoryHeader));
  paint_gutter(painter, QRectF(box.left(), area.top(), box.width(), area.height()),
               plot_.is_predicted);
  painter.save();
  painter.setClipRect(area.adjusted(-left, 0, 0, 0), Qt::IntersectClip);
  const double hairline = 1 / painter.device()->devicePixelRatioF();
  for (const Tick& tick : ruler.ticks) {
    if (tick.text.isEmpty()) continue;
    painter.fillRect(QRectF(left + tick.pixel, area.top(), hairline, area.height()),
                     theme()[Role::grid]);
  }
  paint_scale(painter, area);
  painter.setClipRect(area, Qt::IntersectClip);
  plot_.paint_areas(painter, area, axis);
  plot_.paint_reserved_line(painter, area, axis);
  plot_.paint_capacity_line(painter, area);
  painter.restore();
}

void MemoryStrip::paint_figures(QPainter& painter, const QRectF& box, double left,
                                const TimeAxis& axis, std::optional<std::int64_t> cursor) const {
  if (is_empty() || is_folded_) return;
  const QRectF area(left, box.top() + scaled(kMemoryHeader), axis.width(),
                    box.height() - scaled(kMemoryHeader));
  painter.save();
  painter.setClipRect(area, Qt::IntersectClip);
  plot_.paint_labels(painter, area, axis);
  paint_peak(painter, area, axis);
  if (cursor) paint_cursor(painter, area, axis, *cursor);
  painter.restore();
}

void MemoryStrip::paint_header(QPainter& painter, const QRectF& box, double left) const {
  SceneRow header;
  header.kind = SceneRow::Kind::section;
  header.title = title_;
  header.is_open = !is_folded_;
  for (const MemoryCategory& layer : plot_.curve->layers()) {
    header.legend.push_back({layer.name, theme()[layer.role]});
  }
  LegendEntry reserved{tr("reserved"), theme()[Role::ink]};
  reserved.is_line = true;
  header.legend.push_back(reserved);
  header.note =
      tr("clock: %1").arg(plot_.clock == MemoryClock::device_time ? tr("device") : tr("host"));
  paint_section_header(painter, box, left, header);
}

void MemoryStrip::paint_scale(QPainter& painter, const QRectF& area) const {
  const double apart = scaled(50);
  const double hairline = 1 / painter.device()->devicePixelRatioF();
  const auto label = [&](std::int64_t bytes, const QString& text, Role role) {
    const double y = plot_.y_of(bytes, area);
    draw_figure_label(
        painter, QRectF(0, y - scaled(10), area.left() - 12, scaled(20)), Qt::AlignRight, text,
        role == Role::error ? Text::secondary_strong : Text::secondary, theme()[role]);
    return y;
  };
  const double capacity = plot_.capacity ? plot_.y_of(*plot_.capacity, area) : -100;
  for (const std::int64_t bytes :
       byte_ticks(plot_.bytes_at_top(), std::max(1, static_cast<int>(area.height() / apart)))) {
    const double y = plot_.y_of(bytes, area);
    if (bytes == 0 || std::abs(y - capacity) < scaled(18) || y < area.top() + 6) continue;
    label(bytes, round_bytes(bytes), Role::text3);
    painter.fillRect(QRectF(area.left(), std::round(y), area.width(), hairline),
                     theme()[Role::grid]);
  }
  if (plot_.capacity) label(*plot_.capacity, bytes_figure(*plot_.capacity).text(), Role::error);
}

void MemoryStrip::paint_peak(QPainter& painter, const QRectF& area, const TimeAxis& axis) const {
  const std::size_t sample = plot_.curve->peak();
  const double x = area.left() + axis.pixel_of(plot_.curve->position(plot_.clock, sample));
  if (x < area.left() || x > area.right()) return;
  const double y = plot_.y_of(plot_.curve->allocated(sample), area);
  const QString allocated = bytes_figure(plot_.curve->allocated(sample)).text();
  const std::int64_t reserved = plot_.curve->reserved(sample);
  const QString text =
      reserved == 0
          ? tr("Peak  %1 allocated").arg(allocated)
          : tr("Peak  %1 allocated, %2 reserved").arg(allocated, bytes_figure(reserved).text());
  // Above the peak where there is room, else on the side that has more of it.
  constexpr double kAbove = 46, kLeastAbove = 30, kBeside = 16;
  const double top = std::max(area.top() + 4, y - kAbove);
  double centre = x;
  if (y - top < kLeastAbove) {
    const double half = figure_label_width(text, Text::secondary_strong) / 2 + kBeside;
    centre += x - area.left() > area.right() - x ? -half : half;
  } else {
    painter.fillRect(QRectF(x, top + 10, 1, y - top - 10), theme()[Role::ink]);
  }
  draw_pill(painter, centre, top, text, theme()[Role::ink], theme()[Role::canvas], area.left() + 4,
            area.right() - 4);
  draw_ring(painter, {x, y});
}

void MemoryStrip::paint_cursor(QPainter& painter, const QRectF& area, const TimeAxis& axis,
                               std::int64_t cursor) const {
  const auto sample = plot_.curve->sample_at(plot_.clock, cursor);
  const double x = area.left() + axis.pixel_of(cursor);
  if (!sample || x < area.left() || x > area.right()) return;
  const std::int64_t bytes = plot_.curve->allocated(*sample);
  const double y = plot_.y_of(bytes, area);
  const QString text = bytes_figure(bytes).text();
  const double half = figure_label_width(text, Text::secondary_strong) / 2 + 16;
  draw_pill(painter, x - half, std::max(area.top() + 4, y - 26), text, theme()[Role::ink],
            theme()[Role::canvas], area.left() + 4, area.right() - 4);
  draw_ring(painter, {x, y});
}

}  // namespace foreshard::gui
