// What is told of one event: on the card that the pointer gets, and in the panel of the selection.
#pragma once

#include <QString>
#include <optional>
#include <vector>

#include "gui/models/base/colour_role.hpp"
#include "gui/models/timeline/event_links.hpp"
#include "gui/models/timeline/lane_set.hpp"

namespace foreshard::gui {

struct CardFact {
  QString label, value;
};

// An event that the selected one is connected with.
struct CardLink {
  QString label;  // "waited for", "then", "launched by"
  QString name;
  QString value;  // its duration, or how far ahead the host was
  EventIndex event = 0;
};

struct Card {
  QString name;
  EventColour colour;
  QString place;  // "layers.16, forward, rank 0"
  QString duration;
  QString times;  // "314.75 – 316.92 ms", from its step's start
  std::vector<CardFact> facts;
  QString cost_source;                   // "modelled"; empty of what no cost model was asked for
  QString cost;                          // the same in a sentence
  std::optional<traces::Interval> band;  // that holds its duration with 90 %, where one is known
  std::vector<CardLink> links;
  QString key;  // stable key

  QString text() const;  // for the clipboard and for screen readers
};

// The facts of links cost a search through the rank's streams; a hover card does without them.
Card card_of(const LaneSet& lanes, EventIndex event, bool with_links);

// The begin of the event's step on its rank; 0 outside of all steps.
std::int64_t origin_of(const traces::Trace& trace, const traces::Event& event);

QString range_text(const traces::Interval& range);  // "314.75 – 316.92 ms"

}  // namespace foreshard::gui
