// What is at a place of the scene, and how events belong together.
#include <algorithm>
#include <cmath>

#include "gui/models/base/units_text.hpp"
#include "gui/models/timeline/card.hpp"
#include "gui/models/timeline/row_text.hpp"
#include "gui/views/timeline/scene.hpp"

namespace foreshard::gui {
namespace {

constexpr double kBoxGap = 1;

const LaneSet& lanes_of(const SceneContent& content, int document) {
  return *content.parts[static_cast<std::size_t>(document)].document->lanes;
}

QString duration_of(const traces::Interval& span) {
  return time_figure(static_cast<double>(span.end_ns - span.start_ns)).text();
}

}  // namespace

std::size_t item_at(const Row& row, std::int64_t ns, double reach_ns) {
  const auto distance = [&](std::size_t item) {
    const traces::Interval span = row.span(item);
    return static_cast<double>(std::max({span.start_ns - ns, ns - span.end_ns, std::int64_t{0}}));
  };
  const std::size_t after = row.first_ending_after(ns);
  std::size_t best = row.size();
  double nearest = reach_ns;
  for (const std::size_t item : {after, after - 1}) {
    if (item >= row.size() || distance(item) > nearest) continue;
    best = item;
    nearest = std::min(nearest, distance(item) - 0.5);
  }
  return best;
}

std::optional<SceneHit> Scene::hit(const SceneRow& row, double y, std::int64_t ns,
                                   double reach_ns) const {
  if (row.kind == SceneRow::Kind::section) return std::nullopt;
  const RowId id = RowId::of(row.id);
  const std::int64_t offset = offset_ns(id.document);
  ns -= offset;
  SceneHit hit;
  hit.row = index_of(row);
  if (row.kind == SceneRow::Kind::unit) {
    const GatheredUnit& unit = content_->gathered->units[id.index];
    hit.unit = document(id.document).trace->strings[unit.unit];
    hit.title = short_unit(hit.unit);
    hit.top = kBoxGap;
    hit.height = row.height - 2 * kBoxGap;
    for (const GatheredSpan& span : unit.spans) {
      if (static_cast<double>(span.held.start_ns - ns) > reach_ns ||
          static_cast<double>(ns - span.held.end_ns) > reach_ns) {
        continue;
      }
      hit.span = span.held;
      return hit;
    }
    return std::nullopt;
  }
  const std::vector<LaneBand> bands = content_->bands(id);
  for (const LaneBand& band : bands) {
    const bool is_there = bands.size() == 1 || (band.top <= y && y < band.top + band.height);
    const Row& lane = lanes_of(*content_, id.document).rows()[band.row];
    const std::size_t item = is_there ? item_at(lane, ns, reach_ns) : lane.size();
    if (item >= lane.size()) continue;
    hit.top = band.top;
    hit.height = band.height;
    hit.span = later(lane.span(item), offset);
    hit.title = box_text(lane, item).full;
    hit.unit = lane.trace().strings[lane.unit(item)];
    if (const std::int32_t event = lane.event(item); event != traces::kNone) {
      hit.event = EventId{id.document, event};
    }
    return hit;
  }
  return std::nullopt;
}

bool Scene::has(EventId id) const {
  return id.document >= 0 && id.document < static_cast<int>(content_->parts.size()) &&
         id.event >= 0 &&
         static_cast<std::size_t>(id.event) < document(id.document).trace->events.size();
}

// In its own row, else in that of its rank, else in that of its rank's block.
std::optional<ScenePlace> Scene::place(EventId event) const {
  if (!has(event)) return std::nullopt;
  const LaneSet& lanes = lanes_of(*content_, event.document);
  const std::size_t lane = lanes.place(event.event).row;
  const std::size_t group = lanes.group_of(lane);
  const std::pair<RowId::Kind, std::size_t> places[] = {
      {RowId::Kind::lane, lane},
      {RowId::Kind::group, group},
      {RowId::Kind::block, group / kRanksOfBlock}};
  RowId id;
  id.document = event.document;
  for (const auto& [kind, index] : places) {
    id.kind = kind;
    id.index = index;
    for (const bool is_low : {false, true}) {
      id.is_low = is_low;
      const auto row = row_of_id_.find(id.number());
      if (row == row_of_id_.end()) continue;
      for (const LaneBand& band : content_->bands(id)) {
        if (band.row == lane) return ScenePlace{row->second, band.top, band.height};
      }
    }
  }
  return std::nullopt;
}

std::optional<EventId> Scene::beside(EventId event, int by) const {
  const LaneSet& lanes = lanes_of(*content_, event.document);
  const RowPlace place = lanes.place(event.event);
  if (place.row >= lanes.rows().size()) return std::nullopt;
  const Row& row = lanes.rows()[place.row];
  const std::size_t item = place.item + static_cast<std::size_t>(by);  // below 0: beyond the size
  if (item >= row.size()) return std::nullopt;
  return EventId{event.document, row.event(item)};
}

std::optional<EventId> Scene::first_in_lane(std::size_t row, std::int64_t from_ns) const {
  if (row >= rows_.size() || rows_[row].kind == SceneRow::Kind::unit) return std::nullopt;
  const RowId id = RowId::of(rows_[row].id);
  const std::vector<LaneBand> bands = content_->bands(id);
  if (bands.empty()) return std::nullopt;
  const Row& lane = lanes_of(*content_, id.document).rows()[bands.front().row];
  const std::size_t item = lane.first_ending_after(from_ns - offset_ns(id.document));
  if (lane.is_derived() || item >= lane.size()) return std::nullopt;
  return EventId{id.document, lane.event(item)};
}

std::optional<EventId> Scene::twin_in_rank(EventId event, int by) const {
  const auto twin = same_in_rank(lanes_of(*content_, event.document), event.event, by);
  return twin ? std::optional(EventId{event.document, *twin}) : std::nullopt;
}

std::optional<EventId> Scene::twin_in_step(EventId event, int by) const {
  const auto twin = same_in_step(lanes_of(*content_, event.document), event.event, by);
  return twin ? std::optional(EventId{event.document, *twin}) : std::nullopt;
}

std::optional<EventId> Scene::twin_in_trace(EventId event) const {
  if (!has(event)) return std::nullopt;
  const int count = static_cast<int>(content_->parts.size());
  for (int n = 1; n < count; ++n) {
    const int other = (event.document + n) % count;
    const auto twin =
        same_in_trace(lanes_of(*content_, event.document), event.event, lanes_of(*content_, other));
    if (twin) return EventId{other, *twin};
  }
  return std::nullopt;
}

std::vector<SceneArrow> Scene::arrows(EventId event) const {
  if (arrows_ && arrows_->first == event) return arrows_->second;
  std::vector<SceneArrow> arrows;
  if (has(event)) {
    const EventLinks links = links_of(lanes_of(*content_, event.document), event.event);
    const auto of = [&](EventIndex other) { return EventId{event.document, other}; };
    if (links.waited_for) arrows.push_back({of(*links.waited_for), event});
    if (links.launched_by) arrows.push_back({of(*links.launched_by), event});
    if (links.then) arrows.push_back({event, of(*links.then)});
    for (const EventIndex partner : links.partners) arrows.push_back({event, of(partner)});
  }
  arrows_.emplace(event, arrows);
  return arrows;
}

QString Scene::sentence_of_nothing(const Document& of) {
  switch (of.kind) {
    case traces::RecordingKind::snapshot: return tr("A snapshot has no kernels.");
    case traces::RecordingKind::event_list: return tr("An allocator's history has no kernels.");
    default: return tr("%1 holds no events.").arg(of.title);
  }
}

// The step at that moment, or the last that began before it.
StepLabel Scene::step_label(std::int64_t ns) const {
  const DocumentPtr current = session_.current();
  const StepSpan* step = current == nullptr ? nullptr : current->step_at(ns);
  if (step == nullptr || step->span.start_ns > ns)
    return {tr("Trace"), tr("time from its start"), session_.axis().bounds().start_ns};
  return {step->number == 0 ? tr("Set-up") : tr("Step %1").arg(step->number),
          tr("time from its start"), step->span.start_ns};
}

traces::Interval Scene::step_at(std::int64_t ns) const {
  const DocumentPtr current = session_.current();
  const StepSpan* step = current == nullptr ? nullptr : current->step_at(ns);
  const bool is_within = step != nullptr && ns >= step->span.start_ns && ns < step->span.end_ns;
  return is_within ? step->span : session_.steady_step();
}

HoverCard Scene::card(const SceneHit& hit) const {
  const SceneRow& row = rows_[hit.row];
  const RowId id = RowId::of(row.id);
  HoverCard out;
  out.title = hit.title;
  out.facts.emplace_back(tr("Duration"), duration_of(hit.span));
  if (hit.event) {
    const Document& one = document(hit.event->document);
    const Card card = card_of(*one.lanes, hit.event->event, false);
    out.title = card.name;
    out.swatch = theme()[card.colour];
    out.subtitle = card.place;
    for (const CardFact& fact : card.facts) out.facts.emplace_back(fact.label, fact.value);
    if (card.band) {
      out.facts.emplace_back(tr("90 % band"), range_text(*card.band));
    }
    out.note = card.cost;
    return out;
  }
  const SceneContent& content = *content_;
  const LaneShapes shapes =
      content.shapes(id, later(hit.span, -offset_ns(id.document)), 1, theme());
  if (!shapes.boxes.empty()) out.swatch = shapes.boxes.back().fill;
  if (row.kind != SceneRow::Kind::unit) return out;
  const GatheredUnit& unit = content.gathered->units[id.index];
  out.facts.clear();
  for (const GatheredSpan& span : unit.spans) {
    if (!(span.held == hit.span)) continue;
    out.facts.emplace_back(tr("All-gather"), duration_of(span.gathering));
    out.facts.emplace_back(tr("Unsharded"), duration_of(span.held));
    out.facts.emplace_back(tr("In use"), duration_of(span.used));
  }
  if (unit.bytes > 0) out.facts.emplace_back(tr("Size"), bytes_figure(unit.bytes).text());
  return out;
}

QString Scene::card_text(EventId event) const {
  const Document& one = document(event.document);
  return card_of(*one.lanes, event.event, true).text();
}

}  // namespace foreshard::gui
