#include "gui/views/timeline/timeline_view.hpp"

#include <QVBoxLayout>

#include "gui/models/base/units_text.hpp"
#include "gui/views/timeline/step_strip.hpp"

namespace foreshard::gui {

TimelineView::TimelineView(Session& session, QWidget* parent)
    : View(session, parent), canvas_(new TimelineCanvas(session)), strip_(new FigureStrip(this)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(canvas_);
  setFocusProxy(canvas_);
  strip_->hide();  // until the window shows it
  connect(canvas_, &TimelineCanvas::busy_changed, this, &View::busy_changed);
  connect(canvas_, &TimelineCanvas::search_left, this, &TimelineView::search_left);
  connect(&session.axis(), &TimeAxis::changed, this, &View::status_changed);
  const auto take = [this] {
    const DocumentPtr document = this->session().current();
    strip_->set_figures(document == nullptr ? std::vector<StripFigure>() : step_strip(*document));
    Q_EMIT status_changed();
  };
  connect(&session, &Session::current_changed, this, take);
  take();
}

QString TimelineView::status() const {
  const DocumentPtr document = session().current();
  if (document == nullptr) return {};
  const traces::Interval window = session().axis().window();
  const std::int64_t origin = session().steady_step().start_ns;
  return tr("%1 – %2 · %3 events")
      .arg(time_figure(static_cast<double>(window.start_ns - origin)).text(),
           time_figure(static_cast<double>(window.end_ns - origin)).text(),
           count_figure(static_cast<std::int64_t>(document->trace->events.size())).text());
}

std::vector<KeyHelp> TimelineView::keys() const {
  return {
      {tr("Zoom in, out"), tr("W S, Ctrl+wheel")},
      {tr("Pan"), tr("A D, arrows, drag, Shift+wheel")},
      {tr("Four times as far"), tr("Shift with W A S D")},
      {tr("Rows"), tr("Up Down, wheel")},
      {tr("Select a range"), tr("Shift+drag, drag on the ruler")},
      {tr("Range of the selected event"), tr("R")},
      {tr("Fit the selection, then the step"), tr("F")},
      {tr("Fit an event, or the step"), tr("Double-click")},
      {tr("Fit the whole trace"), tr("0")},
      {tr("Previous, next event in the lane"), tr(", .")},
      {tr("Cause, effect along the arrow"), tr("[ ]")},
      {tr("Same instruction in another rank"), tr("Alt+Up, Alt+Down")},
      {tr("Same instruction in another step"), tr("Alt+Left, Alt+Right")},
      {tr("Set or remove a mark"), tr("M")},
      {tr("Go to the next mark"), tr("Shift+M")},
      {tr("Fold or unfold a lane, a rank, ranks"), tr("Space, click on its header")},
      {tr("Pin, hide a lane"), tr("P, H")},
      {tr("Show hidden lanes"), tr("Shift+H")},
      {tr("Colour by phase, unit, operator, cost source"), tr("C")},
      {tr("Memory clock"), tr("T")},
      {tr("Peak of memory"), tr("K")},
      {tr("Copy as text"), tr("Ctrl+C")},
      {tr("Clear the search, then the range, then the selection"), tr("Esc")},
  };
}

}  // namespace foreshard::gui
