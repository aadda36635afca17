#include "gui/views/what_if/step_bars.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/hatch.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr int kFirstBar = 34, kBarHeight = 66,
              kLegendHeight = 40;  // at the usual size of text, as all here
constexpr int kTextLine = 18, kBarTop = 24;

// What is exposed is hatched: in the dark theme its colour is near that of backward.
void fill_share(QPainter& painter, const QRectF& box, Role role) {
  const QColor colour = theme()[role];
  if (role != Role::warn) return painter.fillRect(box, colour);
  painter.fillRect(box, theme().towards_canvas(colour, 0.7));
  painter.fillRect(box, hatch(colour, Hatch::diagonal, 4));
}

QString name_of(Role role) {
  switch (role) {
    case Role::forward: return StepBars::tr("forward");
    case Role::loss: return StepBars::tr("loss");
    case Role::recompute: return StepBars::tr("recompute");
    case Role::backward: return StepBars::tr("backward");
    case Role::optimizer: return StepBars::tr("optimizer");
    default: return StepBars::tr("exposed");
  }
}

}  // namespace

StepBars::StepBars(QWidget* parent) : PaintedWidget(parent) {
  setAccessibleName(tr("Where a step goes"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

QSize StepBars::sizeHint() const {
  const int rows = std::max(1, static_cast<int>(variants_.size()));
  return {scaled(400), scaled(kFirstBar + kBarHeight * rows + kLegendHeight)};
}

void StepBars::set_variants(std::vector<Variant> variants) {
  if (variants.size() != variants_.size()) updateGeometry();
  variants_ = std::move(variants);
  update();
}

void StepBars::set_stale(bool is_stale) {
  if (is_stale == is_stale_) return;
  is_stale_ = is_stale;
  update();
}

double StepBars::per_token(const Outcome& outcome, double ns) const {
  return ns / static_cast<double>(std::max<std::int64_t>(1, outcome.tokens_of_rank));
}

void StepBars::paint_variant(QPainter& painter, const Variant& variant, double top,
                             double scale) const {
  const Theme& t = theme();
  const Outcome& outcome = *variant.outcome;
  const double badge = badge_width(variant.letter);
  const double line = scaled(kTextLine);
  draw_badge(painter, {badge / 2, top + line / 2}, variant.letter, pen_of(variant).colour);
  painter.setFont(gui::font(Text::body));
  painter.setPen(t[Role::text]);
  const QFontMetricsF metrics(painter.font());
  painter.drawText(QRectF(badge + 8, top, width() - badge - scaled(100), line), Qt::AlignVCenter,
                   metrics.elidedText(variant.name, Qt::ElideRight, width() - badge - scaled(100)));
  if (outcome.step_ns <= 0) {
    painter.setPen(t[Role::error]);
    painter.drawText(QRectF(0, top + scaled(kBarTop), width(), line), Qt::AlignVCenter,
                     tr("no step: it does not fit"));
    return;
  }
  painter.setFont(gui::font(Text::strong));
  draw_figure(painter, QRectF(0, top, width(), line), Qt::AlignRight,
              time_figure(per_token(outcome, outcome.step_ns)).text());
  double left = 0;
  const double bar = top + scaled(kBarTop);
  painter.fillRect(QRectF(0, bar, per_token(outcome, outcome.step_ns) * scale, line),
                   t[Role::hover]);
  for (const StepShare& share : outcome.shares) {
    const double wide = per_token(outcome, share.ns) * scale;
    if (wide <= 0) continue;
    fill_share(painter, QRectF(left, bar, std::max(wide - (wide > 5 ? 1 : 0), 1.0), line),
               share.role);
    painter.setFont(gui::font(Text::tick));
    if (wide > QFontMetricsF(painter.font()).horizontalAdvance(name_of(share.role)) + 8) {
      painter.setPen(share.role == Role::warn ? t[Role::text] : t.text_on(t[share.role]));
      painter.drawText(QRectF(left, bar, wide, line), Qt::AlignCenter, name_of(share.role));
    }
    left += wide;
  }
  const double low = per_token(outcome, outcome.low_ns) * scale;
  const double high = per_token(outcome, outcome.high_ns) * scale;
  const double y = bar + line + 7, value = per_token(outcome, outcome.step_ns) * scale;
  painter.setPen(QPen(t[Role::text3], 1));
  painter.drawLine(QPointF(low, y), QPointF(high, y));
  painter.drawLine(QPointF(low, y - 3), QPointF(low, y + 3));
  painter.drawLine(QPointF(high, y - 3), QPointF(high, y + 3));
  painter.setPen(QPen(t[Role::text], 2));
  painter.drawLine(QPointF(value, y - 3), QPointF(value, y + 3));
}

void StepBars::paint_legend(QPainter& painter, double top) const {
  painter.setFont(gui::font(Text::tick));
  constexpr std::array kRoles{Role::forward,  Role::loss,      Role::recompute,
                              Role::backward, Role::optimizer, Role::warn};
  const double swatch = scaled(12);
  const auto wide = [&](Role role) {
    return swatch + QFontMetricsF(painter.font()).horizontalAdvance(name_of(role));
  };
  double all = 0;
  for (const Role role : kRoles) all += wide(role);
  const double gap = std::clamp((width() - all) / (kRoles.size() - 1), 3.0, 12.0);
  double left = 0;
  for (const Role role : kRoles) {
    fill_share(painter, QRectF(left, top + scaled(4), scaled(8), scaled(8)), role);
    painter.setPen(theme()[Role::text2]);
    painter.drawText(QPointF(left + swatch, top + scaled(12)), name_of(role));
    left += wide(role) + gap;
  }
  painter.setPen(theme()[Role::text3]);
  painter.drawText(QPointF(0, top + scaled(30)), tr("Below each bar its 90 % band. Grey: idle."));
}

void StepBars::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme()[Role::canvas]);
  draw_heading(painter, {0, static_cast<double>(scaled(18))}, tr("Where a step goes"),
               tr("per token and rank"));
  double longest = 0;
  for (const Variant& variant : variants_) {
    longest = std::max(longest, per_token(*variant.outcome, variant.outcome->high_ns));
  }
  const double scale = longest > 0 ? (width() - 2) / longest : 1;
  if (is_stale_) painter.setOpacity(0.55);
  double top = scaled(kFirstBar);
  for (const Variant& variant : variants_) {
    paint_variant(painter, variant, top, scale);
    top += scaled(kBarHeight);
  }
  if (longest > 0) paint_legend(painter, top);
}

}  // namespace foreshard::gui
