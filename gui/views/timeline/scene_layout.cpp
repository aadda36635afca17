// Where the scene's rows are, and which of them are shown.
#include <algorithm>

#include "gui/models/base/cost_words.hpp"
#include "gui/models/base/units_text.hpp"
#include "gui/models/session/sentences.hpp"
#include "gui/models/timeline/row_text.hpp"
#include "gui/views/timeline/scene.hpp"

namespace foreshard::gui {
namespace {

constexpr std::size_t kFewUnits = 12;   // as many have rows high enough for names
constexpr std::size_t kFewRanks = 8;    // as many are shown with all their rows
constexpr std::size_t kManyRanks = 32;  // more are shown in blocks
constexpr std::size_t kDeepLane = 12;   // with more rows, such as of Python's stack, it is folded

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

// Calls nest and kernels overlap here and there: elsewhere their further rows would be blank.
std::vector<std::int32_t> Scene::idle_depths() const {
  std::vector<std::int32_t> idle;
  RowId id;
  for (const SceneContent::Part& part : content_->parts) {
    const traces::Interval window = later(session_.axis().window(), -offset_ns(id.document));
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
                    {tr("held, not in use"), theme()[Role::strong_line]},
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

}  // namespace foreshard::gui
