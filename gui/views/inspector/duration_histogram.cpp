#include "gui/views/inspector/duration_histogram.hpp"

#include <QKeyEvent>
#include <QMouseEvent>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr double kSideMargin = 8;
constexpr int kBrushAlpha = 36;

}  // namespace

DurationHistogram::DurationHistogram(QWidget* parent) : PaintedWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Histogram of durations"));
  setCursor(Qt::CrossCursor);
}

void DurationHistogram::set_bins(std::vector<DurationBin> bins) {
  bins_ = std::move(bins);
  update();
}

void DurationHistogram::set_brush(std::optional<DurationRange> brush) {
  brush_ = brush;
  update();
}

QSize DurationHistogram::sizeHint() const {
  return {280, scaled(120)};
}

QRectF DurationHistogram::plot() const {
  return {kSideMargin, 8.0, width() - 2 * kSideMargin, height() - 8.0 - scaled(20)};
}

double DurationHistogram::ns_at(double bin) const {
  const auto whole = static_cast<std::size_t>(std::max(bin, 0.0));
  return static_cast<double>(whole < bins_.size() ? bins_[whole].from_ns : bins_.back().to_ns);
}

double DurationHistogram::bin_of(double ns) const {
  const auto bin = std::upper_bound(
      bins_.begin(), bins_.end(), ns,
      [](double value, const auto& one) { return value < static_cast<double>(one.to_ns); });
  if (bin == bins_.end()) return bin_count();
  const auto from = static_cast<double>(bin->from_ns), to = static_cast<double>(bin->to_ns);
  const double into = to > from ? std::clamp((ns - from) / (to - from), 0.0, 1.0) : 0;
  return static_cast<double>(bin - bins_.begin()) + into;
}

double DurationHistogram::bin_at(double x) const {
  const double share = std::clamp((x - plot().left()) / plot().width(), 0.0, 1.0);
  return share * bin_count();
}

double DurationHistogram::x_of(double ns) const {
  return plot().left() + bin_of(ns) / bin_count() * plot().width();
}

void DurationHistogram::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const QRectF area = plot();
  painter.fillRect(QRectF(area.left(), area.bottom(), area.width(), 1), theme()[Role::line]);
  if (bins_.empty()) return;

  std::size_t most = 1;
  for (const DurationBin& bin : bins_) most = std::max(most, bin.events);
  const double each = area.width() / bin_count();
  for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
    if (bins_[bin].events == 0) continue;
    const double share = static_cast<double>(bins_[bin].events) / static_cast<double>(most);
    const double tall = std::max(2.0, std::round(share * area.height()));
    const double left = std::round(area.left() + static_cast<double>(bin) * each);
    const double wide = std::max(1.0, std::round(each) - 1);
    painter.fillRect(QRectF(left, area.bottom() - tall, wide, tall), theme()[Role::text3]);
  }
  if (brush_) {
    const double left = x_of(brush_->shortest_ns), right = x_of(brush_->longest_ns);
    QColor fill = theme()[Role::focus];
    painter.setPen(QPen(fill, 1));
    fill.setAlpha(kBrushAlpha);
    painter.setBrush(fill);
    painter.drawRect(QRectF(left, area.top() - 4, std::max(1.0, right - left), area.height() + 4));
  }
  painter.setFont(gui::font(Text::tick));
  painter.setPen(theme()[Role::text2]);
  const QRectF line(area.left(), area.bottom() + 2, area.width(), scaled(18));
  draw_figure(painter, line, Qt::AlignLeft, time_figure(ns_at(0)).text());
  draw_figure(painter, line, Qt::AlignRight, time_figure(ns_at(bin_count())).text());
  if (brush_) {
    painter.setPen(theme()[Role::focus]);
    const QString kept =
        tr("%1 to %2")
            .arg(time_figure(brush_->shortest_ns).text(), time_figure(brush_->longest_ns).text());
    draw_figure(painter, line, Qt::AlignHCenter, kept);
  }
  draw_focus(painter, rect());
}

void DurationHistogram::brush_bins(double from, double to) {
  if (bins_.empty()) return;
  brush_ =
      DurationRange{ns_at(std::floor(std::min(from, to))), ns_at(std::ceil(std::max(from, to)))};
  update();
  Q_EMIT brushed();
}

void DurationHistogram::clear_brush() {
  if (!brush_) return;
  brush_.reset();
  update();
  Q_EMIT brushed();
}

void DurationHistogram::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) pressed_bin_ = bin_at(event->position().x());
  is_dragging_ = false;
}

void DurationHistogram::mouseMoveEvent(QMouseEvent* event) {
  if (!pressed_bin_) return;
  const double bin = bin_at(event->position().x());
  is_dragging_ = is_dragging_ || std::abs(bin - *pressed_bin_) > 0.3;
  if (is_dragging_) brush_bins(*pressed_bin_, bin);
}

void DurationHistogram::mouseReleaseEvent(QMouseEvent*) {
  if (pressed_bin_ && !is_dragging_) clear_brush();
  pressed_bin_.reset();
}

void DurationHistogram::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Backspace || event->key() == Qt::Key_Delete) return clear_brush();
  const int step = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
  if (step == 0 || bins_.empty()) return PaintedWidget::keyPressEvent(event);
  double from = brush_ ? std::round(bin_of(brush_->shortest_ns)) : 0;
  double to = brush_ ? std::round(bin_of(brush_->longest_ns)) : bin_count();
  if (event->modifiers() & Qt::ShiftModifier) {
    to = std::clamp(to + step, from + 1, bin_count());
  } else {
    from = std::clamp(from + step, 0.0, to - 1);
  }
  brush_bins(from, to);
}

}  // namespace foreshard::gui
