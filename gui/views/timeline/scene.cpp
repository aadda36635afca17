#include "gui/views/timeline/scene.hpp"

#include <algorithm>
#include <cmath>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr double kSectionHeight = 24;

std::pair<std::size_t, std::size_t> events_of(const traces::Trace& trace, std::int32_t lane) {
  const auto first = std::lower_bound(trace.events.begin(), trace.events.end(), lane,
                                      [](const auto& e, std::int32_t l) { return e.lane < l; });
  const auto last = std::upper_bound(trace.events.begin(), trace.events.end(), lane,
                                     [](std::int32_t l, const auto& e) { return l < e.lane; });
  return {static_cast<std::size_t>(first - trace.events.begin()),
          static_cast<std::size_t>(last - trace.events.begin())};
}

LaneShapes shapes_of(const traces::Trace& trace, std::int32_t lane, double height,
                     traces::Interval window, double ns_per_pixel, const Theme& theme) {
  LaneShapes shapes;
  const auto [first, last] = events_of(trace, lane);
  std::int64_t cell = 1;
  while (static_cast<double>(cell) < 2 * ns_per_pixel) cell *= 2;
  for (std::size_t n = first; n < last; ++n) {
    const traces::Event& event = trace.events[n];
    if (event.end_ns < window.start_ns || event.start_ns > window.end_ns) continue;
    const QColor fill = theme[colour_of_operator(trace.strings[event.name], trace.strings[event.phase])];
    if (static_cast<double>(event.end_ns - event.start_ns) < 3 * ns_per_pixel) {
      const std::int64_t at = event.start_ns / cell * cell;
      const double share = static_cast<double>(event.end_ns - event.start_ns) / static_cast<double>(cell);
      shapes.columns.push_back({{at, at + cell}, 1, height - 2, {{fill, share}}});
    } else {
      LaneBox box;
      box.span = {event.start_ns, event.end_ns};
      box.top = 1;
      box.height = height - 2;
      box.fill = fill;
      box.text = QString::fromStdString(trace.strings[event.name]);
      shapes.boxes.push_back(box);
    }
  }
  return shapes;
}

}  // namespace

void Scene::take_documents() { lay_out(); }

void Scene::lay_out() {
  rows_.clear();
  height_ = 0;
  const auto add = [&](SceneRow row) {
    row.top = height_;
    height_ += row.height;
    rows_.push_back(std::move(row));
  };
  std::int32_t id = 0;
  for (std::size_t d = 0; d < session_.documents().size(); ++d) {
    const Document& document = *session_.documents()[d];
    SceneRow section;
    section.kind = SceneRow::Kind::section;
    section.id = id++;
    section.title = document.title;
    section.height = kSectionHeight;
    section.is_open = folded_.count(section.id) == 0;
    add(section);
    for (std::size_t l = 0; l < document.trace->lanes.size(); ++l) {
      const traces::Lane& lane = document.trace->lanes[l];
      SceneRow row;
      row.id = id++;
      row.title = QString::fromStdString(document.trace->strings[lane.name]);
      row.height = document.trace->strings[lane.name] == "compute" ? 40 : lane.device ? 22 : 16;
      row.is_predicted = document.is_predicted();
      row.document = static_cast<int>(d);
      row.lane = static_cast<std::int32_t>(l);
      if (section.is_open && hidden_.count(row.id) == 0) add(row);
    }
  }
}

const SceneRow* Scene::row_at(double y) const {
  for (const SceneRow& row : rows_) {
    if (y >= row.top && y < row.top + row.height) return &row;
  }
  return nullptr;
}

void Scene::fold(std::size_t row) {
  if (row >= rows_.size()) return;
  if (folded_.erase(rows_[row].id) == 0) folded_.insert(rows_[row].id);
  lay_out();
}
void Scene::pin(std::size_t) {}
void Scene::hide(std::size_t row) {
  if (row < rows_.size()) hidden_.insert(rows_[row].id);
  lay_out();
}
void Scene::show_hidden() {
  hidden_.clear();
  lay_out();
}
void Scene::move(std::size_t, std::size_t) {}

std::optional<SceneHit> Scene::hit(const SceneRow& row, std::int64_t ns, double reach_ns, double) const {
  if (row.lane < 0) return std::nullopt;
  const traces::Trace& trace = *session_.documents()[static_cast<std::size_t>(row.document)]->trace;
  const auto [first, last] = events_of(trace, row.lane);
  const auto reach = static_cast<std::int64_t>(reach_ns);
  for (std::size_t n = first; n < last; ++n) {
    const traces::Event& event = trace.events[n];
    if (ns < event.start_ns - reach || ns > event.end_ns + reach) continue;
    return SceneHit{index_of(row), {event.start_ns, event.end_ns}, 1, row.height - 2,
                    EventId{row.document, static_cast<std::int32_t>(n)},
                    trace.strings[event.unit], QString::fromStdString(trace.strings[event.name])};
  }
  return std::nullopt;
}

std::optional<ScenePlace> Scene::place(EventId id) const {
  const traces::Trace& trace = *session_.documents()[static_cast<std::size_t>(id.document)]->trace;
  const traces::Event& event = trace.events[static_cast<std::size_t>(id.event)];
  for (const SceneRow& row : rows_) {
    if (row.document == id.document && row.lane == event.lane) {
      return ScenePlace{index_of(row), {event.start_ns, event.end_ns}, 1, row.height - 2};
    }
  }
  return std::nullopt;
}

std::optional<EventId> Scene::beside(EventId id, int by) const {
  const traces::Trace& trace = *session_.documents()[static_cast<std::size_t>(id.document)]->trace;
  const auto next = static_cast<std::size_t>(id.event + by);
  if (next >= trace.events.size() ||
      trace.events[next].lane != trace.events[static_cast<std::size_t>(id.event)].lane) {
    return std::nullopt;
  }
  return EventId{id.document, static_cast<std::int32_t>(next)};
}
std::optional<EventId> Scene::first_in_lane(std::size_t, std::int64_t) const { return std::nullopt; }
std::optional<EventId> Scene::twin_in_rank(EventId, int) const { return std::nullopt; }
std::optional<EventId> Scene::twin_in_step(EventId, int) const { return std::nullopt; }
std::vector<SceneArrow> Scene::arrows(EventId) const { return {}; }

StepLabel Scene::step_label(std::int64_t ns) const {
  const traces::Interval step = step_at(ns);
  return {QStringLiteral("Step"), QStringLiteral("time from its start"), step.start_ns};
}

traces::Interval Scene::step_at(std::int64_t ns) const {
  for (const traces::Step& step : session_.current()->trace->steps) {
    if (ns >= step.start_ns && ns < step.end_ns) return {step.start_ns, step.end_ns};
  }
  return session_.steady_step();
}

QString Scene::figure(const SceneRow&, traces::Interval) const { return {}; }

HoverCard Scene::card(const SceneHit& hit) const {
  HoverCard card;
  card.title = hit.title;
  card.facts.push_back({QStringLiteral("Duration"),
                        time_figure(static_cast<double>(hit.span.end_ns - hit.span.start_ns)).text()});
  return card;
}
QString Scene::card_text(EventId event) const {
  const auto found = place(event);
  if (!found) return {};
  const traces::Trace& trace = *session_.documents()[static_cast<std::size_t>(event.document)]->trace;
  return QString::fromStdString(
      trace.strings[trace.events[static_cast<std::size_t>(event.event)].name]);
}
QString Scene::as_text(traces::Interval) const { return {}; }

TileCache::Fill Scene::painter(const Theme& theme, double ratio) const {
  std::vector<DocumentPtr> documents = session_.documents();
  std::map<std::int32_t, SceneRow> rows;
  for (const SceneRow& row : rows_) rows[row.id] = row;
  const std::int64_t origin = const_cast<Session&>(session_).axis().bounds().start_ns;
  return [=, &theme](const TileKey& key) {
    const SceneRow& row = rows.at(key.row);
    PixelGrid grid;
    grid.origin_ns = origin;
    grid.ns_per_pixel = key.ns_per_pixel;
    grid.ratio = ratio;
    const std::int64_t first = key.index * kTileWidth;
    const auto shapes = shapes_of(*documents[static_cast<std::size_t>(row.document)]->trace, row.lane,
                                  row.height, {grid.ns(first), grid.ns(first + kTileWidth)},
                                  key.ns_per_pixel, theme);
    return paint_tile(shapes, grid, first, kTileWidth, row.height, theme);
  };
}

void Scene::paint_shapes(QPainter&, double, const PixelGrid&, const std::vector<TileRow>&) const {}

}  // namespace foreshard::gui
