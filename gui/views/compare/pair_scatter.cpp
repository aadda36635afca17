#include "gui/views/compare/pair_scatter.hpp"

#include <QMouseEvent>
#include <algorithm>
#include <cmath>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr int kWidth = 288, kLeft = 44, kBottom = 22;
constexpr double kTop = 2, kRightMargin = 2, kBelow = 2;

}  // namespace

PairScatter::PairScatter(QWidget* parent) : PaintedWidget(parent) {
  setAccessibleName(tr("Every pair of this step"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Maximum);
}

void PairScatter::set_comparison(std::shared_ptr<const TraceComparison> comparison) {
  comparison_ = std::move(comparison);
  operator_ = nullptr;
  update();
}

void PairScatter::set_operator(const OperatorPairs* pairs) {
  operator_ = pairs;
  update();
}

QRectF PairScatter::area() const {
  const double left = scaled(kLeft), bottom = scaled(kBottom);
  const double size =
      std::max(std::min(width() - left - kRightMargin, height() - kTop - bottom - kBelow), 20.0);
  return {left, kTop, size, size};
}

QSize PairScatter::sizeHint() const {
  const double side = kWidth - scaled(kLeft) - kRightMargin;
  return {kWidth, static_cast<int>(kTop + side + scaled(kBottom) + kBelow)};
}

QPointF PairScatter::place(const ComparedPair& pair) const {
  const QRectF box = area();
  const PairPlot& plot = comparison_->step.plot;
  return {box.left() + plot.share(pair.baseline_ns) * box.width(),
          box.bottom() - plot.share(pair.candidate_ns) * box.height()};
}

void PairScatter::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const QRectF box = area();
  painter.fillRect(box, theme()[Role::canvas]);
  if (!comparison_) return;
  const TraceComparison& shown = *comparison_;
  const double lowest = shown.step.plot.lowest(), highest = shown.step.plot.highest();
  painter.setFont(gui::font(Text::tick));
  const QFontMetricsF metrics(painter.font());
  double named_to = 0;  // pixels that names of the horizontal axis take
  for (double decade = std::ceil(lowest); decade <= highest; ++decade) {
    const double at = (decade - lowest) / (highest - lowest);
    const double x = std::round(box.left() + at * box.width());
    const double y = std::round(box.bottom() - at * box.height());
    painter.fillRect(QRectF(x, box.top(), 1, box.height()), theme()[Role::grid]);
    painter.fillRect(QRectF(box.left(), y, box.width(), 1), theme()[Role::grid]);
    const double ns = std::pow(10, decade);
    const QString text = ns < 1e3   ? tr("%1 ns").arg(ns)
                         : ns < 1e6 ? tr("%1 us").arg(ns / 1e3)
                         : ns < 1e9 ? tr("%1 ms").arg(ns / 1e6)
                                    : tr("%1 s").arg(ns / 1e9);
    painter.setPen(theme()[Role::text3]);
    painter.drawText(QRectF(0, y - 8, box.left() - 6, 16), Qt::AlignRight | Qt::AlignVCenter, text);
    const double half = metrics.horizontalAdvance(text) / 2;
    if (x - half < named_to + 4) continue;
    named_to = x + half;
    painter.drawText(QRectF(x - 30, box.bottom() + 4, 60, 16), Qt::AlignCenter, text);
  }
  painter.setPen(theme()[Role::strong_line]);
  painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
  painter.setClipRect(box);
  painter.setRenderHint(QPainter::Antialiasing);
  if (shown.band && shown.are_steps_comparable()) {
    // Durations whose prediction is off by no more than the step's may be.
    const auto step = static_cast<double>(shown.whole->candidate_step_ns);
    const double low = std::log10(step / static_cast<double>(shown.band->end_ns));
    const double high = std::log10(step / static_cast<double>(shown.band->start_ns));
    const double pixels = box.height() / (highest - lowest);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme()[Role::line]);
    painter.drawPolygon(QPolygonF({box.bottomLeft() - QPointF(0, low * pixels),
                                   box.topRight() - QPointF(0, low * pixels),
                                   box.topRight() - QPointF(0, high * pixels),
                                   box.bottomLeft() - QPointF(0, high * pixels)}));
  }
  painter.setPen(QPen(theme()[Role::strong_line], 1.6));
  painter.drawLine(box.bottomLeft(), box.topRight());
  painter.setPen(Qt::NoPen);
  for (const ComparedPair& pair : shown.step.seen) {
    painter.setBrush(theme().towards_canvas(theme()[pair.colour], 0.4));
    painter.drawEllipse(place(pair), 2.2, 2.2);
  }
  if (operator_ != nullptr) {
    painter.setPen(QPen(theme()[Role::text], 1));
    for (const ComparedPair& pair : operator_->seen) {
      painter.setBrush(theme()[pair.colour]);
      painter.drawEllipse(place(pair), 3.5, 3.5);
    }
  }
  painter.setPen(theme()[Role::text2]);
  painter.drawText(box.adjusted(6, 4, -6, -4), Qt::AlignLeft | Qt::AlignTop, shown.sides.candidate);
  painter.drawText(box.adjusted(6, 4, -6, -4), Qt::AlignRight | Qt::AlignBottom,
                   shown.sides.baseline);
}

void PairScatter::mousePressEvent(QMouseEvent* event) {
  if (!comparison_) return;
  const ComparedPair* nearest = nullptr;
  double distance = 8;
  for (const ComparedPair& pair : comparison_->step.seen) {
    const double away = (place(pair) - event->position()).manhattanLength();
    if (away >= distance) continue;
    distance = away;
    nearest = &pair;
  }
  if (nearest != nullptr) Q_EMIT pair_chosen(nearest->events.baseline);
}

}  // namespace foreshard::gui
