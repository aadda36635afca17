#include "gui/views/timeline/timeline_view.hpp"

#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <vector>

#include "gui/models/base/units_text.hpp"
#include "gui/models/base/words.hpp"
#include "gui/models/session/document.hpp"
#include "gui/models/timeline/step_figures.hpp"
#include "gui/views/base/figure_strip.hpp"

namespace foreshard::gui {
namespace {

// The figures of a step for the strip above the timeline.

constexpr Words said("Timeline");

std::vector<StripFigure> step_strip(const Document& document) {
  const StepFigures step = step_figures(*document.trace, *document.analysis);
  std::vector<StripFigure> strip;
  const auto add = [&](const char* label, Figure figure, QString note = {}, int link = -1) {
    strip.push_back({said(label), std::move(figure), std::move(note), Role::text2, {}, link});
  };
  if (step.step_ns > 0) {
    QString band;
    if (step.band.end_ns > 0) {
      band = said("90 %: %1")
                 .arg(time_range_text(static_cast<double>(step.band.start_ns),
                                      static_cast<double>(step.band.end_ns)));
    }
    add("Step time", time_figure(static_cast<double>(step.step_ns)), band, TimelineView::kSteps);
  }
  if (step.tokens_per_s > 0) {
    add("Throughput", {count_figure(std::llround(step.tokens_per_s)).text(), said("tokens/s")});
  }
  if (step.mfu > 0 && step.mfu <= 1) {
    add("MFU", {QString::number(100 * step.mfu, 'f', 1), QStringLiteral("%")});
  }
  if (step.span_ns > 0) {
    add("Device events span", time_figure(static_cast<double>(step.span_ns)), said("no steps"));
    const double share = static_cast<double>(step.busy_ns) / static_cast<double>(step.span_ns);
    add("Device busy", {QString::number(100 * share, 'f', 1), QStringLiteral("%")},
        time_figure(static_cast<double>(step.busy_ns)).text());
  }
  const std::int64_t whole = std::max(step.step_ns, step.span_ns);
  if (whole > 0 && step.has_device) {
    if (step.lacks_communication) {
      add("Exposed communication", {QStringLiteral("-"), {}}, said("no communication recorded"));
    } else {
      const double share = static_cast<double>(step.exposed_ns) / static_cast<double>(whole);
      add("Exposed communication", time_figure(static_cast<double>(step.exposed_ns)),
          said(step.step_ns > 0 ? "%1 of the step" : "%1 of the span").arg(percent_text(share)),
          TimelineView::kExposed);
    }
  }
  if (step.peak_reserved > 0) {
    QString capacity;
    if (step.capacity > 0) {
      const auto& ranks = document.analysis->ranks;
      const bool fits = std::none_of(ranks.begin(), ranks.end(),
                                     [](const auto& rank) { return rank.ran_out.has_value(); });
      capacity = said(fits ? "of %1 \u00b7 fits" : "of %1 \u00b7 does not fit")
                     .arg(bytes_figure(step.capacity).text());
    }
    add("Peak reserved", bytes_figure(step.peak_reserved), capacity, TimelineView::kPeak);
  }
  if (step.peak_allocated > 0)
    add("Peak allocated", bytes_figure(step.peak_allocated), {}, TimelineView::kPeak);
  return strip;
}

}  // namespace

TimelineView::TimelineView(Session& session, QWidget* parent)
    : View(session, parent), canvas_(new TimelineCanvas(session)), strip_(new FigureStrip(this)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(canvas_);
  setFocusProxy(canvas_);
  strip_->hide();  // until the window shows it
  connect(canvas_, &TimelineCanvas::busy_changed, this, &View::busy_changed);
  connect(canvas_, &TimelineCanvas::search_left, this, &TimelineView::search_left);
  connect(strip_, &FigureStrip::followed, this, [this](int link) {
    if (link == kPeak) return canvas_->go_to_peak();
    Q_EMIT list_asked(static_cast<Link>(link));
  });
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
  const std::int64_t origin =
      canvas_->scene().step_label((window.start_ns + window.end_ns) / 2).origin_ns;
  return tr("%1 · %2 events")
      .arg(time_range_text(static_cast<double>(window.start_ns - origin),
                           static_cast<double>(window.end_ns - origin)),
           count_figure(static_cast<std::int64_t>(document->trace->events.size())).text());
}

Description TimelineView::description() const {
  Description all = description_of(session().current());
  all.headline = strip_->accessibleName();
  return all;
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
      {tr("Previous, next event in the track"), tr(", .")},
      {tr("Cause, effect along the arrow"), tr("[ ]")},
      {tr("Same instruction in another rank"), tr("Alt+Up, Alt+Down")},
      {tr("Same instruction in another step"), tr("Alt+Left, Alt+Right")},
      {tr("Same instruction in another trace"), tr("Tab")},
      {tr("Set or remove a mark"), tr("M")},
      {tr("Go to the next mark"), tr("Shift+M")},
      {tr("Collapse or expand a track, a rank, ranks"), tr("Space, click on its header")},
      {tr("Pin, hide a track"), tr("P, H")},
      {tr("Show hidden tracks"), tr("Shift+H")},
      {tr("Colour by phase, unit, operator, cost source"), tr("C")},
      {tr("Memory clock"), tr("T")},
      {tr("Peak of memory"), tr("K")},
      {tr("Copy as text"), tr("Ctrl+C")},
      {tr("Clear the search, then the range, then the selection"), tr("Esc")},
  };
}

}  // namespace foreshard::gui
