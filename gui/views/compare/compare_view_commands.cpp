// The comparison view's keys and what they bring about, and what it says as text.
#include <QKeyEvent>
#include <algorithm>

#include "gui/models/base/units_text.hpp"
#include "gui/views/base/sentence_strip.hpp"
#include "gui/views/compare/causes_table.hpp"
#include "gui/views/compare/compare_canvas.hpp"
#include "gui/views/compare/compare_inspector.hpp"
#include "gui/views/compare/compare_view.hpp"

namespace foreshard::gui {
namespace {

constexpr double kZoomStep = 1.5, kPanStep = 120;

}  // namespace

void CompareView::move_steps(int by) {
  if (!comparison_) return;
  StepChoice choice = comparison_->step.choice;
  const auto moved = [by](const std::vector<std::int32_t>& steps, std::int32_t step) {
    const auto at = std::lower_bound(steps.begin(), steps.end(), step) - steps.begin();
    const auto last = static_cast<std::ptrdiff_t>(steps.size()) - 1;
    return steps[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(at + by, 0, last))];
  };
  choice.baseline_step = moved(steps_of(*baseline_->trace), choice.baseline_step);
  choice.candidate_step = moved(steps_of(*candidate_->trace), choice.candidate_step);
  choose_step(choice);
}

void CompareView::select_beside(int by) {
  if (!comparison_) return;
  const auto& selected = session().selection().event();
  if (!selected) return move_steps(by);
  const bool is_candidate = selected->document == compared_->candidate;
  if (!is_candidate && selected->document != compared_->baseline) return move_steps(by);
  for (const LanePair& lane : comparison_->step.lanes) {
    const auto& boxes = (is_candidate ? lane.candidate : lane.baseline).boxes;
    const auto here = std::find_if(boxes.begin(), boxes.end(), [&](const ComparedBox& box) {
      return box.event == selected->event;
    });
    if (here == boxes.end()) continue;
    const auto next = here - boxes.begin() + by;
    if (next < 0 || next >= static_cast<std::ptrdiff_t>(boxes.size())) return;
    return select_event(is_candidate, boxes[static_cast<std::size_t>(next)].event);
  }
}

void CompareView::step_causes(int rows) {
  causes_->step(rows);
  point_to_worst();
}

void CompareView::point_to_worst() {
  const Cause* cause = causes_->current();
  if (cause == nullptr || comparison_ == nullptr) return;
  if (const auto* pair = comparison_->step.worst_pair(cause->name)) {
    select_event(false, pair->events.baseline);
  }
  show_cause();  // of the operator, not of the pair
}

void CompareView::keyPressEvent(QKeyEvent* event) {
  TimeAxis& axis = canvas_->axis();
  const double much = event->modifiers() & Qt::ShiftModifier ? 4 : 1;
  if (event->modifiers() & Qt::AltModifier) {
    if (event->key() == Qt::Key_Left) return move_steps(-1);
    if (event->key() == Qt::Key_Right) return move_steps(1);
  }
  switch (event->key()) {
    case Qt::Key_W: return axis.zoom(kZoomStep * much, axis.width() / 2);
    case Qt::Key_S: return axis.zoom(1 / (kZoomStep * much), axis.width() / 2);
    case Qt::Key_A:
    case Qt::Key_Left: return axis.pan(-kPanStep * much);
    case Qt::Key_D:
    case Qt::Key_Right: return axis.pan(kPanStep * much);
    case Qt::Key_F:
    case Qt::Key_0: return canvas_->fit();
    case Qt::Key_BracketRight: return step_causes(1);
    case Qt::Key_BracketLeft: return step_causes(-1);
    case Qt::Key_Period: return select_beside(1);
    case Qt::Key_Comma: return select_beside(-1);
    case Qt::Key_Escape: return session().selection().clear();
    default: View::keyPressEvent(event);
  }
}

std::vector<KeyHelp> CompareView::keys() const {
  return {{tr("next, previous worst difference"), tr("]  [")},
          {tr("next, previous in the lane; with nothing selected, step"), tr(".  ,")},
          {tr("next, previous step of both"), tr("Alt+Right  Alt+Left")},
          {tr("zoom in, out"), tr("W  S, Ctrl+wheel")},
          {tr("pan"), tr("A  D, drag, Shift+wheel")},
          {tr("whole step"), tr("F  0")}};
}

QString CompareView::status() const {
  if (!comparison_) return {};
  const StepChoice& choice = comparison_->step.choice;
  const auto text = [](std::int64_t ns) { return time_figure(static_cast<double>(ns)).text(); };
  return tr("step %1 · rank %2 · %3 – %4")
      .arg(choice.baseline_step)
      .arg(choice.rank)
      .arg(text(std::max<std::int64_t>(canvas_->axis().start_ns(), 0)),
           text(canvas_->axis().end_ns()));
}

QString CompareView::as_text() const {
  const Sentence& sentence = strip_->sentence();
  QString text = sentence.lead + QLatin1Char(' ') + sentence.text + QLatin1Char('\n') +
                 sentence.detail + QLatin1Char('\n');
  return comparison_ ? text + inspector_->as_text() + QStringLiteral("\n\n") + causes_->as_text()
                     : text;
}

}  // namespace foreshard::gui
