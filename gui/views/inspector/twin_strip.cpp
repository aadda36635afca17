#include "gui/views/inspector/twin_strip.hpp"

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

constexpr double kWidestBar = 24;
constexpr double kLowestBar = 2;
constexpr double kPaleness = 0.5;  // towards the canvas, of all but the event itself

}  // namespace

TwinStrip::TwinStrip(QWidget* parent) : PaintedWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void TwinStrip::set_twins(std::vector<Twin> twins, int current, EventColour colour) {
  twins_ = std::move(twins);
  current_ = current;
  colour_ = colour;
  longest_ns_ = 0;
  for (const Twin& twin : twins_) longest_ns_ = std::max(longest_ns_, twin.duration_ns);
  setAccessibleName(tr("%n like it in this step", nullptr, static_cast<int>(twins_.size())));
  update();
}

QString TwinStrip::unit() const {
  return twins_.empty() ? QString() : time_figure(twins_.back().duration_ns).unit;
}

QSize TwinStrip::sizeHint() const {
  return {288, scaled(64)};
}

double TwinStrip::bars_height() const {
  return height() - scaled(16);
}

QRectF TwinStrip::bar(int twin) const {
  const double each = std::min(width() / static_cast<double>(twins_.size()), kWidestBar);
  const double left = std::floor(twin * each), right = std::floor((twin + 1) * each);
  const double gap = each >= 4 ? 1 : 0;
  const double share =
      longest_ns_ > 0 ? twins_[static_cast<std::size_t>(twin)].duration_ns / longest_ns_ : 0;
  const double tall = std::max(kLowestBar, std::round(share * bars_height()));
  return {left, bars_height() - tall, std::max(1.0, right - left - gap), tall};
}

int TwinStrip::twin_at(double x) const {
  if (twins_.empty()) return -1;
  const double each = std::min(width() / static_cast<double>(twins_.size()), kWidestBar);
  const int twin = static_cast<int>(x / each);
  return twin < static_cast<int>(twins_.size()) ? twin : -1;
}

void TwinStrip::paintEvent(QPaintEvent*) {
  if (twins_.empty()) return;
  QPainter painter(this);
  const QColor colour = theme()[colour_];
  const QColor pale = theme().towards_canvas(colour, kPaleness);
  QRectF column;  // of bars that fall on the same pixels, the tallest
  for (int twin = 0; twin < static_cast<int>(twins_.size()); ++twin) {
    const QRectF box = bar(twin);
    if (box.left() > column.left()) {
      painter.fillRect(column, pale);
      column = box;
    } else if (box.height() > column.height()) {
      column = box;
    }
  }
  painter.fillRect(column, pale);
  if (current_ >= 0 && current_ < static_cast<int>(twins_.size())) {
    QRectF own = bar(current_);
    own.setWidth(std::max(2.0, own.width()));
    painter.fillRect(own, colour);
  }
  painter.setFont(gui::font(Text::tick));
  painter.setPen(theme()[Role::text2]);
  const double right = bar(static_cast<int>(twins_.size()) - 1).right();
  const QRectF line(0, bars_height(), std::max(right, 120.0), height() - bars_height());
  draw_figure(painter, line, Qt::AlignLeft,
              elided_figure(painter.font(), twins_.front().label, line.width() / 2));
  if (twins_.size() > 1) {
    const QString last =
        twins_.back().label + QLatin1Char(' ') + time_figure(twins_.back().duration_ns).number;
    draw_figure(painter, line, Qt::AlignRight,
                elided_figure(painter.font(), last, line.width() / 2));
  }
  draw_focus(painter, rect());
}

void TwinStrip::mousePressEvent(QMouseEvent* event) {
  const int twin = twin_at(event->position().x());
  if (event->button() == Qt::LeftButton && twin >= 0) Q_EMIT followed(twin);
}

void TwinStrip::mouseMoveEvent(QMouseEvent* event) {
  const int twin = twin_at(event->position().x());
  setCursor(twin >= 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
  if (twin < 0) return setToolTip({});
  const Twin& there = twins_[static_cast<std::size_t>(twin)];
  setToolTip(there.label + QStringLiteral(", ") + time_figure(there.duration_ns).text());
}

void TwinStrip::keyPressEvent(QKeyEvent* event) {
  const int step = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
  if (step == 0) return PaintedWidget::keyPressEvent(event);
  const int twin = current_ + step;
  if (twin >= 0 && twin < static_cast<int>(twins_.size())) Q_EMIT followed(twin);
}

}  // namespace foreshard::gui
