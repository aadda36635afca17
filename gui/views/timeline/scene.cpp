#include "gui/views/timeline/scene.hpp"

#include <QtConcurrentRun>
#include <algorithm>
#include <cmath>

#include "gui/models/base/cost_words.hpp"
#include "gui/models/base/units_text.hpp"
#include "gui/models/timeline/row_text.hpp"

namespace foreshard::gui {
namespace {

constexpr std::size_t kFewUnits = 12;  // as many have rows high enough for names

std::size_t lanes_before_folding(const RankGroup& group) {
  return group.first + group.count;
}

std::int64_t dropped_records(const traces::Trace& trace) {
  std::int64_t count = 0;
  for (const auto& [reason, records] : trace.dropped) count += records;
  return count;
}

// Which share of a prediction's work has which colour.
std::vector<LegendEntry> cost_legend(const profiler::Analysis& analysis) {
  double total_ns = 0;
  for (const auto& one : analysis.cost_sources) total_ns += static_cast<double>(one.total_ns);
  std::vector<LegendEntry> legend;
  for (const auto& one : analysis.cost_sources) {
    LegendEntry& entry = legend.emplace_back();
    entry.text = cost_source_word(one.source);
    if (total_ns > 0) {
      entry.text += QLatin1Char(' ') + percent_text(static_cast<double>(one.total_ns) / total_ns);
    }
    entry.colour = theme()[role_of_cost_source(one.source)];
    entry.is_hatched = one.source == CostSource::modelled;
  }
  return legend;
}

}  // namespace

Scene::Scene(Session& session)
    : session_(session), content_(std::make_shared<const SceneContent>()) {
  connect(&gathering_, &QFutureWatcherBase::finished, this, [this] {
    is_gathering_ = false;
    if (gathering_.isCanceled() || gathering_.future().resultCount() == 0) return;
    auto content = std::make_shared<SceneContent>(*content_);
    content->gathered = gathering_.result();
    content_ = std::move(content);
    Q_EMIT changed();
  });
  connect(&highlights_, &Highlights::changed, this, [this] {
    take_highlights();
    Q_EMIT changed();
  });
  connect(&highlights_, &Highlights::busy_changed, this, &Scene::busy_changed);
}

const Document& Scene::document(int index) const {
  return *content_->parts[static_cast<std::size_t>(index)].document;
}

void Scene::take_documents() {
  auto content = std::make_shared<SceneContent>();
  content->colouring = content_->colouring;
  const auto& documents = session_.documents();
  const bool has_measured = std::any_of(documents.begin(), documents.end(),
                                        [](const auto& one) { return !one->is_predicted(); });
  for (const DocumentPtr& one : documents) {
    content->parts.push_back({one, one->is_predicted() && has_measured});
  }
  content->current = session_.current_index();
  content_ = std::move(content);
  trace_paths();
  take_highlights();
  arrows_.reset();
  steps_.clear();
  const DocumentPtr current = session_.current();
  is_gathering_ = current != nullptr;
  if (!is_gathering_) return gathering_.setFuture({});
  for (const traces::Step& step : current->trace->steps) {
    const auto [known, is_new] =
        steps_.try_emplace(step.step, traces::Interval{step.start_ns, step.end_ns});
    known->second.start_ns = std::min(known->second.start_ns, step.start_ns);
    known->second.end_ns = std::max(known->second.end_ns, step.end_ns);
  }
  const int rank = session_.selection().rank();
  gathering_.setFuture(QtConcurrent::run([current, rank] {
    return std::make_shared<const GatheredUnits>(gathered_units(*current->trace, rank));
  }));
}

void Scene::add(SceneRow row) {
  row.top = height_;
  height_ += row.height;
  row_of_id_[row.id] = rows_.size();
  rows_.push_back(std::move(row));
}

SceneRow Scene::lane_row(int document_index, std::size_t index) const {
  RowId id;
  id.document = document_index;
  id.index = index;
  const std::int32_t base = id.number();
  id.is_low = folded_.count(base) != 0;
  const Row& lane = document(document_index).lanes->rows()[index];
  SceneRow row;
  row.id = id.number();
  if (lane.depth == 0) row.title = QString::fromStdString(lane.title);
  row.height = content_->height_of(id);
  row.is_open = !id.is_low;
  row.is_predicted = document(document_index).is_predicted();
  row.is_pinned = std::find(pinned_.begin(), pinned_.end(), base) != pinned_.end();
  return row;
}

void Scene::lay_out() {
  constexpr double kBelow = 6;
  rows_.clear();
  row_of_id_.clear();
  height_ = 0;
  for (const std::int32_t pinned : pinned_) {
    const RowId id = RowId::of(pinned);
    if (id.document < static_cast<int>(content_->parts.size()) &&
        id.index < document(id.document).lanes->rows().size()) {
      add(lane_row(id.document, id.index));
    }
  }
  for (int n = 0; n < static_cast<int>(content_->parts.size()); ++n) {
    for (std::size_t group = 0; group < document(n).lanes->groups().size(); ++group) {
      lay_out_group(n, group);
    }
  }
  lay_out_units();
  if (!rows_.empty()) height_ += kBelow;
}

void Scene::lay_out_group(int document_index, std::size_t index) {
  const Document& one = document(document_index);
  const RankGroup& group = one.lanes->groups()[index];
  if (group.count == 0) return;
  RowId id;
  id.kind = RowId::Kind::group;
  id.document = document_index;
  id.index = index;
  SceneRow section;
  section.kind = SceneRow::Kind::section;
  section.id = id.number();
  section.height = content_->height_of(id);
  section.is_open = folded_.count(section.id) == 0;
  section.title = QString::fromStdString(group.title);
  if (content_->parts.size() > 1) section.title = one.title + QStringLiteral(" · ") + section.title;
  if (group.ranks.size() > 1) {
    section.note = tr("%1 identical programs, drawn once").arg(group.ranks.size());
  }
  if (const std::int64_t dropped = dropped_records(*one.trace); dropped > 0) {
    if (!section.note.isEmpty()) section.note += QStringLiteral(" · ");
    section.note += tr("%1 records were dropped").arg(count_figure(dropped).text());
  }
  if (content_->colouring == ColourBy::cost_source) section.legend = cost_legend(*one.analysis);
  const bool is_open = section.is_open;
  add(std::move(section));
  if (!is_open) return;

  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t row = group.first; row < lanes_before_folding(group); ++row) {
    RowId lane;
    lane.document = document_index;
    lane.index = row;
    const auto moved = moved_.find(lane.number());
    order.emplace_back(moved == moved_.end() ? static_cast<double>(row) : moved->second, row);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [place, index_of_row] : order) {
    SceneRow row = lane_row(document_index, index_of_row);
    RowId lane = RowId::of(row.id);
    lane.is_low = false;
    if (hidden_.count(lane.number()) == 0 && !row.is_pinned) add(std::move(row));
  }
}

// The units held in the window where they are few, else all.
std::vector<std::size_t> Scene::units_in_view() const {
  std::vector<std::size_t> all, in_view;
  if (content_->gathered == nullptr) return all;
  const traces::Interval window = session_.axis().window();
  for (std::size_t n = 0; n < content_->gathered->units.size(); ++n) {
    all.push_back(n);
    const auto& spans = content_->gathered->units[n].spans;
    const bool is_held = std::any_of(spans.begin(), spans.end(), [&](const GatheredSpan& span) {
      return span.held.start_ns < window.end_ns && span.held.end_ns > window.start_ns;
    });
    if (is_held) in_view.push_back(n);
  }
  return in_view.size() <= kFewUnits && !in_view.empty() ? in_view : all;
}

bool Scene::is_layout_stale() const {
  return units_in_view() != units_shown_;
}

void Scene::lay_out_units() {
  units_shown_ = units_in_view();
  if (units_shown_.empty()) return;
  const GatheredUnits& gathered = *content_->gathered;
  RowId id;
  id.kind = RowId::Kind::units;
  SceneRow section;
  section.kind = SceneRow::Kind::section;
  section.id = id.number();
  section.height = content_->height_of(id);
  section.is_open = folded_.count(section.id) == 0;
  section.title = tr("Gathered units");
  section.note = gathered.most == 1 ? tr("at most 1 unit at once")
                                    : tr("at most %1 units at once").arg(gathered.most);
  if (gathered.most_bytes > 0) {
    section.note += QStringLiteral(" · ") + bytes_figure(gathered.most_bytes).text();
  }
  section.legend = {{tr("gathering"), theme()[Role::all_gather]},
                    {tr("held, not in use"), theme()[Role::strong_line]},
                    {tr("in use"), {}, true}};
  const bool is_open = section.is_open;
  add(std::move(section));
  if (!is_open) return;
  const bool is_low = units_shown_.size() > kFewUnits;
  const Document& current = document(content_->current);
  for (const std::size_t unit : units_shown_) {
    id.kind = RowId::Kind::unit;
    id.document = content_->current;
    id.index = unit;
    id.is_low = is_low;
    SceneRow row;
    row.kind = SceneRow::Kind::unit;
    row.id = id.number();
    row.height = content_->height_of(id);
    row.is_predicted = current.is_predicted();
    constexpr std::size_t kEvery = 8;  // low rows have room for the name of every eighth
    if (!is_low || unit % kEvery == 0 || unit + 1 == gathered.units.size()) {
      row.title = short_unit(current.trace->strings[gathered.units[unit].unit]);
    }
    add(std::move(row));
  }
}

const SceneRow* Scene::row_at(double y) const {
  const auto after = std::upper_bound(rows_.begin(), rows_.end(), y,
                                      [](double at, const SceneRow& row) { return at < row.top; });
  if (after == rows_.begin() || y >= height_) return nullptr;
  return &*std::prev(after);
}

std::int32_t Scene::base_id(std::size_t row) const {
  RowId id = RowId::of(rows_[row].id);
  id.is_low = false;
  return id.number();
}

void Scene::fold(std::size_t row) {
  if (row >= rows_.size() || rows_[row].kind == SceneRow::Kind::unit) return;
  const std::int32_t id = base_id(row);
  if (folded_.erase(id) == 0) folded_.insert(id);
}

void Scene::pin(std::size_t row) {
  if (row >= rows_.size() || rows_[row].kind != SceneRow::Kind::lane) return;
  const std::int32_t id = base_id(row);
  const auto known = std::find(pinned_.begin(), pinned_.end(), id);
  if (known == pinned_.end()) {
    pinned_.push_back(id);
  } else {
    pinned_.erase(known);
  }
}

void Scene::hide(std::size_t row) {
  if (row < rows_.size() && rows_[row].kind == SceneRow::Kind::lane) hidden_.insert(base_id(row));
}

void Scene::show_hidden() {
  hidden_.clear();
}

// Within a group: a row takes the place above or below the one that it was dropped on.
void Scene::move(std::size_t row, std::size_t onto) {
  if (row == onto || row >= rows_.size() || onto >= rows_.size()) return;
  const RowId from = RowId::of(rows_[row].id), to = RowId::of(rows_[onto].id);
  if (from.kind != RowId::Kind::lane || to.kind != RowId::Kind::lane) return;
  const auto known = moved_.find(base_id(onto));
  const double place = known == moved_.end() ? static_cast<double>(to.index) : known->second;
  moved_[base_id(row)] = place + (row < onto ? 0.5 : -0.5);
}

void Scene::next_colouring() {
  auto content = std::make_shared<SceneContent>(*content_);
  content->colouring = static_cast<ColourBy>((static_cast<int>(content->colouring) + 1) %
                                             static_cast<int>(ColourBy::kCount));
  content_ = std::move(content);
  show_hits(searched_, hits_);
}

void Scene::show_hits(const DocumentPtr& document, std::shared_ptr<const Hits> hits) {
  searched_ = document;
  hits_ = std::move(hits);
  highlights_.show_hits(document == nullptr ? nullptr : document->lanes, hits_,
                        content_->colouring);
}

void Scene::show_critical_path(bool shows) {
  shows_path_ = shows;
  trace_paths();
}

void Scene::trace_paths() {
  std::vector<Highlights::Analysed> traces;
  for (const DocumentPtr& one : session_.documents()) {
    if (shows_path_) traces.emplace_back(one->lanes, one->analysis);
  }
  highlights_.show_paths(std::move(traces));
}

void Scene::take_highlights() {
  auto content = std::make_shared<SceneContent>(*content_);
  for (SceneContent::Part& part : content->parts) {
    part.hits = highlights_.hits_of(part.document->lanes);
    part.path = highlights_.path_of(part.document->lanes);
  }
  content_ = std::move(content);
}

}  // namespace foreshard::gui
