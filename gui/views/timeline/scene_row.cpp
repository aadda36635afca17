#include "gui/views/timeline/scene_row.hpp"

#include <algorithm>
#include <cmath>

#include "gui/paint/fonts.hpp"

namespace foreshard::gui {
namespace {

// At the usual size of text.
constexpr double kSectionHeight = 24, kFoldedHeight = 8, kUnitHeight = 20, kLowUnitHeight = 7;
constexpr double kExposedBar = 8;
// Of a rank in one row: kernels over collectives. Of a block of ranks: one above the other.
constexpr double kRankHeight = 24, kRankWork = 13, kRankCommunication = 7;
constexpr double kHeatStripe = 3, kHeatMargin = 1;

// The bar of exposed communication is thinner than its title.
double margin_of(RowKind kind, double height) {
  if (kind == RowKind::exposed) return (height - std::min(height, kExposedBar)) / 2;
  constexpr double kLeastWithMargin = 12;
  return height > kLeastWithMargin ? 1 : 0;
}

double height_of_kind(RowKind kind) {
  switch (kind) {
    case RowKind::phase: return 20;
    case RowKind::unit: return 22;
    case RowKind::host:
    case RowKind::ranges: return 16;
    case RowKind::compute: return 40;
    case RowKind::copies: return 14;
    case RowKind::exposed: return 16;
    default: return 22;
  }
}

}  // namespace

std::int32_t RowId::number() const {
  return (document << 23) | (static_cast<std::int32_t>(kind) << 20) |
         (static_cast<std::int32_t>(is_low) << 19) | static_cast<std::int32_t>(index & 0x7FFFF);
}

RowId RowId::of(std::int32_t number) {
  RowId row;
  row.document = number >> 23;
  row.kind = static_cast<Kind>((number >> 20) & 7);
  row.is_low = ((number >> 19) & 1) != 0;
  row.index = static_cast<std::size_t>(number & 0x7FFFF);
  return row;
}

QColor colour_of(const Fill& fill, const Theme& theme) {
  return fill.is_unit ? theme.unit(fill.depth, fill.is_odd) : theme[fill.colour];
}

double header_width() {
  return scaled(176);
}

double SceneContent::height_of(const RowId& row) const {
  const auto of_text = [&](double height) { return std::round(height * scale); };
  switch (row.kind) {
    case RowId::Kind::units: return of_text(kSectionHeight);
    case RowId::Kind::group: return of_text(row.is_low ? kRankHeight : kSectionHeight);
    case RowId::Kind::block:
      return row.is_low ? kRanksOfBlock * kHeatStripe + 2 * kHeatMargin : of_text(kSectionHeight);
    case RowId::Kind::unit: return row.is_low ? kLowUnitHeight : of_text(kUnitHeight);
    case RowId::Kind::lane: break;
  }
  const auto& rows = parts[static_cast<std::size_t>(row.document)].document->lanes->rows();
  const double height = height_of_kind(rows[row.index].kind);
  return row.is_low ? std::min(height, kFoldedHeight) : of_text(height);
}

std::vector<LaneBand> SceneContent::bands(const RowId& row) const {
  const LaneSet& lanes = *parts[static_cast<std::size_t>(row.document)].document->lanes;
  std::vector<LaneBand> bands;
  if (row.kind == RowId::Kind::lane) {
    const double height = height_of(row);
    const double margin = margin_of(lanes.rows()[row.index].kind, height);
    const double below = row.is_low ? 1 : margin;  // what keeps depths apart
    bands.push_back({row.index, margin, height - margin - below});
  } else if (row.kind == RowId::Kind::group && row.is_low) {
    const RankGroup& group = lanes.groups()[row.index];
    const double height = height_of(row), below = std::round(kRankCommunication * scale);
    for (const std::size_t lane : group.work)
      bands.push_back({lane, 1, std::round(kRankWork * scale)});
    for (const std::size_t lane : group.communication)
      bands.push_back({lane, height - 1 - below, below});
  } else if (row.kind == RowId::Kind::block && row.is_low) {
    double top = kHeatMargin;
    const std::size_t first = row.index * kRanksOfBlock;
    const std::size_t end = std::min(first + kRanksOfBlock, lanes.groups().size());
    for (std::size_t group = first; group < end; ++group, top += kHeatStripe) {
      for (const std::size_t lane : lanes.groups()[group].work) {
        bands.push_back({lane, top, kHeatStripe, true});
      }
    }
  }
  return bands;
}

}  // namespace foreshard::gui
