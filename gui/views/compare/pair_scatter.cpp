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

double decades(std::int64_t ns) {
  return std::log10(static_cast<double>(std::max<std::int64_t>(ns, 1)));
}

}  // namespace

PairScatter::PairScatter(QWidget* parent) : PaintedWidget(parent) {
  setAccessibleName(tr("Every pair of this step"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Maximum);
}

void PairScatter::set_comparison(std::shared_ptr<const TraceComparison> comparison) {
  comparison_ = std::move(comparison);
  lowest_ = 1e9;
  highest_ = 0;
  if (comparison_) {
    for (const ComparedPair& pair : comparison_->step.pairs) {
      lowest_ = std::min({lowest_, decades(pair.baseline_ns), decades(pair.candidate_ns)});
      highest_ = std::max({highest_, decades(pair.baseline_ns), decades(pair.candidate_ns)});
    }
  }
  lowest_ = std::min(lowest_, highest_) - 0.2;
  highest_ = std::max(highest_, lowest_ + 1) + 0.2;
  update();
}

void PairScatter::set_operator(std::string name) {
  operator_ = std::move(name);
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
  const auto share = [&](std::int64_t ns) {
    return (decades(ns) - lowest_) / (highest_ - lowest_);
  };
  return {box.left() + share(pair.baseline_ns) * box.width(),
          box.bottom() - share(pair.candidate_ns) * box.height()};
}

void PairScatter::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const QRectF box = area();
  painter.fillRect(box, theme()[Role::canvas]);
  painter.setFont(gui::font(Text::tick));
  const QFontMetricsF metrics(painter.font());
  double named_to = 0;  // pixels that names of the horizontal axis take
  for (double decade = std::ceil(lowest_); decade <= highest_; ++decade) {
    const double at = (decade - lowest_) / (highest_ - lowest_);
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
  if (!comparison_) return;
  painter.setClipRect(box);
  painter.setRenderHint(QPainter::Antialiasing);
  const TraceComparison& shown = *comparison_;
  if (shown.band && shown.step.candidate.length_ns() > 0) {
    // The band of the prediction: the candidate's durations divided by what the step may be off by.
    const double step = static_cast<double>(shown.step.candidate.length_ns());
    const double low = std::log10(step / static_cast<double>(shown.band->end_ns));
    const double high = std::log10(step / static_cast<double>(shown.band->start_ns));
    const double pixels = box.height() / (highest_ - lowest_);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme()[Role::line]);
    painter.drawPolygon(QPolygonF({box.bottomLeft() - QPointF(0, low * pixels),
                                   box.topRight() - QPointF(0, low * pixels),
                                   box.topRight() - QPointF(0, high * pixels),
                                   box.bottomLeft() - QPointF(0, high * pixels)}));
  }
  painter.setPen(QPen(theme()[Role::strong_line], 1.6));
  painter.drawLine(box.bottomLeft(), box.topRight());
  for (const bool is_emphasised : {false, true}) {
    for (const ComparedPair& pair : shown.step.pairs) {
      if ((pair.name == operator_) != is_emphasised) continue;
      const QColor colour = theme()[pair.colour];
      painter.setPen(is_emphasised ? QPen(theme()[Role::text], 1) : QPen(Qt::NoPen));
      painter.setBrush(is_emphasised ? colour : theme().towards_canvas(colour, 0.4));
      const double radius = is_emphasised ? 3.5 : 2.2;
      painter.drawEllipse(place(pair), radius, radius);
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
  for (const ComparedPair& pair : comparison_->step.pairs) {
    const double away = (place(pair) - event->position()).manhattanLength();
    if (away >= distance) continue;
    distance = away;
    nearest = &pair;
  }
  if (nearest != nullptr) Q_EMIT pair_chosen(nearest->events.baseline);
}

}  // namespace foreshard::gui
