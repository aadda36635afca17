#include "gui/views/timeline/scene.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "gui/models/base/cost_words.hpp"
#include "gui/models/base/in_background.hpp"
#include "gui/models/base/units_text.hpp"
#include "gui/models/session/sentences.hpp"
#include "gui/models/timeline/card.hpp"
#include "gui/models/timeline/row_text.hpp"

namespace foreshard::gui {
namespace {

// Where a row is now that was of `before`, in which it may have had another number: documents are added, closed and
// replaced in their places, and those that replace others have other rows. Nothing where it is gone.
std::optional<RowId> row_now(RowId row, const SceneContent& before, const SceneContent& now) {
  if (row.kind == RowId::Kind::units) return row;
  const auto place = static_cast<std::size_t>(row.document);
  const DocumentPtr& old = before.parts[place].document;
  auto part = std::ranges::find(now.parts, old, &SceneContent::Part::document);
  const bool is_replaced = part == now.parts.end() && now.parts.size() == before.parts.size();
  if (is_replaced) part = now.parts.begin() + row.document;
  if (part == now.parts.end()) return {};
  row.document = static_cast<int>(part - now.parts.begin());
  const LaneSet &from = *old->lanes, &to = *part->document->lanes;
  if (&from == &to) return row;
  if (row.kind == RowId::Kind::lane) {
    const auto key = [](const Row& one) {
      return std::tie(one.rank, one.kind, one.title, one.depth);
    };
    const auto same = std::ranges::find(to.rows(), key(from.rows()[row.index]), key);
    row.index = static_cast<std::size_t>(same - to.rows().begin());
    return same == to.rows().end() ? std::nullopt : std::optional(row);
  }
  if (row.kind == RowId::Kind::group) {
    const auto same =
        std::ranges::find(to.groups(), from.groups()[row.index].ranks, &RankGroup::ranks);
    row.index = static_cast<std::size_t>(same - to.groups().begin());
    return same == to.groups().end() ? std::nullopt : std::optional(row);
  }
  return row;
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

// What the user folded, hid, pinned and moved stays so.
void Scene::follow_rows(const SceneContent& before) {
  const auto number_now = [&](std::int32_t number) -> std::optional<std::int32_t> {
    const auto row = row_now(RowId::of(number), before, *content_);
    return row ? std::optional(row->number()) : std::nullopt;
  };
  for (std::set<std::int32_t>* rows : {&toggled_, &hidden_}) {
    for (const std::int32_t number : std::exchange(*rows, {})) {
      if (const auto now = number_now(number)) rows->insert(*now);
    }
  }
  for (const std::int32_t number : std::exchange(pinned_, {})) {
    if (const auto now = number_now(number)) pinned_.push_back(*now);
  }
  for (const auto& [number, place] : std::exchange(moved_, {})) {
    RowId beside = RowId::of(number);
    const auto& rows =
        before.parts[static_cast<std::size_t>(beside.document)].document->lanes->rows();
    beside.index = std::min(static_cast<std::size_t>(place + 0.5), rows.size() - 1);
    const auto now = number_now(number);
    const auto its = row_now(beside, before, *content_);
    if (!now || !its) continue;
    moved_[*now] = static_cast<double>(its->index) + place - static_cast<double>(beside.index);
  }
}

void Scene::take_documents() {
  const std::shared_ptr<const SceneContent> before = content_;
  auto content = std::make_shared<SceneContent>();
  content->colouring = content_->colouring;
  content->scale = content_->scale;
  const auto& documents = session_.documents();
  const bool has_measured = std::any_of(documents.begin(), documents.end(),
                                        [](const auto& one) { return !one->is_predicted(); });
  for (const DocumentPtr& one : documents) {
    content->parts.push_back({one, one->is_predicted() && has_measured});
  }
  content->current = session_.current_index();
  content_ = std::move(content);
  follow_rows(*before);
  trace_paths();
  take_highlights();
  arrows_.reset();
  gather_units();
}

void Scene::take_appearance() {
  auto content = std::make_shared<SceneContent>(*content_);
  content->scale = Appearance::instance().text_scale();
  content_ = std::move(content);
}

void Scene::gather_units() {
  const DocumentPtr current = session_.current();
  is_gathering_ = current != nullptr;
  if (!is_gathering_) return gathering_.setFuture({});
  const int rank = session_.selection().rank();
  gathering_.setFuture(in_background([current, rank] {
    return std::make_shared<const GatheredUnits>(gathered_units(*current->trace, rank));
  }));
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

void Scene::toggle(const RowId& row) {
  const std::int32_t id = row.number();
  if (toggled_.erase(id) == 0) toggled_.insert(id);
}

void Scene::fold(std::size_t row) {
  if (row >= rows_.size() || rows_[row].kind == SceneRow::Kind::unit) return;
  RowId id = RowId::of(base_id(row));
  const Row* lane =
      id.kind == RowId::Kind::lane ? &document(id.document).lanes->rows()[id.index] : nullptr;
  if (lane == nullptr || lane->is_derived()) return toggle(id);
  for (const std::size_t depth : document(id.document).lanes->rows_of_lane(lane->lane)) {
    id.index = depth;
    toggle(id);
  }
}

void Scene::unfold(EventId event) {
  if (!has(event)) return;
  const LaneSet& lanes = *document(event.document).lanes;
  RowId id;
  id.document = event.document;
  id.index = lanes.group_of(lanes.place(event.event).row);
  for (const RowId::Kind kind : {RowId::Kind::group, RowId::Kind::block}) {
    id.kind = kind;
    if (kind == RowId::Kind::block) id.index /= kRanksOfBlock;
    if (!is_open(id)) toggle(id);
  }
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

// Where the scene's rows are, and which of them are shown.

namespace {

constexpr std::size_t kFewUnits = 12;    // as many have rows high enough for names
constexpr std::size_t kFewRanks = 8;     // as many are shown with all their rows
constexpr std::size_t kManyRanks = 32;   // more are shown in blocks
constexpr std::size_t kFewCounters = 8;  // of a rank; more are folded
constexpr std::size_t kDeepLane = 12;    // with more rows, such as of Python's stack, it is folded

std::size_t ranks_drawn(const LaneSet& lanes) {
  return static_cast<std::size_t>(
      std::count_if(lanes.groups().begin(), lanes.groups().end(),
                    [](const RankGroup& group) { return group.count > 0; }));
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

// What is folded from the first, the user unfolds, and the other way round.
bool Scene::is_open(const RowId& row) const {
  RowId base = row;
  base.is_low = false;
  bool is_open = true;
  if (row.kind == RowId::Kind::group || row.kind == RowId::Kind::block) {
    const std::size_t ranks = ranks_drawn(*document(row.document).lanes);
    is_open = ranks <= (row.kind == RowId::Kind::group ? kFewRanks : kManyRanks);
  }
  if (row.kind == RowId::Kind::lane) {
    const LaneSet& lanes = *document(row.document).lanes;
    const Row& lane = lanes.rows()[row.index];
    const auto is_of_rank = [&](const traces::Counter& one) { return one.rank == lane.rank; };
    if (lane.counter() != nullptr) {
      const auto count = std::ranges::count_if(lanes.trace().counters, is_of_rank);
      return (static_cast<std::size_t>(count) <= kFewCounters) != toggled_.contains(base.number());
    }
    is_open = lane.is_derived() || lanes.rows_of_lane(lane.lane).size() <= kDeepLane;
  }
  return is_open != toggled_.contains(base.number());
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
  id.is_low = !is_open(id);
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
  idle_ = idle_depths();
  for (const std::int32_t pinned : pinned_) {
    const RowId id = RowId::of(pinned);
    if (id.document < static_cast<int>(content_->parts.size()) &&
        id.index < document(id.document).lanes->rows().size()) {
      add(lane_row(id.document, id.index));
    }
  }
  for (int n = 0; n < static_cast<int>(content_->parts.size()); ++n) lay_out_document(n);
  lay_out_units();
  if (!rows_.empty()) height_ += kBelow;
}

// Ranks that are not equal, where they are many, in blocks.
void Scene::lay_out_document(int number) {
  const LaneSet& lanes = *document(number).lanes;
  const bool has_blocks = ranks_drawn(lanes) > kFewRanks;
  for (std::size_t group = 0; group < lanes.groups().size(); ++group) {
    const std::size_t block = group / kRanksOfBlock;
    if (has_blocks && group % kRanksOfBlock == 0 && !lay_out_block(number, block)) {
      group += kRanksOfBlock - 1;
    } else {
      lay_out_group(number, group, has_blocks);
    }
  }
}

bool Scene::lay_out_block(int document_index, std::size_t block) {
  const Document& one = document(document_index);
  const auto& groups = one.lanes->groups();
  const std::size_t first = block * kRanksOfBlock;
  const std::size_t last = std::min(first + kRanksOfBlock, groups.size()) - 1;
  RowId id;
  id.kind = RowId::Kind::block;
  id.document = document_index;
  id.index = block;
  id.is_low = !is_open(id);
  SceneRow row;
  row.kind = id.is_low ? SceneRow::Kind::ranks : SceneRow::Kind::section;
  row.id = id.number();
  row.height = content_->height_of(id);
  row.is_open = !id.is_low;
  row.is_predicted = one.is_predicted();
  row.title =
      tr("Ranks %1\u2013%2").arg(groups[first].ranks.front()).arg(groups[last].ranks.back());
  if (row.is_open && content_->parts.size() > 1) {
    row.title = one.title + QStringLiteral(" \u00b7 ") + row.title;
  }
  if (row.is_open && block == 0) row.note = note_of(one);
  add(std::move(row));
  return !id.is_low;
}

QString Scene::note_of(const Document& one) const {
  QStringList notes;
  if (const std::int64_t lost = lost_records(one); lost > 0) {
    notes << tr("%1 records were dropped").arg(count_figure(lost).text());
  }
  const bool has_kernels =
      one.kind != traces::RecordingKind::snapshot && one.kind != traces::RecordingKind::event_list;
  if (!has_kernels) notes << sentence_of_nothing(one);
  return notes.join(QStringLiteral(" \u00b7 "));
}

// Of many ranks each is one row while it is folded.
void Scene::lay_out_group(int document_index, std::size_t index, bool is_one_of_many) {
  const Document& one = document(document_index);
  const RankGroup& group = one.lanes->groups()[index];
  if (group.count == 0) return;
  RowId id;
  id.kind = RowId::Kind::group;
  id.document = document_index;
  id.index = index;
  const bool shows_lanes = is_open(id);
  id.is_low = is_one_of_many && !shows_lanes;
  SceneRow header;
  header.kind = id.is_low ? SceneRow::Kind::ranks : SceneRow::Kind::section;
  header.id = id.number();
  header.height = content_->height_of(id);
  header.is_open = shows_lanes;
  header.is_predicted = one.is_predicted();
  header.title = QString::fromStdString(group.title);
  if (!is_one_of_many) {
    if (content_->parts.size() > 1)
      header.title = one.title + QStringLiteral(" \u00b7 ") + header.title;
    QStringList notes;
    if (group.ranks.size() > 1) {
      notes << tr("%1 identical programs, drawn once").arg(group.ranks.size());
    }
    notes << note_of(one);
    const auto is_hidden = [&](std::int32_t number) {
      const RowId row = RowId::of(number);
      return row.document == document_index && row.index >= group.first &&
             row.index < group.first + group.count;
    };
    if (const auto hidden = std::ranges::count_if(hidden_, is_hidden); hidden > 0) {
      notes << (hidden == 1 ? tr("1 row is hidden: Shift+H shows it")
                            : tr("%1 rows are hidden: Shift+H shows them").arg(hidden));
    }
    notes.removeAll(QString());
    header.note = notes.join(QStringLiteral(" \u00b7 "));
  }
  if (content_->colouring == ColourBy::cost_source && !id.is_low) {
    header.legend = cost_legend(*one.analysis);
  }
  add(std::move(header));
  if (!shows_lanes) return;

  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t row = group.first; row < group.first + group.count; ++row) {
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
    const bool is_idle = std::binary_search(idle_.begin(), idle_.end(), lane.number());
    if (!is_idle && !hidden_.contains(lane.number()) && !row.is_pinned) add(std::move(row));
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

// Calls nest and kernels overlap here and there: in steps in which they do not their further rows would be blank.
// Within a step rows stay where they are, however the window moves.
std::vector<std::int32_t> Scene::idle_depths() const {
  std::vector<std::int32_t> idle;
  RowId id;
  for (const SceneContent::Part& part : content_->parts) {
    const traces::Interval window =
        part.document->steps_around(later(session_.axis().window(), -offset_ns(id.document)));
    const auto& lanes = part.document->lanes->rows();
    for (id.index = 0; id.index < lanes.size(); ++id.index) {
      const Row& lane = lanes[id.index];
      if (lane.depth == 0) continue;
      const std::size_t item = lane.first_ending_after(window.start_ns);
      const bool is_idle = item == lane.size() || lane.span(item).start_ns >= window.end_ns;
      if (is_idle) idle.push_back(id.number());
    }
    ++id.document;
  }
  return idle;
}

bool Scene::is_layout_stale() const {
  return units_in_view() != units_shown_ || idle_depths() != idle_;
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
  section.is_open = is_open(id);
  const Document& current = document(content_->current);
  section.title = tr("Gathered units") + of_rank(current, session_.selection().rank());
  section.note = gathered.most == 1 ? tr("at most 1 unit at once")
                                    : tr("at most %1 units at once").arg(gathered.most);
  if (gathered.most_bytes > 0) {
    section.note += QStringLiteral(" · ") + bytes_figure(gathered.most_bytes).text();
  }
  section.legend = {{tr("gathering"), theme()[Role::all_gather]},
                    {tr("gathered, not in use"), theme()[Role::strong_line]},
                    {tr("in use"), {}, true}};
  const bool shows_units = section.is_open;
  add(std::move(section));
  if (!shows_units) return;
  constexpr double kBelowHeader = 4;  // names are higher than low rows
  height_ += kBelowHeader;
  const bool is_low = units_shown_.size() > kFewUnits;
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

// What is at a place of the scene, and how events belong together.

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
    if (lane.counter() != nullptr) {
      const auto sample = lane.counter()->sample_at(ns);
      if (!sample) return std::nullopt;
      hit.height = row.height;
      hit.span = later(lane.counter()->span(*sample), offset);
      hit.title = QString::fromStdString(lane.title);
      hit.value = lane.counter()->counter().samples[*sample].value;
      return hit;
    }
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
  if (hit.value) return counter_card(hit);
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

HoverCard Scene::counter_card(const SceneHit& hit) const {
  const RowId id = RowId::of(rows_[hit.row].id);
  const Row& row = lanes_of(*content_, id.document).rows()[id.index];
  HoverCard out;
  out.title = hit.title;
  out.swatch = theme()[Role::text2];
  out.facts.emplace_back(tr("Value"), row.value_text(*hit.value));
  out.facts.emplace_back(tr("Holds for"), duration_of(hit.span));
  const auto in_view =
      row.counter()->within(later(session_.axis().window(), -offset_ns(id.document)));
  if (in_view) {
    out.facts.emplace_back(tr("Mean in view"), row.value_text(in_view->mean));
    out.facts.emplace_back(tr("Highest in view"), row.value_text(in_view->highest));
  }
  out.facts.emplace_back(tr("Height of the row"), row.value_text(row.counter()->top()));
  return out;
}

QString Scene::card_text(EventId event) const {
  const Document& one = document(event.document);
  return card_of(*one.lanes, event.event, true).text();
}

}  // namespace foreshard::gui
