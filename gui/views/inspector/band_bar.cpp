#include "gui/views/inspector/band_bar.hpp"

#include <algorithm>

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

}  // namespace foreshard::gui
