#include "gui/views/inspector/inspector.hpp"

#include <QMenu>
#include <algorithm>
#include <chrono>
#include <utility>

#include "gui/models/base/units_text.hpp"
#include "gui/models/base/words.hpp"
#include "gui/models/memory/memory_curves.hpp"
#include "gui/models/session/document.hpp"
#include "gui/models/timeline/card.hpp"
#include "gui/models/timeline/event_links.hpp"
#include "gui/models/timeline/row_text.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/views/inspector/range_content.hpp"
#include "gui/views/inspector/selection_panel.hpp"
#include "gui/views/inspector/step_panel.hpp"

namespace foreshard::gui {
namespace {

// What the inspector tells of an event, out of its card.

constexpr Words event_words("SelectionPanel");

traces::Event at(const traces::Trace& trace, EventIndex event) {
  return trace.events[static_cast<std::size_t>(event)];
}

std::int64_t length_of(const traces::Event& event) {
  return event.end_ns - event.start_ns;
}

// Numbers of like events where they have no unit to be told apart by.
QString twin_label(const traces::Trace& trace, EventIndex event, std::size_t number) {
  const traces::StringId unit = at(trace, event).unit;
  return unit == 0 ? QString::number(number + 1) : short_unit(trace.strings[unit]);
}

void tell_twins(const LaneSet& lanes, int place, EventIndex event, SelectionContent& content) {
  const traces::Trace& trace = lanes.trace();
  const std::vector<EventIndex> twins = twins_of(lanes, event);
  for (std::size_t n = 0; n < twins.size(); ++n) {
    content.twins.push_back(
        {static_cast<double>(length_of(at(trace, twins[n]))), twin_label(trace, twins[n], n)});
    content.twin_events.push_back({place, twins[n]});
    if (twins[n] == event) content.current_twin = static_cast<int>(n);
  }
  const QString like = at(trace, event).kind == traces::EventKind::communication
                           ? event_words("Same collective, %1 in this step")
                           : event_words("Same operator, %1 in this step");
  content.twins_title = like.arg(count_figure(static_cast<std::int64_t>(twins.size())).number);
}

// `place`: of the document among the open ones, for the events that links lead to. Takes a while
// where an event has many like it.
SelectionContent event_content(const Document& document, int place, EventIndex event) {
  const traces::Trace& trace = *document.trace;
  const Card card = card_of(*document.lanes, event, true);
  const traces::Event& selected = at(trace, event);
  SelectionContent content;
  content.headline.title = card.name;
  content.headline.swatch = card.colour;
  content.headline.whose =
      event_words("rank %1").arg(trace.lanes[static_cast<std::size_t>(selected.lane)].rank);
  QStringList detail;
  for (const traces::StringId part : {selected.unit, selected.phase}) {
    if (part != 0) detail << QString::fromStdString(trace.strings[part]);
  }
  content.headline.detail = detail.join(QStringLiteral(" · "));
  content.headline.detail_keys = {QStringLiteral("["), QStringLiteral("]")};
  content.headline.figure = time_figure(static_cast<double>(length_of(selected)));
  content.headline.figure_aside = card.times;
  for (const CardFact& fact : card.facts) content.facts.push_back({fact.label, fact.value});
  const auto& path = document.analysis->path.events;
  if (std::find(path.begin(), path.end(), event) != path.end()) {
    content.facts.push_back({event_words("Critical path"), event_words("on it")});
  }
  content.headline.figure_note =
      document.is_predicted() ? event_words("predicted") : event_words("measured");
  content.cost_source = card.cost_source;
  content.cost_text = card.cost;
  if (card.band) {
    content.band = {static_cast<double>(length_of(selected)),
                    static_cast<double>(card.band->start_ns),
                    static_cast<double>(card.band->end_ns)};
  }
  for (const CardLink& link : card.links) {
    Fact fact;
    fact.caption = link.label;
    fact.label = link.name;
    fact.value = link.value;
    fact.is_link = true;
    content.links.push_back(std::move(fact));
    content.link_events.push_back({place, link.event});
  }
  tell_twins(*document.lanes, place, event, content);
  content.key = card.key;
  return content;
}

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

  for (gui::Panel* panel :
       std::initializer_list<gui::Panel*>{step_panel_, selection_panel_, range_panel_})
    connect(&panel->head(), &PanelHead::whose_asked, this, &Inspector::offer_ranks);
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

// Of the document that is shown; an event that is selected is of its own rank, so that another rank deselects it.
void Inspector::offer_ranks(QPoint below) {
  if (session_.current() == nullptr) return;
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  for (const profiler::RankAnalysis& rank : session_.current()->analysis->ranks) {
    QAction* choice = menu->addAction(tr("rank %1").arg(rank.rank));
    choice->setCheckable(true);
    choice->setChecked(rank.rank == session_.selection().rank());
    connect(choice, &QAction::triggered, this, [this, number = rank.rank] {
      session_.selection().select(std::nullopt);
      session_.selection().set_rank(number);
    });
  }
  menu->popup(below);
}

void Inspector::fit(traces::Interval interval) {
  session_.axis().show(interval);
}

void Inspector::fit_event() {
  if (selected_event() != nullptr) fit(session_.span_there(*session_.selection().event()));
}

void Inspector::mark_event() {
  if (selected_event() == nullptr) return;
  const auto tolerance = kSameMarkPixels * session_.axis().ns_per_pixel();
  session_.selection().toggle_mark(session_.span(*session_.selection().event()).start_ns,
                                   static_cast<std::int64_t>(tolerance));
}

QString Inspector::as_text() const {
  if (currentWidget() == selection_panel_) return selection_panel_->as_text();
  return currentWidget() == range_panel_ ? range_panel_->as_text() : step_panel_->as_text();
}

}  // namespace foreshard::gui
