#include "gui/views/memory/memory_canvas.hpp"

#include <QPainter>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/hatch.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr int kPhases = 20;  // at the usual size of text

// Ticks of an axis that counts events.
std::vector<Tick> event_ticks(const TimeAxis& axis) {
  const double spacing = static_cast<double>(kEventSpacingNs);
  const double first = static_cast<double>(axis.start_ns()) / spacing;
  const double per_pixel = axis.ns_per_pixel() / spacing;
  const double last = first + axis.width() * per_pixel;
  std::vector<Tick> ticks;
  const std::vector<double> round =
      value_ticks(last - first, std::max(static_cast<int>(axis.width() / 110), 1));
  const double step = round.size() < 2 ? 1 : std::max(round[1], 1.0);
  for (double n = std::ceil(std::max(first, 0.0) / step); n * step <= last; ++n) {
    ticks.push_back({(n * step - first) / per_pixel, count_figure(std::llround(n * step)).text()});
  }
  return ticks;
}

void draw_line(QPainter& painter, double x1, double y1, double x2, double y2) {
  painter.drawLine(QPointF(x1, y1), QPointF(x2, y2));
}

}  // namespace

MemoryCanvas::MemoryCanvas(Session& session, QWidget* parent) : TimeCanvas(session, true, parent) {
  setAccessibleName(tr("Memory over time"));
  set_axis(session.axis());
  connect(&Appearance::instance(), &Appearance::changed, this, &MemoryCanvas::lay_out);
}

void MemoryCanvas::show_memory(std::shared_ptr<const RankMemory> memory, MemoryClock clock,
                               TimeAxis& axis, bool is_predicted) {
  if (memory != memory_) {
    sample_.reset();
    since_.reset();
    life_.reset();
  }
  memory_ = std::move(memory);
  plot_.curve = memory_ == nullptr ? nullptr : memory_->curve();
  plot_.clock = clock;
  plot_.is_predicted = is_predicted;
  hide_card();
  set_axis(axis);
  lay_out();
}

void MemoryCanvas::set_capacity(std::optional<std::int64_t> bytes) {
  plot_.capacity = bytes;
  forget_picture();
}

void MemoryCanvas::set_sample(std::optional<std::size_t> sample) {
  sample_ = sample;
  announce_selection(this);
  viewport()->update();
}

void MemoryCanvas::set_since(std::optional<std::size_t> sample) {
  since_ = sample;
  viewport()->update();
}

void MemoryCanvas::set_life(std::optional<BlockLife> life) {
  life_ = life;
  fitted_selection_ = false;
  viewport()->update();
}

double MemoryCanvas::x_of(std::size_t sample) const {
  return gutter() + axis().pixel_of(plot_.curve->position(plot_.clock, sample));
}

std::optional<std::size_t> MemoryCanvas::sample_at(double x) const {
  if (is_empty()) return std::nullopt;
  const double column = std::floor(x - gutter());
  const MemoryColumns shown = plot_.curve->columns(
      plot_.clock, std::vector{axis().ns_at(column), axis().ns_at(column + 1)});
  if (shown.samples[0] == MemoryColumns::kNothing) return 0;
  return shown.samples[0];
}

QString MemoryCanvas::time_text(std::size_t sample) const {
  if (plot_.clock == MemoryClock::event_order) {
    return tr("event %1")
        .arg(count_figure(static_cast<std::int64_t>(plot_.curve->events(sample))).text());
  }
  const std::int64_t since =
      plot_.curve->position(plot_.clock, sample) - session().steady_step().start_ns;
  return time_figure(static_cast<double>(since)).text();
}

std::optional<std::int64_t> MemoryCanvas::place_of(std::int64_t session_ns) const {
  if (has_time()) return session_ns;
  const auto sample = plot_.curve->sample_at(memory_->time_clock(), session_ns);
  return sample ? std::optional(plot_.curve->position(plot_.clock, *sample)) : std::nullopt;
}

std::int64_t MemoryCanvas::moment_at(std::int64_t place) const {
  if (has_time()) return place;
  const std::size_t sample = plot_.curve->sample_at(plot_.clock, place).value_or(0);
  return plot_.curve->position(memory_->time_clock(), sample);
}

std::optional<std::int64_t> MemoryCanvas::cursor_place() const {
  if (is_pointed_at() || !sample_) return TimeCanvas::cursor_place();
  return plot_.curve->position(plot_.clock, *sample_);
}

// The selected block's.
std::optional<traces::Interval> MemoryCanvas::selected_span(bool once_shown) const {
  if (!life_) return TimeCanvas::selected_span(once_shown);
  const auto place = [&](traces::MemoryEventPointer event) {
    return plot_.curve->position(plot_.clock, memory_->sample_of(event));
  };
  return traces::Interval{place(life_->allocation), life_->freed == nullptr
                                                        ? plot_.curve->bounds(plot_.clock).end_ns
                                                        : place(life_->freed)};
}

traces::Interval MemoryCanvas::home() const {
  return has_time() ? TimeCanvas::home() : axis().bounds();
}

traces::Interval MemoryCanvas::whole() const {
  return has_time() ? TimeCanvas::whole() : axis().bounds();
}

void MemoryCanvas::label_ruler(Ruler& ruler) const {
  if (!has_time()) {
    ruler.title = tr("Events");
    ruler.ticks = event_ticks(axis());
    const auto sample =
        ruler.cursor ? plot_.curve->sample_at(plot_.clock, *ruler.cursor) : std::nullopt;
    if (sample) ruler.cursor_text = time_text(*sample);
    return;
  }
  ruler.origin_ns = session().steady_step().start_ns;
  const auto& phases = memory_->phases(plot_.clock);
  const auto at = std::ranges::find_if(
      phases, [&](const PhaseSpan& span) { return span.end > axis().start_ns() && span.step > 0; });
  if (at != phases.end()) ruler.title = tr("Step %1").arg(at->step);
}

std::optional<TimeCanvas::Hovered> MemoryCanvas::hover(QPointF at) const {
  const auto sample = sample_at(at.x());
  return sample ? std::optional(Hovered{card_of(*sample), {}}) : std::nullopt;
}

void MemoryCanvas::click(QPointF at) {
  if (at.x() < gutter()) return;
  if (const auto sample = sample_at(at.x())) Q_EMIT sample_chosen(*sample);
}

// What a moment holds: its time, the levels and what they consist of.
HoverCard MemoryCanvas::card_of(std::size_t sample) const {
  HoverCard card;
  card.title = time_text(sample);
  card.swatch = theme()[Role::ink];
  const auto add = [&](const QString& name, std::int64_t bytes) {
    card.facts.emplace_back(name, bytes_figure(bytes).text());
  };
  add(tr("allocated"), plot_.curve->allocated(sample));
  add(tr("reserved"), plot_.curve->reserved(sample));
  const auto levels = plot_.curve->bytes_by_layer(sample);
  for (std::size_t n = levels.size(); n-- > 0;) {
    if (levels[n] > 0) add(plot_.curve->layers()[n].name, levels[n]);
  }
  return card;
}

int MemoryCanvas::accessible_rows() const {
  return sample_ ? static_cast<int>(plot_.curve->layers().size()) + 1 : 0;
}

AccessibleItem MemoryCanvas::accessible_row(int row) const {
  const QRectF area = plot_area();
  const auto item = [&](const QString& name, std::int64_t from, std::int64_t to) {
    const double top = plot_.y_of(to, area);
    return AccessibleItem{name + QLatin1Char('\t') + bytes_figure(to - from).text(),
                          QRectF(area.left(), top, area.width(), plot_.y_of(from, area) - top)};
  };
  if (row == 0) return item(tr("reserved"), 0, plot_.curve->reserved(*sample_));
  const auto levels = plot_.curve->bytes_by_layer(*sample_);
  const std::size_t layer = levels.size() - static_cast<std::size_t>(row);
  const std::int64_t below = std::accumulate(
      levels.begin(), levels.begin() + static_cast<std::ptrdiff_t>(layer), std::int64_t{0});
  return item(plot_.curve->layers()[layer].name, below, below + levels[layer]);
}

std::optional<AccessibleItem> MemoryCanvas::accessible_selection() const {
  if (!sample_) return std::nullopt;
  const HoverCard card = card_of(*sample_);
  QStringList lines{card.title};
  for (const auto& [name, bytes] : card.facts) lines << name + QStringLiteral("  ") + bytes;
  const QRectF area = plot_area();
  return AccessibleItem{lines.join(QLatin1Char('\n')),
                        {x_of(*sample_) - 1, area.top(), 2, area.height()}};
}

QRectF MemoryCanvas::plot_area() const {
  constexpr double kBelow = 1;
  const double top = ruler_box().bottom() + scaled(kPhases);
  return {double(gutter()), top, std::max(viewport()->width() - gutter(), 1) * 1.0,
          std::max(viewport()->height() - top - kBelow, 1.0)};
}

void MemoryCanvas::paint_below(QPainter& painter, const QRect&, const Ruler& ruler) {
  if (is_empty()) return;
  const QRectF area = plot_area();
  paint_grid(painter, area, ruler);
  draw_phases(painter);
  draw_scale(painter);
  plot_.paint_areas(painter, area, axis());
  plot_.paint_reserved_line(painter, area, axis());
  draw_capacity(painter);
  painter.setPen(theme()[Role::strong_line]);
  draw_line(painter, 0, viewport()->height() - 0.5, viewport()->width(),
            viewport()->height() - 0.5);
}

void MemoryCanvas::paint_above(QPainter& painter, const Ruler&) {
  if (is_pointed_at() && sample_ && x_of(*sample_) >= gutter()) {
    painter.setPen(theme()[Role::text2]);
    const double x = std::floor(x_of(*sample_)) + 0.5;
    draw_line(painter, x, ruler_box().bottom(), x, viewport()->height());
  }
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(theme()[Role::text]);
  for (const auto& [box, name] : phase_names_) painter.drawText(box, Qt::AlignVCenter, name);
  plot_.paint_labels(painter, plot_area(), axis());
  draw_reserved_label(painter);
  draw_life(painter);
  draw_since(painter);
  draw_peak(painter);
  draw_failure(painter);
}

// From its allocation to its end along the bottom; hatched while it waits for other streams.
void MemoryCanvas::draw_life(QPainter& painter) const {
  if (!life_) return;
  constexpr double kBar = 6;
  const QColor colour = theme()[Role::selection];
  const auto x_at = [&](traces::MemoryEventPointer event) {
    return event == nullptr ? viewport()->width() + 1.0 : x_of(memory_->sample_of(event));
  };
  const double from = x_at(life_->allocation), to = x_at(life_->freed);
  const double gone = std::max(life_->completed == nullptr ? to : x_at(life_->completed), to);
  const QRectF area = plot_area();
  const auto bar = [&](double left, double right) {
    return QRectF(QPointF(left, area.bottom() - kBar), QPointF(right, area.bottom())) & area;
  };
  painter.fillRect(bar(from, std::max(to, from + 2)), colour);
  painter.fillRect(bar(to, gone), hatch(colour));
  painter.setPen(colour);
  for (const double x : {from, to}) {
    if (x >= gutter() && x <= viewport()->width())
      draw_line(painter, x, area.top(), x, area.bottom());
  }
}

void MemoryCanvas::draw_since(QPainter& painter) const {
  if (!since_) return;
  const double x = std::floor(x_of(*since_)) + 0.5;
  if (x < gutter() || x > viewport()->width()) return;
  painter.setPen(QPen(theme()[Role::text], 1, Qt::DashLine));
  draw_line(painter, x, ruler_box().bottom(), x, viewport()->height());
  draw_pill(painter, x, ruler_box().bottom(), tr("since %1").arg(time_text(*since_)),
            theme()[Role::panel], theme()[Role::text], gutter(), viewport()->width());
}

void MemoryCanvas::draw_phases(QPainter& painter) {
  phase_names_.clear();
  painter.setFont(gui::font(Text::secondary));
  const QFontMetricsF metrics(painter.font());
  double drawn_to = gutter();  // a phase narrower than a pixel is drawn with its first pixel
  for (const PhaseSpan& span : memory_->phases(plot_.clock)) {
    const double left = std::max<double>(gutter() + axis().pixel_of(span.start), drawn_to);
    const double right = std::min<double>(
        std::max(gutter() + axis().pixel_of(span.end), left + (left > drawn_to ? 1 : 0)),
        viewport()->width());
    if (right - left < 0.5) continue;
    drawn_to = right;
    const QColor colour = theme()[role_of_phase(span.phase)];
    const QRectF box(std::round(left), ruler_box().bottom(), std::round(right) - std::round(left),
                     scaled(kPhases));
    painter.fillRect(box, theme().towards_canvas(colour, 0.7));
    painter.fillRect(QRectF(box.left(), box.bottom() - 2, box.width(), 2), colour);
    const QString name = QString::fromStdString(span.phase);
    if (metrics.horizontalAdvance(name) + 16 > box.width()) continue;
    phase_names_.emplace_back(box.adjusted(8, 0, 0, -1), name);
  }
}

// Figures at the left, with a hairline each.
void MemoryCanvas::draw_scale(QPainter& painter) const {
  const QRectF area = plot_area();
  painter.setFont(gui::font(Text::tick));
  for (const std::int64_t bytes :
       byte_ticks(plot_.bytes_at_top(), static_cast<int>(area.height() / 34))) {
    const double y = std::round(plot_.y_of(bytes, area)) + 0.5;
    painter.setPen(theme()[Role::grid]);
    draw_line(painter, area.left(), y, area.right(), y);
    const bool is_near_capacity =
        plot_.capacity && std::abs(plot_.y_of(*plot_.capacity, area) - y) < 12;
    if (bytes == 0 || is_near_capacity) continue;
    painter.setPen(theme()[Role::text3]);
    draw_figure(painter, QRectF(0, y - 8, gutter() - 10, 16), Qt::AlignRight,
                round_bytes_text(bytes));
  }
}

// Above the right end of the line, unless the capacity's is there.
QRectF MemoryCanvas::reserved_label() const {
  const QRectF area = plot_area();
  const auto edge = axis().ns_at(area.width() - 100);
  const MemoryColumns shown =
      plot_.curve->columns(plot_.clock, std::vector{edge, axis().ns_at(area.width())});
  const double y = plot_.y_of(shown.reserved[0], area);
  const bool is_near_capacity = plot_.capacity && y - plot_.y_of(*plot_.capacity, area) < 34;
  if (shown.reserved[0] <= 0 || is_near_capacity || y - area.top() < 18) return {};
  return {area.right() - 100, y - 19, 92, 16};
}

void MemoryCanvas::draw_reserved_label(QPainter& painter) const {
  const QRectF box = reserved_label();
  if (box.isEmpty()) return;
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(theme()[Role::text]);
  painter.drawText(box, Qt::AlignRight | Qt::AlignVCenter, tr("reserved"));
}

void MemoryCanvas::draw_capacity(QPainter& painter) const {
  if (!plot_.capacity) return;
  const QRectF area = plot_area();
  plot_.paint_capacity_line(painter, area);
  const double y = std::round(plot_.y_of(*plot_.capacity, area)) + 0.5;
  painter.setFont(gui::font(Text::tick));
  painter.setPen(theme()[Role::error]);
  draw_figure(painter, QRectF(0, y - 8, gutter() - 10, 16), Qt::AlignRight,
              bytes_figure(*plot_.capacity).text());
  const double label_top = y - 17 < area.top() ? y + 2 : y - 17;
  painter.drawText(QRectF(area.right() - 160, label_top, 152, 16),
                   Qt::AlignRight | Qt::AlignVCenter, tr("device capacity"));
  const std::int64_t spare = *plot_.capacity - plot_.curve->peak_reserved();
  const double bottom = std::round(plot_.y_of(plot_.curve->peak_reserved(), area)) - 1.5;
  if (spare <= 0 || bottom - y < 16) return;
  const double x = std::round(area.left() + area.width() * 0.44) + 0.5;
  painter.setPen(theme()[Role::text2]);
  draw_line(painter, x, y + 3, x, bottom);
  draw_line(painter, x - 4, y + 3, x + 4, y + 3);
  draw_line(painter, x - 4, bottom, x + 4, bottom);
  painter.setFont(gui::font(Text::secondary));
  draw_figure(painter, QRectF(x + 10, (y + bottom) / 2 - 9, 240, 18), Qt::AlignLeft,
              tr("%1 to spare").arg(bytes_figure(spare).text()));
}

void MemoryCanvas::draw_peak(QPainter& painter) const {
  const std::size_t peak = memory_->peak_near(session().steady_step());
  const double x = x_of(peak);
  if (x < gutter() - 1 || x > viewport()->width()) return;
  const QRectF area = plot_area();
  const double y = plot_.y_of(plot_.curve->allocated(peak), area);
  painter.setFont(gui::font(Text::secondary_strong));
  const QString text = tr("Peak  %1").arg(bytes_figure(plot_.curve->allocated(peak)).text());
  const double half = figure_width(painter.font(), text) / 2 + 8;
  const bool fits_left = x - 2 * half - 14 > gutter();
  // Below the point where a request that failed or the label of what is reserved stands above it.
  const auto failure = plot_.curve->failure();
  const QRectF above(x - 2 * half - 12, y - 28, 4 * half + 24, 28);
  const bool is_below =
      (failure && std::abs(x_of(*failure) - x) < 4 * half) || above.intersects(reserved_label());
  const double top = is_below ? y + 8 : std::max(y - 24, area.top() + 2);
  draw_pill(painter, fits_left ? x - half - 12 : x + half + 12, top, text, theme()[Role::ink],
            theme()[Role::canvas], gutter(), viewport()->width());
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme()[Role::ink], 2));
  painter.setBrush(theme()[Role::canvas]);
  painter.drawEllipse(QPointF(x, y), 4, 4);
  painter.setRenderHint(QPainter::Antialiasing, false);
}

// What could not be had, on top of what is allocated.
void MemoryCanvas::draw_failure(QPainter& painter) const {
  const auto failure = plot_.curve->failure();
  if (!failure) return;
  const double x = std::clamp<double>(x_of(*failure), gutter(), viewport()->width() - 2);
  if (std::abs(x - x_of(*failure)) > 3) return;
  const auto& event = memory_->states().events()[plot_.curve->events(*failure) - 1];
  const QRectF area = plot_area();
  const std::int64_t allocated = plot_.curve->allocated(*failure);
  const double bottom = plot_.y_of(allocated, area);
  const double top = std::max(plot_.y_of(allocated + event.bytes, area), area.top() + 4);
  painter.setPen(QPen(theme()[Role::error], 2));
  draw_line(painter, x, bottom, x, top);
  draw_pill(painter, x - 70, std::max(top - 8, area.top() + 2),
            tr("asks %1").arg(bytes_figure(event.bytes).text()), theme()[Role::error],
            theme().text_on(theme()[Role::error]), gutter(), viewport()->width());
}

}  // namespace foreshard::gui
