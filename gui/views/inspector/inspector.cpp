#include "gui/views/inspector/inspector.hpp"

#include <QPushButton>
#include <chrono>
#include <utility>

#include "gui/models/memory/memory_curves.hpp"
#include "gui/models/session/document.hpp"
#include "gui/paint/fonts.hpp"

namespace foreshard::gui {
namespace {

constexpr std::chrono::milliseconds kSlow{100};  // older figures turn grey then, not before
constexpr int kSameMarkPixels = 3;

}  // namespace

Inspector::Inspector(Session& session, QWidget* parent)
    : QStackedWidget(parent),
      session_(session),
      step_(new SidePanel),
      event_(new SidePanel),
      range_(new SidePanel),
      band_(new BandBar(event_)),
      twins_(new TwinStrip(event_)),
      events_(
          this, [this](EventContent content) { show_event(std::move(content)); },
          [this] { Q_EMIT busy_changed(); }),
      ranges_(
          this,
          [this](RangeAnswer answer) {
            memory_ = std::move(answer.memory);
            range_->show_content(std::move(answer.content));
            slow_range_.stop();
            range_->set_stale(false);
          },
          [this] { Q_EMIT busy_changed(); }) {
  for (QWidget* plot : std::initializer_list<QWidget*>{band_, twins_}) plot->hide();
  Selection& selection = session.selection();
  const auto follow = [&selection](EventId event) { selection.select(event); };
  for (SidePanel* panel : {step_, event_, range_}) {
    addWidget(panel);
    connect(&panel->head(), &PanelHead::rank_chosen, this, &Inspector::choose_rank);
    connect(panel, &SidePanel::event_followed, this, follow);
  }
  connect(twins_, &TwinStrip::followed, this, follow);
  connect(&selection, &Selection::event_changed, this, &Inspector::take_event);
  connect(&selection, &Selection::range_changed, this, &Inspector::take_range);
  connect(&selection, &Selection::rank_changed, this, &Inspector::take_range);
  connect(&selection, &Selection::rank_changed, this, &Inspector::show_step);
  connect(&session, &Session::documents_changed, this, &Inspector::take_event);
  connect(&session, &Session::current_changed, this, &Inspector::take_range);
  connect(&session, &Session::current_changed, this, &Inspector::show_step);

  const QString fit_key = QStringLiteral("F");
  connect(step_->add_button(tr("Zoom to step"), fit_key), &QPushButton::clicked, this,
          [this] { fit(session_.steady_step()); });
  connect(event_->add_button(tr("Zoom to it"), fit_key), &QPushButton::clicked, this, [this] {
    if (selected_event() != nullptr) fit(session_.span_there(*session_.selection().event()));
  });
  connect(event_->add_button(tr("Mark"), QStringLiteral("M")), &QPushButton::clicked, this,
          &Inspector::mark_event);
  connect(range_->add_button(tr("Zoom to range"), fit_key), &QPushButton::clicked, this, [this] {
    if (session_.selection().range()) fit(*session_.selection().range());
  });
  for (SidePanel* panel : {step_, event_, range_}) panel->add_copy_button();
  slow_range_.setSingleShot(true);
  slow_range_.setInterval(kSlow);
  connect(&slow_range_, &QTimer::timeout, this, [this] { range_->set_stale(true); });
  show_step();
  show_panel();
}

void Inspector::show_step() {
  const DocumentPtr document = session_.current();
  step_->show_content(document ? step_content(*document, session_.selection().rank())
                               : PanelContent());
}

void Inspector::show_event(EventContent content) {
  const EventColour colour = content.panel.headline.swatch.value_or(EventColour{});
  if (content.band) {
    band_->set_band(content.band->value_ns, content.band->low_ns, content.band->high_ns, colour);
    content.panel.sections[kEventFacts].plot = band_;
  }
  if (content.twins.size() > 1) content.panel.sections[kEventTwins].plot = twins_;
  twins_->set_twins(std::move(content.twins), content.current_twin, colour);
  event_->show_content(std::move(content.panel));
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
  if (selected_event() == nullptr) return events_.forget();
  const EventId selected = *session_.selection().event();
  const DocumentPtr document = session_.documents()[static_cast<std::size_t>(selected.document)];
  events_.request(
      [document, selected] { return event_content(*document, selected.document, selected.event); });
}

void Inspector::take_range() {
  is_range_newer_ = true;
  show_panel();
  const auto& range = session_.selection().range();
  const DocumentPtr document = session_.current();
  if (!range || document == nullptr) {
    slow_range_.stop();
    return ranges_.forget();
  }
  if (!slow_range_.isActive()) slow_range_.start();
  ranges_.request([document, range = *range, rank = session_.selection().rank()] {
    const auto curve = memory_curve(document->trace, rank);
    const RangeStatistics statistics = range_statistics(*document->lanes, rank, range);
    return RangeAnswer{range_content(*document, statistics, *curve), curve};
  });
}

void Inspector::show_panel() {
  const bool has_event = selected_event() != nullptr;
  const bool has_range = session_.selection().range().has_value() && session_.current() != nullptr;
  if (has_range && (is_range_newer_ || !has_event)) return setCurrentWidget(range_);
  setCurrentWidget(has_event ? event_ : step_);
}

// An event that is selected is of its own rank, so that another rank deselects it.
void Inspector::choose_rank(int rank) {
  session_.selection().select(std::nullopt);
  session_.selection().set_rank(rank);
}

void Inspector::fit(traces::Interval interval) {
  session_.axis().show(interval);
}

void Inspector::mark_event() {
  if (selected_event() == nullptr) return;
  const auto tolerance = kSameMarkPixels * session_.axis().ns_per_pixel();
  session_.selection().toggle_mark(session_.span(*session_.selection().event()).start_ns,
                                   static_cast<std::int64_t>(tolerance));
}

}  // namespace foreshard::gui
