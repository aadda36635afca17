#include "gui/views/timeline/row_figures.hpp"

#include <algorithm>
#include <utility>

#include "gui/models/base/units_text.hpp"

namespace foreshard::gui {
namespace {

constexpr double kResolution = 1500;  // pixels of the window, as a screen has

// Nanoseconds that the row is busy within the window.
double busy_ns(const LaneSet& lanes, std::size_t row, traces::Interval window) {
  const double length = static_cast<double>(window.end_ns - window.start_ns);
  const RowShapes shapes = lanes.shapes(row, ColourBy::phase, window, length / kResolution);
  const auto within = [&](const traces::Interval& span) {
    return static_cast<double>(std::max<std::int64_t>(
        std::min(span.end_ns, window.end_ns) - std::max(span.start_ns, window.start_ns), 0));
  };
  double busy = 0;
  for (const BoxShape& box : shapes.boxes) busy += within(box.span);
  for (const ColumnShape& column : shapes.columns) {
    double share = 0;
    for (const ColumnShape::Part& part : column.parts) share += part.share;
    busy += within(column.cell) * std::min(share, 1.0);
  }
  return std::min(busy, length);
}

// Of the ranks of a folded group or block, on average: how busy the first of their rows of work is.
double work_share(const LaneSet& lanes, const RowId& id, traces::Interval window) {
  const bool is_block = id.kind == RowId::Kind::block;
  const std::size_t first = is_block ? id.index * kRanksOfBlock : id.index;
  const std::size_t end =
      is_block ? std::min(first + kRanksOfBlock, lanes.groups().size()) : first + 1;
  double busy = 0;
  for (std::size_t group = first; group < end; ++group) {
    const auto& work = lanes.groups()[group].work;
    if (!work.empty()) busy += busy_ns(lanes, work.front(), window);
  }
  const auto length =
      static_cast<double>(std::max<std::int64_t>(window.end_ns - window.start_ns, 1));
  return busy / length / static_cast<double>(end - first);
}

}  // namespace

// While the window moves the figures of each stop are shown, though a newer one waits.
RowFigures::RowFigures(QObject* parent)
    : QObject(parent),
      newest_(
          this,
          [this](Figures made) {
            figures_ = std::move(made);
            Q_EMIT changed();
          },
          [this] { Q_EMIT changed(); }, Overtaken::used) {}

void RowFigures::request(std::shared_ptr<const SceneContent> content, std::vector<Seen> rows) {
  if (content == latest_.content && rows == latest_.rows) return;
  latest_ = {std::move(content), std::move(rows)};
  newest_.request([request = latest_] { return made(request); });
}

RowFigures::Figures RowFigures::made(const Request& request) {
  Figures figures;
  for (const auto& [number, window] : request.rows) {
    const auto length =
        static_cast<double>(std::max<std::int64_t>(window.end_ns - window.start_ns, 1));
    const RowId id = RowId::of(number);
    const LaneSet& lanes =
        *request.content->parts[static_cast<std::size_t>(id.document)].document->lanes;
    if (id.kind == RowId::Kind::group || id.kind == RowId::Kind::block) {
      if (id.is_low) figures[number] = percent_text(work_share(lanes, id, window));
      continue;
    }
    if (id.kind != RowId::Kind::lane) continue;
    const Row& row = lanes.rows()[id.index];
    if (row.depth > 0 || row.kind == RowKind::phase || row.kind == RowKind::unit) continue;
    if (row.counter() != nullptr) {
      const auto values = row.counter()->within(window);
      figures[number] = values ? row.value_text(values->mean) : QString();
      continue;
    }
    const double busy = busy_ns(lanes, id.index, window);
    figures[number] =
        row.kind == RowKind::exposed ? time_figure(busy).text() : percent_text(busy / length);
  }
  return figures;
}

QString RowFigures::of(std::int32_t row) const {
  const auto known = figures_.find(row);
  return known == figures_.end() ? QString() : known->second;
}

}  // namespace foreshard::gui
