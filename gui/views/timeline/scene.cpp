#include "gui/views/timeline/scene.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "gui/models/base/in_background.hpp"
#include "gui/models/base/units_text.hpp"
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

}  // namespace foreshard::gui
