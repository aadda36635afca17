#include "gui/views/what_if/sweep_plot.hpp"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPointF>
#include <QRectF>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "gui/models/base/units_text.hpp"
#include "gui/models/what_if/plan_control.hpp"
#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/hatch.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"
#include "gui/paint/time_ticks.hpp"
#include "gui/views/what_if/variant.hpp"

namespace foreshard::gui {
namespace {

constexpr double kRadius = 4.5;
constexpr std::size_t kSweepShapes = 8;  // of more values the first shape comes again

// Corners at equal angles, the first one above the centre; every second one `inner` of the way out.
QPolygonF corners(QPointF centre, int count, double radius, double turn = 0, double inner = 1) {
  QPolygonF shape;
  for (int n = 0; n < count; ++n) {
    const double angle = 2 * std::numbers::pi * n / count + turn;
    const double r = n % 2 == 0 ? radius : radius * inner;
    shape << centre + QPointF(r * std::sin(angle), -r * std::cos(angle));
  }
  return shape;
}

QPolygonF plus(QPointF centre) {
  constexpr double out = 5, in = 1.8;
  return QPolygonF({{-in, -out},
                    {in, -out},
                    {in, -in},
                    {out, -in},
                    {out, in},
                    {in, in},
                    {in, out},
                    {-in, out},
                    {-in, in},
                    {-out, in},
                    {-out, -in},
                    {-in, -in}})
      .translated(centre);
}

// Where the badges of a plot's points stand: beside their points, never over one another, and over as
// few of the plot's other marks as can be.

struct BadgePoint {
  QPointF at;
  double badge_width = 0;
};

constexpr double kAcross = 10, kAlong = 12, kRows = 4;

// Left and right of the point, above and below it, and ever farther away from it.
std::vector<QRectF> candidates(const BadgePoint& point) {
  const double half = point.badge_width / 2;
  std::vector<QRectF> boxes;
  for (double row = 0; row < kRows; ++row) {
    for (const double down : {-1.0, 1.0}) {
      for (const double right : {-1.0, 1.0}) {
        const QPointF centre =
            point.at + QPointF(right * (kAcross + half), down * (kAlong + row * kBadgeHeight));
        boxes.emplace_back(centre - QPointF(half, kBadgeHeight / 2),
                           QSizeF(point.badge_width, kBadgeHeight));
      }
    }
  }
  return boxes;
}

// One box a point, in their order: those that come first have the better places.
std::vector<QRectF> place_badges(const std::vector<BadgePoint>& points,
                                 const std::vector<QPointF>& marks, const QRectF& within) {
  std::vector<QRectF> placed;
  for (const BadgePoint& point : points) {
    const auto is_over_another = [&](const QRectF& box) {
      return std::any_of(placed.begin(), placed.end(),
                         [&](const QRectF& other) { return box.intersects(other); });
    };
    std::vector<QRectF> boxes = candidates(point);
    const QRectF first = boxes.front();
    std::erase_if(boxes,
                  [&](const QRectF& box) { return !within.contains(box) || is_over_another(box); });
    const auto covered = [&](const QRectF& box) {
      return std::count_if(marks.begin(), marks.end(),
                           [&](QPointF mark) { return box.contains(mark); });
    };
    const auto best =
        std::min_element(boxes.begin(), boxes.end(),
                         [&](const QRectF& a, const QRectF& b) { return covered(a) < covered(b); });
    placed.push_back(best == boxes.end() ? first : *best);
  }
  return placed;
}

constexpr double kGib = 1024.0 * 1024 * 1024;

double gib(std::int64_t bytes) {
  return static_cast<double>(bytes) / kGib;
}

QString label_of(const std::string& key) {
  const PlanControl* control = control_of(key);
  return control == nullptr ? QString() : control->full_label.toLower();
}

std::vector<double> ticks_between(double least, double most, int count) {
  const std::vector<double> round = value_ticks(most - least, count);
  if (round.size() < 2) return {};
  std::vector<double> ticks;
  const double step = round[1] - round[0];
  for (double at = std::ceil(least / step) * step; at <= most; at += step) ticks.push_back(at);
  return ticks;
}

// A shape of its own for each value of the first key, filled where no other plan beats it.
void draw_sweep_mark(QPainter& painter, QPointF centre, std::size_t value, bool is_filled) {
  constexpr double half_turn = std::numbers::pi;
  painter.setPen(QPen(theme()[Role::text2], 1.4));
  painter.setBrush(theme()[is_filled ? Role::text2 : Role::canvas]);
  switch (value % kSweepShapes) {
    case 0: painter.drawEllipse(centre, kRadius, kRadius); break;
    case 1: painter.drawPolygon(corners(centre + QPointF(0, 1), 3, kRadius + 1.5)); break;
    case 2: painter.drawRect(QRectF(centre.x() - 4, centre.y() - 4, 8, 8)); break;
    case 3: painter.drawPolygon(corners(centre, 4, kRadius + 1)); break;
    case 4:
      painter.drawPolygon(corners(centre - QPointF(0, 1), 3, kRadius + 1.5, half_turn));
      break;
    case 5: painter.drawPolygon(plus(centre)); break;
    case 6: painter.drawPolygon(corners(centre, 10, kRadius + 2, 0, 0.45)); break;
    default: painter.drawRect(QRectF(centre.x() - 2, centre.y() - 6, 4, 12));
  }
}

}  // namespace

SweepPlot::SweepPlot(QWidget* parent) : PaintedWidget(parent) {
  setAccessibleName(tr("Sweep"));
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setMinimumSize(280, 220);
}

void SweepPlot::set_surroundings(std::shared_ptr<const Surroundings> surroundings) {
  is_stale_ = surroundings == nullptr;
  if (!is_stale_) {
    surroundings_ = std::move(surroundings);
    chosen_ = -1;
    place_legend();
    measure();
  }
  update();
}

void SweepPlot::set_variants(std::vector<Variant> variants) {
  variants_ = std::move(variants);
  measure();
  update();
}

void SweepPlot::resizeEvent(QResizeEvent*) {
  place_legend();
}

void SweepPlot::place_legend() {
  if (surroundings_ == nullptr) return;
  std::vector<LegendItem> entries;
  for (const QString& value : surroundings_->sweep.first_values) {
    entries.push_back({value, 12, [n = entries.size()](QPainter& painter, QPointF centre) {
                         draw_sweep_mark(painter, centre, n, true);
                       }});
  }
  legend_ = Legend(entries, {0, static_cast<double>(scaled(26))}, width());
}

void SweepPlot::measure() {
  least_gib_ = least_tokens_ = 1e30;
  most_gib_ = most_tokens_ = 0;
  const auto take = [this](std::int64_t reserved, double tokens) {
    if (tokens <= 0) return;
    least_gib_ = std::min(least_gib_, gib(reserved));
    most_gib_ = std::max(most_gib_, gib(reserved));
    least_tokens_ = std::min(least_tokens_, tokens);
    most_tokens_ = std::max(most_tokens_, tokens);
  };
  if (surroundings_ != nullptr) {
    for (const SweepPoint& point : surroundings_->sweep.points) {
      take(point.candidate.reserved, point.candidate.tokens_per_s);
    }
  }
  for (const Variant& variant : variants_) {
    take(variant.outcome->reserved, variant.outcome->tokens_per_s);
    if (variant.outcome->capacity) most_gib_ = std::max(most_gib_, gib(*variant.outcome->capacity));
  }
  if (least_gib_ > most_gib_) least_gib_ = least_tokens_ = 0;
  const double wide = std::max(most_gib_ - least_gib_, most_gib_ * 0.1 + 0.01);
  const double high = std::max(most_tokens_ - least_tokens_, most_tokens_ * 0.1 + 1);
  least_gib_ = std::max(0.0, least_gib_ - wide * 0.08);
  most_gib_ += wide * 0.06;
  least_tokens_ = std::max(0.0, least_tokens_ - high * 0.1);
  most_tokens_ += high * 0.1;
}

QRectF SweepPlot::area() const {
  const double top = scaled(54) + legend_.height(), left = scaled(46);
  return QRectF(left, top, width() - left - 8, height() - top - scaled(40));
}

QPointF SweepPlot::place(double memory, double tokens) const {
  const QRectF box = area();
  return {box.left() + box.width() * (memory - least_gib_) / (most_gib_ - least_gib_),
          box.bottom() - box.height() * (tokens - least_tokens_) / (most_tokens_ - least_tokens_)};
}

QPointF SweepPlot::point_centre(std::size_t point) const {
  const Candidate& candidate = surroundings_->sweep.points[point].candidate;
  return place(gib(candidate.reserved), candidate.tokens_per_s);
}

void SweepPlot::paint_axes(QPainter& painter) const {
  const Theme& t = theme();
  const QRectF box = area();
  painter.setFont(gui::font(Text::tick));
  for (const double tokens : ticks_between(least_tokens_, most_tokens_, 5)) {
    const double y = std::round(place(least_gib_, tokens).y());
    painter.fillRect(QRectF(box.left(), y, box.width(), 1), t[Role::grid]);
    painter.setPen(t[Role::text3]);
    const QString text = most_tokens_ >= 5000 ? QString::number(tokens / 1000) + QLatin1Char('k')
                                              : QString::number(tokens);
    draw_figure(painter, QRectF(0, y - scaled(8), scaled(40), scaled(16)), Qt::AlignRight, text);
  }
  const bool in_gib = most_gib_ >= 2;
  const double per_gib = in_gib ? 1 : 1024;
  for (const double memory : ticks_between(least_gib_ * per_gib, most_gib_ * per_gib, 6)) {
    const double x = std::round(place(memory / per_gib, least_tokens_).x());
    painter.fillRect(QRectF(x, box.top(), 1, box.height()), t[Role::grid]);
    draw_figure(painter, QRectF(x - scaled(25), box.bottom() + 4, scaled(50), scaled(16)),
                Qt::AlignHCenter, QString::number(memory));
  }
  painter.fillRect(QRectF(box.left(), box.bottom(), box.width(), 1), t[Role::strong_line]);
  painter.setPen(t[Role::text3]);
  painter.drawText(QPointF(0, box.top() - 10), tr("tokens/s"));
  painter.drawText(QPointF(box.left(), height() - 6),
                   in_gib ? tr("peak reserved, GiB") : tr("peak reserved, MiB"));
  if (surroundings_ != nullptr) {
    const Sweep& sweep = surroundings_->sweep;
    QStringList left_out;
    if (sweep.misfits > 0)
      left_out << (sweep.misfits == 1 ? tr("1 plan does not fit")
                                      : tr("%1 plans do not fit").arg(sweep.misfits));
    if (sweep.impossible > 0)
      left_out << (sweep.impossible == 1 ? tr("1 is no plan")
                                         : tr("%1 are no plans").arg(sweep.impossible));
    painter.drawText(QRectF(box.left(), height() - scaled(18), box.width(), scaled(16)),
                     Qt::AlignRight | Qt::AlignVCenter, left_out.join(QStringLiteral(" · ")));
  }
  if (variants_.empty() || !variants_.front().outcome->capacity) return;
  const double x = place(gib(*variants_.front().outcome->capacity), least_tokens_).x();
  QColor fill = t[Role::error];
  fill.setAlphaF(0.08F);
  painter.fillRect(QRectF(QPointF(x, box.top()), box.bottomRight()), fill);
  draw_limit(painter, {x, box.top()}, {x, box.bottom()});
}

void SweepPlot::paint_front(QPainter& painter) const {
  std::vector<QPointF> front;
  for (std::size_t n = 0; n < surroundings_->sweep.points.size(); ++n) {
    if (surroundings_->sweep.points[n].is_on_front) front.push_back(point_centre(n));
  }
  std::sort(front.begin(), front.end(), [](QPointF a, QPointF b) { return a.x() < b.x(); });
  QPolygonF line;
  for (const QPointF& at : front) {
    if (!line.isEmpty()) line << QPointF(at.x(), line.back().y());
    line << at;
  }
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme()[Role::strong_line], 1.6));
  painter.drawPolyline(line);
}

// Below, above or beside its mark: where no other mark or label is.
void SweepPlot::paint_label(QPainter& painter, QPointF mark, const QString& text,
                            std::vector<QRectF>& taken) const {
  const double wide = figure_width(painter.font(), text) + 4, tall = scaled(14);
  for (const QPointF left_top : {QPointF(-wide / 2, 6), QPointF(-wide / 2, -6 - tall),
                                 QPointF(7, -tall / 2), QPointF(-wide - 7, -tall / 2)}) {
    const QRectF box(mark + left_top, QSizeF(wide, tall));
    if (box.left() < area().left() || box.right() > width()) continue;
    const auto is_in_the_way = [&](const QRectF& other) { return other.intersects(box); };
    if (std::any_of(taken.begin(), taken.end(), is_in_the_way)) continue;
    painter.setPen(theme()[Role::text2]);
    draw_figure(painter, box, Qt::AlignHCenter, text);
    taken.push_back(box);
    return;
  }
}

void SweepPlot::paint_points(QPainter& painter) const {
  const Sweep& sweep = surroundings_->sweep;
  const bool has_one_key = sweep.second_key.empty();
  std::vector<QRectF> taken = badge_boxes();
  for (std::size_t n = 0; n < sweep.points.size(); ++n) {
    const QPointF at = point_centre(n);
    draw_sweep_mark(painter, at, sweep.points[n].first, sweep.points[n].is_on_front);
    taken.emplace_back(at - QPointF(5, 5), QSizeF(10, 10));
  }
  painter.setFont(gui::font(Text::tick));
  for (std::size_t n = 0; n < sweep.points.size(); ++n) {
    const SweepPoint& point = sweep.points[n];
    paint_label(painter, point_centre(n),
                has_one_key ? sweep.first_values[point.first] : sweep.second_values[point.second],
                taken);
  }
}

// Where there is no step, such as where it does not fit, there is no place either.
std::vector<const Variant*> SweepPlot::placed_variants() const {
  std::vector<const Variant*> placed;
  for (const Variant& variant : variants_) {
    if (variant.outcome->tokens_per_s > 0) placed.push_back(&variant);
  }
  return placed;
}

QPointF SweepPlot::variant_centre(const Variant& variant) const {
  return place(gib(variant.outcome->reserved), variant.outcome->tokens_per_s);
}

std::vector<QRectF> SweepPlot::badge_boxes() const {
  std::vector<BadgePoint> points;
  for (const Variant* variant : placed_variants()) {
    points.push_back({variant_centre(*variant), badge_width(variant->letter)});
  }
  std::vector<QPointF> marks;
  const std::size_t plans = surroundings_ == nullptr ? 0 : surroundings_->sweep.points.size();
  for (std::size_t plan = 0; plan < plans; ++plan) marks.push_back(point_centre(plan));
  return place_badges(
      points, marks,
      QRectF(area().left(), area().top() - 10, width() - area().left(), area().height() + 10));
}

void SweepPlot::paint_variants(QPainter& painter) const {
  const std::vector<const Variant*> variants = placed_variants();
  const std::vector<QRectF> badges = badge_boxes();
  for (std::size_t n = 0; n < variants.size(); ++n) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme()[Role::text2], variants[n]->place == 0 ? 2 : 1));
    painter.drawEllipse(variant_centre(*variants[n]), 8, 8);
    draw_badge(painter, badges[n].center(), variants[n]->letter, pen_of(*variants[n]).colour);
  }
}

QString SweepPlot::title_of(const SweepPoint& point) const {
  const Sweep& sweep = surroundings_->sweep;
  QString title = label_of(sweep.first_key) + QLatin1Char(' ') + sweep.first_values[point.first];
  if (sweep.second_key.empty()) return title;
  return title + QStringLiteral(", %1 %2").arg(label_of(sweep.second_key),
                                               sweep.second_values[point.second]);
}

void SweepPlot::paint_card(QPainter& painter) const {
  const SweepPoint& point = surroundings_->sweep.points[static_cast<std::size_t>(chosen_)];
  const QPointF at = point_centre(static_cast<std::size_t>(chosen_));
  const Theme& t = theme();
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(t[Role::focus], 2));
  painter.drawEllipse(at, 9, 9);
  const QString figures = tr("%1 tokens/s, %2")
                              .arg(count_figure(std::llround(point.candidate.tokens_per_s)).number,
                                   bytes_figure(point.candidate.reserved).text());
  painter.setFont(gui::font(Text::secondary_strong));
  const double wide = std::max(figure_width(painter.font(), title_of(point)),
                               figure_width(gui::font(Text::secondary), figures)) +
                      20;
  const double tall = scaled(44);
  const QRectF box(std::clamp(at.x() - wide / 2, 0.0, std::max(0.0, width() - wide)),
                   at.y() > area().top() + 20 + tall ? at.y() - 16 - tall : at.y() + 16, wide,
                   tall);
  painter.setPen(QPen(t[Role::strong_line], 1));
  painter.setBrush(t[Role::raised]);
  painter.drawRoundedRect(box, 5, 5);
  painter.setPen(t[Role::text]);
  painter.drawText(box.adjusted(10, 5, -10, -tall / 2), Qt::AlignVCenter, title_of(point));
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(t[Role::text2]);
  draw_figure(painter, box.adjusted(10, tall / 2, -10, -4), Qt::AlignLeft, figures);
}

void SweepPlot::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme()[Role::canvas]);
  QString about;
  if (surroundings_ != nullptr) {
    const Sweep& sweep = surroundings_->sweep;
    const auto plans = static_cast<int>(sweep.points.size() + sweep.misfits + sweep.impossible);
    about = label_of(sweep.first_key);
    if (!sweep.second_key.empty()) about += QStringLiteral(" × ") + label_of(sweep.second_key);
    about += tr(", %n plans in %1", nullptr, plans).arg(time_figure(sweep.took_ns).text());
  }
  draw_heading(painter, {0, static_cast<double>(scaled(18))}, tr("Sweep"), about);
  if (most_tokens_ <= least_tokens_) return;
  painter.setRenderHint(QPainter::Antialiasing);
  paint_axes(painter);
  if (surroundings_ != nullptr) {
    if (is_stale_) painter.setOpacity(0.55);
    legend_.paint(painter);
    paint_front(painter);
    paint_points(painter);
    painter.setOpacity(1);
  }
  paint_variants(painter);
  if (chosen_ >= 0) paint_card(painter);
  draw_focus(painter, rect());
}

int SweepPlot::point_at(QPointF point) const {
  if (surroundings_ == nullptr || is_stale_) return -1;
  int nearest = -1;
  double least = 12;
  for (std::size_t n = 0; n < surroundings_->sweep.points.size(); ++n) {
    const QPointF away = point_centre(n) - point;
    const double distance = std::hypot(away.x(), away.y());
    if (distance >= least) continue;
    least = distance;
    nearest = static_cast<int>(n);
  }
  return nearest;
}

void SweepPlot::apply(int point) {
  if (point < 0 || is_stale_) return;
  const auto& points = surroundings_->sweep.points;
  Q_EMIT applied(points[static_cast<std::size_t>(point)].candidate.changes);
}

void SweepPlot::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) apply(point_at(event->position()));
}

void SweepPlot::mouseMoveEvent(QMouseEvent* event) {
  const int point = point_at(event->position());
  if (point == chosen_) return;
  chosen_ = point;
  setCursor(chosen_ >= 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
  update();
}

void SweepPlot::leaveEvent(QEvent*) {
  chosen_ = -1;
  update();
}

void SweepPlot::keyPressEvent(QKeyEvent* event) {
  const int count = surroundings_ == nullptr || is_stale_
                        ? 0
                        : static_cast<int>(surroundings_->sweep.points.size());
  switch (event->key()) {
    case Qt::Key_Left: chosen_ = std::max(std::min(0, count - 1), chosen_ - 1); break;
    case Qt::Key_Right: chosen_ = std::min(count - 1, chosen_ + 1); break;
    case Qt::Key_Return:
    case Qt::Key_Enter: apply(chosen_); break;
    default: return PaintedWidget::keyPressEvent(event);
  }
  update();
}

}  // namespace foreshard::gui
