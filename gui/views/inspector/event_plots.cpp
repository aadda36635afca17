#include "gui/views/inspector/event_plots.hpp"

#include <QKeyEvent>
#include <QMouseEvent>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/hatch.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr double kThickness = 6;
constexpr double kTickOverhang = 3;
constexpr double kFilled = 0.86;  // of the width, by the band's high end
constexpr double kWidestBar = 72;
constexpr double kLowestBar = 2;
constexpr double kPaleness = 0.5;  // towards the canvas, of all but the event itself

}  // namespace

BandBar::BandBar(QWidget* parent) : PaintedWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void BandBar::set_band(double value_ns, double low_ns, double high_ns, EventColour colour) {
  value_ = value_ns;
  low_ = low_ns;
  high_ = std::max(high_ns, value_ns);
  colour_ = colour;
  setAccessibleName(
      tr("90 % band: %1 to %2").arg(time_figure(low_).text(), time_figure(high_).text()));
  update();
}

QSize BandBar::sizeHint() const {
  return {288, static_cast<int>(kThickness + 2 * kTickOverhang) + scaled(16)};
}

void BandBar::paintEvent(QPaintEvent*) {
  if (high_ <= 0) return;
  QPainter painter(this);
  const QColor colour = theme()[colour_];
  const double scale = kFilled * width() / high_;
  const double low = low_ * scale, high = high_ * scale, value = value_ * scale;
  const double top = kTickOverhang;
  painter.fillRect(QRectF(0, top, width(), kThickness), theme()[Role::hover]);
  painter.fillRect(QRectF(0, top, low, kThickness), colour);
  painter.fillRect(QRectF(low, top, high - low, kThickness), theme().towards_canvas(colour, 0.62));
  painter.fillRect(QRectF(low, top, high - low, kThickness), hatch(colour, Hatch::diagonal, 4));
  painter.fillRect(QRectF(value - 1, 0, 2, kThickness + 2 * kTickOverhang),
                   theme()[Role::selection]);

  const double text_top = kThickness + 2 * kTickOverhang;
  const QRectF line(0, text_top, width(), height() - text_top);
  painter.setFont(gui::font(Text::tick));
  painter.setPen(theme()[Role::text2]);
  const QString title = tr("90 % band");
  draw_figure(painter, line, Qt::AlignLeft, title);
  const QString low_text = time_figure(low_).number, high_text = time_figure(high_).text();
  const double low_width = figure_width(painter.font(), low_text);
  const double high_width = figure_width(painter.font(), high_text);
  const double high_left = std::min(high - high_width / 2, width() - high_width);
  const double first = figure_width(painter.font(), title) + 8;
  const double low_left =
      std::clamp(low - low_width / 2, first, std::max(first, high_left - low_width - 8));
  draw_figure(painter, line.translated(low_left, 0), Qt::AlignLeft, low_text);
  draw_figure(painter, line.translated(high_left, 0), Qt::AlignLeft, high_text);
}

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
  const QRectF line(0, bars_height(), width(), height() - bars_height());
  const auto draw_end = [&](const Twin& twin, Qt::Alignment side) {
    const QString text = twin.label + QStringLiteral("  ") + time_figure(twin.duration_ns).text();
    draw_figure(painter, line, side, elided_figure(painter.font(), text, line.width() / 2));
  };
  draw_end(twins_.front(), Qt::AlignLeft);
  if (twins_.size() > 1) draw_end(twins_.back(), Qt::AlignRight);
  draw_focus(painter, rect());
}

void TwinStrip::follow(int twin) {
  if (twin < 0 || twin >= static_cast<int>(twins_.size())) return;
  Q_EMIT followed(twins_[static_cast<std::size_t>(twin)].event);
}

void TwinStrip::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) follow(twin_at(event->position().x()));
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
  follow(current_ + step);
}

}  // namespace foreshard::gui
