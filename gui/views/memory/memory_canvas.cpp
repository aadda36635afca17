#include "gui/views/memory/memory_canvas.hpp"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr double kClick = 4;  // pixels that the mouse may move between press and release
constexpr double kRulerHeight = 24;

}  // namespace

MemoryCanvas::MemoryCanvas(Selection& selection, QWidget* parent)
    : PaintedWidget(parent), selection_(selection) {
  setAccessibleName(tr("Memory over time"));
  setFocusPolicy(Qt::StrongFocus);
  setAttribute(Qt::WA_OpaquePaintEvent);
  connect(&selection_, &Selection::range_changed, this, qOverload<>(&QWidget::update));
  connect(&Appearance::instance(), &Appearance::changed, this, &MemoryCanvas::repaint_all);
}

void MemoryCanvas::show_memory(std::shared_ptr<const RankMemory> memory, MemoryClock clock,
                               TimeAxis* axis, bool is_predicted) {
  if (memory != memory_) {
    sample_.reset();
    since_.reset();
    life_.reset();
  }
  memory_ = std::move(memory);
  plot_.curve = memory_ == nullptr ? nullptr : memory_->curve();
  plot_.clock = clock;
  plot_.is_predicted = is_predicted;
  if (axis_ != axis) {
    disconnect(follows_axis_);
    axis_ = axis;
    follows_axis_ = connect(axis_, &TimeAxis::changed, this, &MemoryCanvas::fit_width);
  }
  fit_width();
}

void MemoryCanvas::set_capacity(std::optional<std::int64_t> bytes) {
  plot_.capacity = bytes;
  repaint_all();
}

void MemoryCanvas::set_sample(std::optional<std::size_t> sample) {
  sample_ = sample;
  announce_selection(this);
  update();
}

void MemoryCanvas::set_since(std::optional<std::size_t> sample) {
  since_ = sample;
  update();
}

void MemoryCanvas::set_life(std::optional<BlockLife> life) {
  life_ = life;
  update();
}

double MemoryCanvas::x_of(std::size_t sample) const {
  return kGutter + axis_->pixel_of(plot_.curve->position(plot_.clock, sample));
}

std::optional<std::size_t> MemoryCanvas::sample_at(double x) const {
  if (memory_ == nullptr || memory_->is_empty()) return std::nullopt;
  const double column = std::floor(x - kGutter);
  const MemoryColumns shown = plot_.curve->columns(
      plot_.clock, std::vector{axis_->ns_at(column), axis_->ns_at(column + 1)});
  if (shown.samples[0] == MemoryColumns::kNothing) return 0;
  return shown.samples[0];
}

QString MemoryCanvas::time_text(std::size_t sample) const {
  if (plot_.clock == MemoryClock::event_order) {
    return tr("event %1")
        .arg(count_figure(static_cast<std::int64_t>(plot_.curve->events(sample))).text());
  }
  const std::int64_t since = plot_.curve->position(plot_.clock, sample) - origin();
  return time_figure(static_cast<double>(since)).text();
}

std::int64_t MemoryCanvas::origin() const {
  return step_.start_ns;
}

void MemoryCanvas::repaint_all() {
  picture_ = QPixmap();
  update();
}

// The window of time is as wide as the view that is shown, whatever hidden ones make of it.
void MemoryCanvas::fit_width() {
  const bool is_free = !std::exchange(is_fitting_, true);
  if (is_free && axis_ != nullptr && isVisible()) axis_->set_width(plot_area().width());
  if (is_free) is_fitting_ = false;
  repaint_all();
}

void MemoryCanvas::resizeEvent(QResizeEvent*) {
  fit_width();
}

void MemoryCanvas::showEvent(QShowEvent* event) {
  PaintedWidget::showEvent(event);
  fit_width();
}

void MemoryCanvas::changeEvent(QEvent* event) {
  PaintedWidget::changeEvent(event);
  repaint_all();
}

// What a pixel shows: its time, the levels and what they consist of.
bool MemoryCanvas::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return PaintedWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const auto sample = help->pos().x() < kGutter ? std::nullopt : sample_at(help->pos().x());
  QToolTip::showText(help->globalPos(), sample ? moment_text(*sample) : QString(), this);
  return true;
}

QString MemoryCanvas::moment_text(std::size_t sample) const {
  QStringList lines{time_text(sample),
                    tr("%1 allocated").arg(bytes_figure(plot_.curve->allocated(sample)).text()),
                    tr("%1 reserved").arg(bytes_figure(plot_.curve->reserved(sample)).text())};
  const auto levels = plot_.curve->bytes_by_layer(sample);
  for (std::size_t n = levels.size(); n-- > 0;) {
    if (levels[n] <= 0) continue;
    lines << plot_.curve->layers()[n].name + QStringLiteral("  ") + bytes_figure(levels[n]).text();
  }
  return lines.join(QLatin1Char('\n'));
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
  const QRectF area = plot_area();
  return AccessibleItem{moment_text(*sample_), {x_of(*sample_) - 1, area.top(), 2, area.height()}};
}

void MemoryCanvas::mousePressEvent(QMouseEvent* event) {
  if (axis_ == nullptr) return;
  pressed_ = last_ = event->position();
  const bool is_range = event->button() == Qt::LeftButton &&
                        plot_.clock != MemoryClock::event_order &&
                        (event->modifiers() & Qt::ShiftModifier || pressed_.y() < kRulerHeight);
  drag_ = is_range ? Drag::range : Drag::pan;
}

void MemoryCanvas::mouseMoveEvent(QMouseEvent* event) {
  const QPointF now = event->position();
  const bool has_moved = std::abs(now.x() - pressed_.x()) >= kClick;
  if (drag_ == Drag::pan && (has_moved || last_ != pressed_)) {
    axis_->pan(last_.x() - now.x());
    last_ = now;
  } else if (drag_ == Drag::range && has_moved) {
    const auto [left, right] = std::minmax({pressed_.x() - kGutter, now.x() - kGutter});
    selection_.set_range(traces::Interval{axis_->ns_at(left), axis_->ns_at(right)});
    last_ = now;
  }
}

void MemoryCanvas::mouseReleaseEvent(QMouseEvent* event) {
  const bool is_click = drag_ != Drag::none && last_ == pressed_;
  drag_ = Drag::none;
  if (!is_click || event->button() != Qt::LeftButton || event->position().x() < kGutter) return;
  if (const auto sample = sample_at(event->position().x())) Q_EMIT sample_chosen(*sample);
}

void MemoryCanvas::mouseDoubleClickEvent(QMouseEvent*) {
  if (axis_ == nullptr) return;
  axis_->show(plot_.clock == MemoryClock::event_order ? everything_ : step_);
}

void MemoryCanvas::wheelEvent(QWheelEvent* event) {
  if (axis_ == nullptr) return;
  const QPointF turn = event->angleDelta();
  if (event->modifiers() & Qt::ControlModifier) {
    axis_->zoom(std::pow(1.2, turn.y() / 120), event->position().x() - kGutter);
  } else {
    const bool is_sideways = event->modifiers() & Qt::ShiftModifier;
    axis_->pan(-(turn.x() + (is_sideways ? turn.y() : 0)));
  }
  event->accept();
}

}  // namespace foreshard::gui
