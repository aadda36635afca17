#include "gui/views/base/byte_plot.hpp"

#include <algorithm>
#include <cmath>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/figures.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"
#include "gui/paint/time_ticks.hpp"

namespace foreshard::gui {

BytePlot::BytePlot(const QString& title, const QString& about, Along along, QSize least,
                   QWidget* parent)
    : PaintedWidget(parent), title_(title), about_(about), along_(along) {
  setAccessibleName(title);
  const auto fit = [this, least] { setMinimumSize(scaled(least.width()), scaled(least.height())); };
  connect(&Appearance::instance(), &Appearance::changed, this, fit);
  fit();
}

void BytePlot::show_curves(std::vector<ByteCurve> curves, std::vector<ByteLevel> levels) {
  curves_ = std::move(curves);
  levels_ = std::move(levels);
  highest_ = longest_ = 1;
  limit_ = 0;
  QStringList spoken;
  for (const ByteCurve& curve : curves_) {
    std::int64_t most = 0;
    for (const auto& point : curve.points) most = std::max(most, point.second);
    highest_ = std::max(highest_, most);
    longest_ = std::max(longest_, curve.length);
    spoken << tr("%1: at most %2").arg(curve.badge, bytes_figure(most).text());
  }
  for (const ByteLevel& level : levels_) {
    std::int64_t& most = level.is_limit ? limit_ : highest_;
    most = std::max(most, level.bytes);
    spoken << level.text;
  }
  setAccessibleDescription(spoken.join(QStringLiteral("; ")));
  update();
}

void BytePlot::set_stale(bool is_stale) {
  if (is_stale == is_stale_) return;
  is_stale_ = is_stale;
  update();
}

void BytePlot::set_along(Along along) {
  along_ = along;
  update();
}

void BytePlot::set_fits_data(bool fits_data) {
  fits_data_ = fits_data;
  update();
}

std::int64_t BytePlot::top() const {
  const std::int64_t most = fits_data_ ? highest_ : std::max(highest_, limit_);
  return most + most / 16;
}

QRectF BytePlot::area() const {
  const double left = scaled(44), top = scaled(36);
  return {left, top, width() - left - 1, height() - top - scaled(26)};
}

double BytePlot::x_of(const ByteCurve& curve, std::int64_t position) const {
  const std::int64_t whole = along_ == Along::share ? curve.length : longest_;
  return area().left() + area().width() * static_cast<double>(position) /
                             static_cast<double>(std::max<std::int64_t>(1, whole));
}

double BytePlot::y_of(std::int64_t bytes) const {
  return area().bottom() -
         area().height() * static_cast<double>(bytes) / static_cast<double>(top());
}

double BytePlot::end_of(const ByteCurve& curve) const {
  return x_of(curve, curve.fails ? curve.points.back().first : curve.length);
}

// One column a device pixel: of several levels in it the highest.
StepColumns BytePlot::columns_of(const ByteCurve& curve) const {
  StepColumns columns{area().left(), 1 / devicePixelRatioF(), {}};
  const double most = std::max(1.0, (end_of(curve) - columns.left) / columns.width);
  columns.y.reserve(static_cast<std::size_t>(most));
  double level = y_of(curve.points.front().second);
  for (const auto& [position, bytes] : curve.points) {
    const double at = (x_of(curve, position) - columns.left) / columns.width;
    const auto column = static_cast<std::size_t>(std::clamp(at, 0.0, most - 1));
    columns.y.resize(std::max(columns.y.size(), column), level);
    level = y_of(bytes);
    if (columns.y.size() == column) {
      columns.y.push_back(level);
    } else {
      columns.y[column] = std::min(columns.y[column], level);
    }
  }
  columns.y.resize(static_cast<std::size_t>(most), level);
  return columns;
}

QString BytePlot::text_at(double share) const {
  switch (along_) {
    case Along::share: return QStringLiteral("%1 %").arg(100 * share);
    case Along::time: return time_figure(static_cast<double>(longest_) * share).text();
    case Along::events:
      return count_figure(std::llround(static_cast<double>(longest_) * share)).number;
  }
  return {};
}

void BytePlot::paint_axes(QPainter& painter) const {
  painter.setFont(gui::font(Text::tick));
  const std::int64_t unit = std::int64_t{1} << (top() >> 31 > 0 ? 30 : 20);
  for (const std::int64_t bytes :
       byte_ticks(top(), std::max(2, static_cast<int>(area().height()) / 36))) {
    const double y = std::round(y_of(bytes));
    painter.fillRect(QRectF(area().left(), y, area().width(), 1),
                     theme()[bytes == 0 ? Role::strong_line : Role::grid]);
    painter.setPen(theme()[Role::text3]);
    draw_figure(painter, QRectF(0, y - scaled(8), scaled(36), scaled(16)), Qt::AlignRight,
                QString::number(static_cast<double>(bytes) / static_cast<double>(unit), 'g', 4));
  }
  for (int quarter = 0; quarter <= 4; ++quarter) {
    const double wide = scaled(70), x = area().left() + area().width() * quarter / 4;
    const bool is_first = quarter == 0, is_last = quarter == 4;
    draw_figure(painter,
                QRectF(is_first  ? x
                       : is_last ? x - wide
                                 : x - wide / 2,
                       area().bottom() + 5, wide, scaled(16)),
                is_first  ? Qt::AlignLeft
                : is_last ? Qt::AlignRight
                          : Qt::AlignHCenter,
                text_at(quarter / 4.0));
  }
}

void BytePlot::paint_curve(QPainter& painter, const ByteCurve& curve) const {
  const StepColumns columns = columns_of(curve);
  if (curve.is_filled) {
    QColor fill = theme()[Role::text3];
    fill.setAlphaF(0.14F);
    fill_below(painter, columns, area().bottom(), fill);
  }
  draw_step_line(painter, columns, curve.pen);
  if (!curve.fails) return;
  painter.fillRect(QRectF(columns.right(), area().top(), 2, columns.y.back() - area().top()),
                   theme()[Role::error]);
}

// Beside those of the other curves.
void BytePlot::paint_badge(QPainter& painter, std::size_t curve) const {
  const ByteCurve& of = curves_[curve];
  const double x = std::min(
      end_of(of), area().left() + area().width() * (0.44 + 0.07 * static_cast<double>(curve % 4)));
  std::int64_t bytes = of.points.front().second;
  for (const auto& point : of.points) {
    if (x_of(of, point.first) > x) break;
    bytes = point.second;
  }
  draw_badge(painter, {x, y_of(bytes)}, of.badge, of.pen.colour);
}

void BytePlot::paint_level(QPainter& painter, const ByteLevel& level) const {
  if (level.bytes > top()) return;
  const double y = std::round(y_of(level.bytes));
  const QColor ink = theme()[level.is_limit ? Role::error : Role::text2];
  painter.setFont(gui::font(Text::tick));
  if (level.is_limit) {
    draw_limit(painter, {area().left(), y + 0.5}, {area().right(), y + 0.5});
    painter.setPen(ink);
    return draw_figure(painter, QRectF(area().left(), y - scaled(18), area().width(), scaled(16)),
                       Qt::AlignRight, level.text);
  }
  painter.fillRect(QRectF(area().left(), y, area().width(), 1), ink);
  painter.setPen(ink);
  const bool has_room_below = y + scaled(20) < area().bottom();
  draw_figure(
      painter,
      QRectF(area().left() + 6, has_room_below ? y + 3 : y - scaled(19), scaled(260), scaled(16)),
      Qt::AlignLeft, level.text);
}

void BytePlot::paintEvent(QPaintEvent*) {
  constexpr int kRoomForNote = 640;  // beside what is chosen over the plot
  QPainter painter(this);
  painter.fillRect(rect(), theme()[Role::canvas]);
  const QString about =
      QStringLiteral("%1, %2").arg(about_, top() >> 31 > 0 ? tr("GiB") : tr("MiB"));
  draw_heading(painter, {0, static_cast<double>(scaled(18))}, title_,
               layout() != nullptr && width() < scaled(kRoomForNote) ? QString() : about);
  if (curves_.empty()) return;
  paint_axes(painter);
  if (is_stale_) painter.setOpacity(0.55);
  for (auto curve = curves_.rbegin(); curve != curves_.rend(); ++curve) {
    if (!curve->points.empty()) paint_curve(painter, *curve);
  }
  for (const ByteLevel& level : levels_) paint_level(painter, level);
  for (std::size_t n = 0; n < curves_.size(); ++n) {
    if (!curves_[n].points.empty()) paint_badge(painter, n);
  }
}

}  // namespace foreshard::gui
