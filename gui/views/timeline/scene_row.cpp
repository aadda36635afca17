#include "gui/views/timeline/scene_row.hpp"

#include <algorithm>
#include <array>

#include <QCoreApplication>

#include "gui/models/base/units_text.hpp"
#include "gui/models/timeline/row_text.hpp"

namespace foreshard::gui {
namespace {

constexpr double kSectionHeight = 24, kFoldedHeight = 8, kUnitHeight = 20, kLowUnitHeight = 7;
constexpr double kExposedBar = 8;
constexpr double kPaleColumn = 0.62;     // towards the canvas
constexpr double kLabelPixels = 14;      // below, no text fits
constexpr double kAboutHeld = 0.78;      // towards the canvas: held, not in use

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

LaneStyle style_of(const Row& row, std::size_t item, bool is_pale) {
  if (row.kind == RowKind::phase) return LaneStyle::phase;
  const std::int32_t event = row.event(item);
  if (event != traces::kNone && row.trace().events[static_cast<std::size_t>(event)].kind ==
                                    traces::EventKind::host_wait) {
    return LaneStyle::missing;
  }
  return is_pale ? LaneStyle::pale : LaneStyle::solid;
}

QString text_of_wait(const traces::Interval& span) {
  return QCoreApplication::translate("Timeline", "waits for the device to finish  %1")
      .arg(time_figure(static_cast<double>(span.end_ns - span.start_ns)).text());
}

LaneShapes lane_shapes(const SceneContent::Part& part, std::size_t index, ColourBy by,
                       double height, traces::Interval window, double ns_per_pixel,
                       const Theme& theme) {
  const LaneSet& lanes = *part.document->lanes;
  const Row& row = lanes.rows()[index];
  const RowShapes found = lanes.shapes(index, by, window, ns_per_pixel);
  const Colouring& colouring = lanes.colouring(by);
  // The bar of exposed communication is thinner than its title.
  const double gap = row.kind == RowKind::exposed ? (height - kExposedBar) / 2 : height > 12 ? 1 : 0;
  LaneShapes shapes;
  for (const ColumnShape& column : found.columns) {
    LaneColumn& out = shapes.columns.emplace_back();
    out.cell = column.cell;
    out.top = gap;
    out.height = height - 2 * gap;
    // In a fixed order, so that colours do not change places from column to column.
    std::array<ColumnShape::Part, 3> parts = column.parts;
    std::sort(parts.begin(), parts.end(),
              [](const auto& a, const auto& b) { return a.category < b.category; });
    for (const ColumnShape::Part& share : parts) {
      if (share.share <= 0) continue;
      const QColor fill = colour_of(colouring.fill(share.category), theme);
      out.parts.push_back(
          {part.is_pale ? theme.towards_canvas(fill, kPaleColumn) : fill, share.share});
    }
  }
  for (const BoxShape& box : found.boxes) {
    LaneBox& out = shapes.boxes.emplace_back();
    out.span = box.span;
    out.top = gap;
    out.height = height - 2 * gap;
    out.fill = colour_of(colouring.fill(box.category), theme);
    out.style = style_of(row, box.item, part.is_pale);
    const double width = static_cast<double>(box.span.end_ns - box.span.start_ns) / ns_per_pixel;
    if (width < kLabelPixels || height < 12) continue;
    const BoxText text = box_text(row, box.item);
    out.text = out.style == LaneStyle::missing ? text_of_wait(box.span) : text.full;
    out.short_text = text.brief;
  }
  return shapes;
}

LaneShapes unit_shapes(const SceneContent& content, const RowId& id, traces::Interval window,
                       const Theme& theme) {
  LaneShapes shapes;
  const GatheredUnit& unit = content.gathered->units[id.index];
  const auto& part = content.parts[static_cast<std::size_t>(content.current)];
  const Colouring& colouring = part.document->lanes->colouring(ColourBy::phase);
  const QColor used = colour_of(colouring.unit_fill(unit.unit), theme);
  const double height = content.height_of(id);
  const auto add = [&](traces::Interval span, double top, double high, QColor fill) -> LaneBox& {
    LaneBox& box = shapes.boxes.emplace_back();
    box.span = span;
    box.top = top;
    box.height = high;
    box.fill = fill;
    return box;
  };
  const double gap = id.is_low ? 1 : 2, thin = id.is_low ? 3 : 7;
  for (const GatheredSpan& span : unit.spans) {
    if (span.held.end_ns < window.start_ns || span.held.start_ns > window.end_ns) continue;
    add(span.held, (height - thin) / 2, thin, theme.towards_canvas(used, kAboutHeld));
    add(span.gathering, gap, height - 2 * gap, theme[Role::all_gather]);
    LaneBox& box = add(span.used, gap, height - 2 * gap, used);
    if (id.is_low) continue;
    box.short_text = short_unit(part.document->trace->strings[unit.unit]);
    box.text = unit.bytes > 0 ? box.short_text + QStringLiteral("  ") + bytes_figure(unit.bytes).text()
                              : box.short_text;
  }
  return shapes;
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

LaneShapes SceneContent::shapes(const RowId& row, traces::Interval window, double ns_per_pixel,
                                const Theme& theme) const {
  if (row.kind == RowId::Kind::unit) return unit_shapes(*this, row, window, theme);
  if (row.kind != RowId::Kind::lane) return {};
  return lane_shapes(parts[static_cast<std::size_t>(row.document)], row.index, colouring,
                     height_of(row), window, ns_per_pixel, theme);
}

}  // namespace foreshard::gui
