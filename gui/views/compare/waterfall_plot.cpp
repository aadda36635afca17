#include "gui/views/compare/waterfall_plot.hpp"

#include <algorithm>
#include <cmath>

#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/hatch.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr double kTitleEnd = 32, kLabelHeight = 17, kLift = 13, kLabelsBelow = 38;

}  // namespace

WaterfallPlot::WaterfallPlot(QWidget* parent) : PaintedWidget(parent) {
  setAccessibleName(tr("From one step to the other"));
}

void WaterfallPlot::set_comparison(std::shared_ptr<const TraceComparison> comparison) {
  comparison_ = std::move(comparison);
  update();
}

void WaterfallPlot::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme()[Role::canvas]);
  painter.fillRect(QRectF(0, 0, 1, height()), theme()[Role::line]);
  if (!comparison_) return;
  const std::vector<WaterfallBar>& bars = comparison_->waterfall;
  const SideWords& words = comparison_->sides;
  const TimeScale scale(
      std::max(comparison_->whole->baseline_step_ns, comparison_->whole->candidate_step_ns), 2);
  painter.setFont(gui::font(Text::strong));
  painter.setPen(theme()[Role::text]);
  painter.drawText(
      QRectF(16, 10, width() - 32, 20), Qt::AlignLeft | Qt::AlignVCenter,
      bars.empty() ? tr("From %1 to %2").arg(words.baseline, words.candidate)
                   : tr("From %1 to %2, %3").arg(words.baseline, words.candidate, scale.unit()));
  painter.setFont(gui::font(Text::secondary));
  if (bars.empty()) {
    painter.setPen(theme()[Role::text2]);
    painter.drawText(QRectF(16, 34, width() - 32, 60), Qt::AlignLeft | Qt::TextWordWrap,
                     comparison_->words.lead);
    return;
  }
  constexpr double kTop = kTitleEnd + kLabelHeight + kLift;
  const QRectF area(16, kTop, width() - 28, std::max(height() - kTop - kLabelsBelow, 10.0));
  // From zero where the parts are large beside the whole; else only its end, told apart by a cut.
  std::int64_t lowest = bars.front().to_ns, highest = 1;
  for (const WaterfallBar& bar : bars) {
    lowest = std::min({lowest, bar.to_ns, bar.is_total ? bar.to_ns : bar.from_ns});
    highest = std::max({highest, bar.from_ns, bar.to_ns});
  }
  const std::int64_t room = std::max<std::int64_t>(highest - lowest, 1);
  const std::int64_t bottom = std::max<std::int64_t>(lowest - room / 2, 0);
  const auto y_of = [&](std::int64_t ns) {
    return std::round(area.bottom() -
                      static_cast<double>(ns - bottom) /
                          static_cast<double>(std::max<std::int64_t>(highest - bottom, 1)) *
                          area.height());
  };
  const double each = area.width() / static_cast<double>(bars.size());
  QRectF last_text;
  const auto touches_last = [&](const QRectF& box) {
    return box.adjusted(-3, 2, 0, -2).intersects(last_text.adjusted(0, 2, 0, -2));
  };
  for (std::size_t n = 0; n < bars.size(); ++n) {
    const WaterfallBar& bar = bars[n];
    const double left = std::round(area.left() + each * static_cast<double>(n));
    const double bar_width = std::floor(each * 0.72);
    const double from = bar.is_total ? area.bottom() : y_of(bar.from_ns), to = y_of(bar.to_ns);
    const QRectF box(left, std::min(from, to), bar_width, std::max(std::abs(to - from), 1.0));
    if (bar.is_total && n > 0 && words.is_prediction) {
      painter.fillRect(box, hatch(theme()[Role::text3], Hatch::diagonal, 5));
      painter.setPen(theme()[Role::text3]);
      painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
    } else {
      painter.fillRect(box, theme()[bar.is_total              ? Role::text3
                                    : bar.difference_ns() > 0 ? Role::warn
                                                              : Role::focus]);
    }
    if (bar.is_total && bottom > 0) {  // not from zero
      painter.fillRect(QRectF(left, area.bottom() - 8, bar_width, 2), theme()[Role::canvas]);
    }
    if (n + 1 < bars.size()) {
      painter.fillRect(QRectF(left + bar_width, to, each - bar_width, 1),
                       theme()[Role::strong_line]);
    }
    const QString text =
        bar.is_total ? scale.text(bar.to_ns) : scale.signed_text(bar.difference_ns());
    painter.setFont(gui::font(Text::tick));
    painter.setPen(theme()[Role::text]);
    const double text_width = figure_width(painter.font(), text);
    QRectF text_box(left + (bar_width - text_width) / 2, box.top() - kLabelHeight, text_width, 16);
    // Above its neighbour's where both would touch, as far as the title leaves room.
    const QRectF place = text_box;
    while (touches_last(text_box) && text_box.top() - kLift >= kTitleEnd) {
      text_box.translate(0, -kLift);
    }
    if (touches_last(text_box)) text_box = place;
    last_text = text_box;
    draw_figure(painter, text_box, Qt::AlignHCenter, text);
    painter.setPen(theme()[Role::text2]);
    const double line =
        n % 2 == 0 ? 4 : 17;  // in two lines: neighbours may be wider than their bars
    painter.drawText(QRectF(left + bar_width / 2 - each, area.bottom() + line, 2 * each, 14),
                     Qt::AlignCenter, bar.label);
  }
  painter.fillRect(QRectF(area.left(), area.bottom(), area.width(), 1), theme()[Role::strong_line]);
}

}  // namespace foreshard::gui
