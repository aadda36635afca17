#include "gui/views/timeline/scene_row.hpp"

#include <algorithm>

namespace foreshard::gui {
namespace {

constexpr double kSectionHeight = 24, kFoldedHeight = 8, kUnitHeight = 20, kLowUnitHeight = 7;

double height_of_kind(RowKind kind) {
  switch (kind) {
    case RowKind::phase: return 20;
    case RowKind::unit: return 22;
    case RowKind::host: return 16;
    case RowKind::compute: return 40;
    case RowKind::copies: return 14;
    case RowKind::exposed: return 16;
    default: return 22;
  }
}

}  // namespace

std::int32_t RowId::number() const {
  return (document << 22) | (static_cast<std::int32_t>(kind) << 20) |
         (static_cast<std::int32_t>(is_low) << 19) | static_cast<std::int32_t>(index & 0x7FFFF);
}

RowId RowId::of(std::int32_t number) {
  RowId row;
  row.document = number >> 22;
  row.kind = static_cast<Kind>((number >> 20) & 3);
  row.is_low = ((number >> 19) & 1) != 0;
  row.index = static_cast<std::size_t>(number & 0x7FFFF);
  return row;
}

QColor colour_of(const Fill& fill, const Theme& theme) {
  return fill.is_unit ? theme.unit(fill.depth, fill.is_odd) : theme[fill.colour];
}

double SceneContent::height_of(const RowId& row) const {
  switch (row.kind) {
    case RowId::Kind::group:
    case RowId::Kind::units: return kSectionHeight;
    case RowId::Kind::unit: return row.is_low ? kLowUnitHeight : kUnitHeight;
    case RowId::Kind::lane: break;
  }
  const auto& rows = parts[static_cast<std::size_t>(row.document)].document->lanes->rows();
  const double height = height_of_kind(rows[row.index].kind);
  return row.is_low ? std::min(height, kFoldedHeight) : height;
}

}  // namespace foreshard::gui
