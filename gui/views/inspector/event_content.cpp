#include "gui/views/inspector/event_content.hpp"

#include <algorithm>
#include <utility>

#include "gui/models/base/units_text.hpp"
#include "gui/models/base/words.hpp"
#include "gui/models/timeline/card.hpp"
#include "gui/models/timeline/row_text.hpp"

namespace foreshard::gui {
namespace {

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

}  // namespace

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

}  // namespace foreshard::gui
