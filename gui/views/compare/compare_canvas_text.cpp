// What the comparison's canvas says: the names and figures of its rows and the cards of events, to
// be drawn and for assistive technology.
#include "gui/models/base/units_text.hpp"
#include "gui/views/compare/compare_canvas.hpp"
#include "gui/views/compare/lane_boxes.hpp"

namespace foreshard::gui {
namespace {

QString duration(std::int64_t ns) {
  return time_figure(static_cast<double>(ns)).text();
}

}  // namespace

CompareCanvas::RowText CompareCanvas::text_of(const Row& row) const {
  const StepComparison& step = comparison_->step;
  const SideWords& words = comparison_->sides;
  switch (row.kind) {
    case RowKind::ruler: {
      const StepChoice& choice = step.choice;
      return {choice.baseline_step == choice.candidate_step
                  ? tr("Step %1 of both").arg(choice.baseline_step)
                  : tr("Steps %1 and %2").arg(choice.baseline_step).arg(choice.candidate_step),
              {},
              {}};
    }
    case RowKind::baseline_units:
      return {tr("Units, %1").arg(words.baseline), duration(step.baseline.length_ns()), {}};
    case RowKind::candidate_units:
      return {tr("Units, %1").arg(words.candidate), duration(step.candidate.length_ns()), {}};
    case RowKind::ribbons: return {tr("difference, ms"), {}, {}};
    case RowKind::band: return {band_text(), {}, {}};
    case RowKind::drift:
      return {tr("Drift"), signed_time_text(step.drift.points.back().drift_ns),
              words.is_prediction ? QStringList{tr("predicted"), tr("− measured")}
                                  : QStringList{tr("after"), tr("− before")}};
    case RowKind::baseline_lane:
    case RowKind::both_lanes: {
      const LanePair& lane = step.lanes[row.lane];
      return {lane_name(lane.kind), duration(lane.baseline.busy_ns), {}};
    }
    case RowKind::candidate_lane:
      return {words.candidate, duration(step.lanes[row.lane].candidate.busy_ns), {}};
    case RowKind::memory: break;
  }
  RowText memory{tr("Memory"), {}, {tr("allocated, rank %1").arg(step.choice.rank)}};
  for (const profiler::RankMemoryDifference& rank : comparison_->whole->ranks) {
    if (rank.rank != step.choice.rank) continue;
    const std::int64_t apart = rank.candidate_allocated_bytes - rank.baseline_allocated_bytes;
    memory.notes << (apart == 0 ? tr("0 B apart")
                                : tr("peak %1").arg(signed_text(bytes_figure(apart), apart < 0)));
  }
  return memory;
}

QString CompareCanvas::band_text() const {
  const StepComparison& step = comparison_->step;
  if (!comparison_->band) {
    return tr("ends of the steps: %1 apart").arg(signed_time_text(step.difference_ns()));
  }
  return comparison_->band_holds(step.baseline.length_ns())
             ? tr("90 % band of the step's end; measured inside")
             : tr("90 % band of the step's end; measured outside");
}

QString CompareCanvas::event_text(const Hit& hit) const {
  const traces::Trace& trace = *side(hit.is_candidate).trace;
  const auto& found = trace.events[static_cast<std::size_t>(hit.event)];
  QString shown = QString::fromStdString(trace.strings[found.name]);
  if (found.unit != 0)
    shown += QStringLiteral(" · ") + QString::fromStdString(trace.strings[found.unit]);
  const ComparedPair* pair = comparison_->step.pair_of(hit.is_candidate, hit.event);
  if (pair == nullptr) {
    return tr("%1\n%2 %3, without a counterpart")
        .arg(shown, duration(found.end_ns - found.start_ns),
             hit.is_candidate ? comparison_->sides.candidate : comparison_->sides.baseline);
  }
  return tr("%1\n%2 %3, %4 %5: %6")
      .arg(shown, duration(pair->baseline_ns), comparison_->sides.baseline,
           duration(pair->candidate_ns), comparison_->sides.candidate,
           signed_percent_text(pair->candidate_ns, pair->baseline_ns));
}

AccessibleItem CompareCanvas::accessible_row(int number) const {
  const Row& row = rows_[static_cast<std::size_t>(number)];
  const RowText text = text_of(row);
  const QStringList parts = QStringList{text.name, text.figure} + text.notes;
  return {parts.join(QLatin1Char('\t')).trimmed(), QRectF(0, row.top, width(), row.height)};
}

std::optional<AccessibleItem> CompareCanvas::accessible_selection() const {
  if (!selected_) return std::nullopt;
  const bool is_candidate = selected_->baseline == traces::kNone;
  const std::int32_t event = is_candidate ? selected_->candidate : selected_->baseline;
  const QPointF centre = centre_of(is_candidate, event);
  return AccessibleItem{event_text({is_candidate, event}),
                        QRectF(centre - QPointF(4, 4), QSizeF(8, 8))};
}

}  // namespace foreshard::gui
