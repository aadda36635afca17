#include "gui/views/inspector/inspector.hpp"

#include <chrono>
#include <utility>

#include "gui/models/memory/memory_curves.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/views/inspector/event_content.hpp"
#include "gui/views/inspector/range_content.hpp"
#include "gui/views/inspector/step_panel.hpp"

namespace foreshard::gui {
namespace {

constexpr std::chrono::milliseconds kSlow{100};  // older figures turn grey then, not before
constexpr int kSameMarkPixels = 3;

}  // namespace

Inspector::Inspector(Session& session, QWidget* parent)
    : QStackedWidget(parent),
      session_(session),
      step_panel_(new StepPanel(session)),
      selection_panel_(new SelectionPanel),
      range_panel_(new RangePanel),
      event_(
          this,
          [this](SelectionContent content) { selection_panel_->set_content(std::move(content)); },
          [this] { Q_EMIT busy_changed(); }),
      range_(
          this,
          [this](const RangeAnswer& answer) {
            memory_ = answer.memory;
            range_panel_->set_content(answer.content);
            slow_range_.stop();
            range_panel_->set_stale(false);
          },
          [this] { Q_EMIT busy_changed(); }) {
  for (QWidget* page :
       std::initializer_list<QWidget*>{step_panel_, selection_panel_, range_panel_}) {
    addWidget(page);
  }
  Selection& selection = session.selection();
  connect(&selection, &Selection::event_changed, this, &Inspector::take_event);
  connect(&selection, &Selection::range_changed, this, &Inspector::take_range);
  connect(&selection, &Selection::rank_changed, this, &Inspector::take_range);
  connect(&session, &Session::documents_changed, this, &Inspector::take_event);
  connect(&session, &Session::current_changed, this, &Inspector::take_range);

  connect(step_panel_, &StepPanel::fit_asked, this, [this] { fit(session_.steady_step()); });
  connect(selection_panel_, &SelectionPanel::zoom_asked, this, &Inspector::fit_event);
  connect(selection_panel_, &SelectionPanel::mark_asked, this, &Inspector::mark_event);
  connect(selection_panel_, &SelectionPanel::event_followed, this,
          [this](EventId event) { session_.selection().select(event); });
  connect(range_panel_, &RangePanel::zoom_asked, this, [this] {
    if (session_.selection().range()) fit(*session_.selection().range());
  });
  slow_range_.setSingleShot(true);
  slow_range_.setInterval(kSlow);
  connect(&slow_range_, &QTimer::timeout, this, [this] { range_panel_->set_stale(true); });
  show_panel();
}

QSize Inspector::sizeHint() const {
  return {scaled(kInspectorWidth), 600};
}

traces::EventPointer Inspector::selected_event() const {
  const auto& selected = session_.selection().event();
  if (!selected || selected->document < 0 ||
      static_cast<std::size_t>(selected->document) >= session_.documents().size()) {
    return nullptr;
  }
  const auto& events =
      session_.documents()[static_cast<std::size_t>(selected->document)]->trace->events;
  const bool is_there =
      selected->event >= 0 && static_cast<std::size_t>(selected->event) < events.size();
  return is_there ? events.pointer_to(static_cast<std::size_t>(selected->event)) : nullptr;
}

void Inspector::take_event() {
  is_range_newer_ = false;
  show_panel();
  if (selected_event() == nullptr) return event_.forget();
  const EventId selected = *session_.selection().event();
  const DocumentPtr document = session_.documents()[static_cast<std::size_t>(selected.document)];
  event_.request(
      [document, selected] { return event_content(*document, selected.document, selected.event); });
}

void Inspector::take_range() {
  is_range_newer_ = true;
  show_panel();
  const auto& range = session_.selection().range();
  const DocumentPtr document = session_.current();
  if (!range || document == nullptr) {
    slow_range_.stop();
    return range_.forget();
  }
  if (!slow_range_.isActive()) slow_range_.start();
  range_.request([document, range = *range, rank = session_.selection().rank()] {
    const auto curve = memory_curve(document->trace, rank);
    const RangeStatistics statistics = range_statistics(*document->lanes, rank, range);
    return RangeAnswer{range_content(*document, statistics, *curve), curve};
  });
}

void Inspector::show_panel() {
  const bool has_event = selected_event() != nullptr;
  const bool has_range = session_.selection().range().has_value() && session_.current() != nullptr;
  if (has_range && (is_range_newer_ || !has_event)) return setCurrentWidget(range_panel_);
  setCurrentWidget(has_event ? static_cast<QWidget*>(selection_panel_) : step_panel_);
}

void Inspector::fit(traces::Interval interval) {
  session_.axis().show(interval);
}

void Inspector::fit_event() {
  if (const traces::EventPointer event = selected_event()) fit({event->start_ns, event->end_ns});
}

void Inspector::mark_event() {
  const traces::EventPointer event = selected_event();
  if (event == nullptr) return;
  const auto tolerance = kSameMarkPixels * session_.axis().ns_per_pixel();
  session_.selection().toggle_mark(event->start_ns, static_cast<std::int64_t>(tolerance));
}

QString Inspector::as_text() const {
  if (currentWidget() == selection_panel_) return selection_panel_->as_text();
  return currentWidget() == range_panel_ ? range_panel_->as_text() : step_panel_->as_text();
}

}  // namespace foreshard::gui
