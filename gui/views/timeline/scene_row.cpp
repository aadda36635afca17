#include "gui/views/timeline/scene_row.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <array>
#include <cmath>

#include "gui/models/base/units_text.hpp"
#include "gui/models/timeline/row_text.hpp"
#include "gui/paint/fonts.hpp"

namespace foreshard::gui {
namespace {

// At the usual size of text.
constexpr double kSectionHeight = 24, kFoldedHeight = 8, kUnitHeight = 20, kLowUnitHeight = 7;
constexpr double kFoldedCounter = 14;  // as high as its title
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
    case RowKind::counter: return 32;
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
  const bool is_counter = rows[row.index].kind == RowKind::counter;
  return row.is_low ? std::min(height, is_counter ? of_text(kFoldedCounter) : kFoldedHeight)
                    : of_text(height);
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

// What rows of the scene show of a stretch of time.

namespace {

constexpr double kPaleColumn = 0.62;                   // towards the canvas
constexpr double kLabelPixels = 14;                    // below, no text fits
constexpr double kAboutHeld = 0.78;                    // towards the canvas: gathered, not in use
constexpr double kLeastHeat = 0.15;                    // of the fill: what is hardly busy is seen
constexpr double kAreaOfMean = 0.6, kAboveMean = 0.8;  // of counters, towards the canvas
constexpr double kEdge = 1.5;                          // of a counter's mean
constexpr double kTick = 2;                            // along the edge of what is marked

LaneStyle style_of_source(CostSource source) {
  if (source == CostSource::modelled) return LaneStyle::modelled;
  return source == CostSource::unknown ? LaneStyle::unknown : LaneStyle::solid;
}

LaneStyle style_of(const Row& row, std::size_t item, bool is_pale, ColourBy by) {
  if (row.kind == RowKind::phase) return LaneStyle::phase;
  const LaneStyle style = is_pale ? LaneStyle::pale : LaneStyle::solid;
  if (row.event(item) == traces::kNone) return style;
  const traces::Event& event = row.trace().events[static_cast<std::size_t>(row.event(item))];
  if (event.kind == traces::EventKind::host_wait) return LaneStyle::missing;
  const bool by_source = by == ColourBy::cost_source && event.cost_source != CostSource::none;
  return by_source ? style_of_source(event.cost_source) : style;
}

QString text_of_wait(const traces::Interval& span) {
  return QCoreApplication::translate("Timeline", "waits for the device to finish  %1")
      .arg(time_figure(static_cast<double>(span.end_ns - span.start_ns)).text());
}

// Draws the items of one row of the lanes in a band.
class BandDrawing {
 public:
  BandDrawing(const SceneContent::Part& part, const LaneBand& band, double ns_per_pixel,
              const Theme& theme)
      : part_(part), band_(band), ns_per_pixel_(ns_per_pixel), theme_(theme) {}

  void add_row(ColourBy by, traces::Interval window, LaneShapes& shapes) const {
    const LaneSet& lanes = *part_.document->lanes;
    const Row& row = lanes.rows()[band_.row];
    if (row.counter() != nullptr) return add_counter(*row.counter(), window, shapes);
    const RowShapes found = lanes.shapes(band_.row, by, window, ns_per_pixel_);
    for (const ColumnShape& shape : found.columns) {
      shapes.columns.push_back(column(shape, lanes.colouring(by)));
      shapes.columns.back().is_dimmed = part_.hits != nullptr;
    }
    for (const BoxShape& shape : found.boxes) {
      const std::int32_t event = row.event(shape.item);
      if (part_.hits != nullptr && event != traces::kNone && part_.hits->contains(event)) continue;
      shapes.boxes.push_back(box(row, shape, lanes.colouring(by)));
      shapes.boxes.back().is_dimmed = part_.hits != nullptr;
    }
    if (part_.hits != nullptr) add_hits(*part_.hits, window, shapes);
    if (part_.path != nullptr && !band_.is_heat) {
      add_ticks(part_.path->shapes(band_.row, window, ns_per_pixel_),
                band_.top + band_.height + margin() - kTick, shapes);
    }
  }

 private:
  static constexpr double kLeastForText = 11;

  // An area up to the mean of each column's time, with an edge; paler above, up to its highest value.
  void add_counter(const CounterLevels& counter, traces::Interval window,
                   LaneShapes& shapes) const {
    const QColor edge = theme_[Role::text2];
    const QColor area = theme_.towards_canvas(edge, kAreaOfMean);
    const QColor above = theme_.towards_canvas(edge, kAboveMean);
    const double edge_share = std::min(kEdge / band_.height, 1.0);
    for (const auto& [cell, values] : counter.columns(window, ns_per_pixel_)) {
      LaneColumn& column = shapes.columns.emplace_back();
      column.cell = cell;
      column.top = band_.top;
      column.height = band_.height;
      column.is_dimmed = part_.hits != nullptr;
      const double mean = counter.share_of_height(values.mean);
      const double below = std::max(mean - edge_share, 0.0);
      column.parts = {{area, below},
                      {edge, mean - below},
                      {above, counter.share_of_height(values.highest) - mean}};
    }
  }

  LaneColumn column(const ColumnShape& shape, const Colouring& colouring) const {
    LaneColumn out;
    out.cell = shape.cell;
    out.top = band_.top;
    out.height = band_.height;
    if (band_.is_heat) {
      double busy = 0;
      for (const ColumnShape::Part& share : shape.parts) busy += share.share;
      const QColor fill = colour_of(colouring.fill(shape.parts[0].category), theme_);
      out.parts.push_back({theme_.towards_canvas(fill, 1 - std::clamp(busy, kLeastHeat, 1.0)), 1});
      return out;
    }
    // In a fixed order, so that colours do not change places from column to column.
    std::array<ColumnShape::Part, 3> shares = shape.parts;
    std::sort(shares.begin(), shares.end(),
              [](const auto& a, const auto& b) { return a.category < b.category; });
    for (const ColumnShape::Part& share : shares) {
      if (share.share <= 0) continue;
      const QColor fill = colour_of(colouring.fill(share.category), theme_);
      const bool is_pale = part_.is_pale && colouring.by() != ColourBy::cost_source;
      out.parts.push_back({is_pale ? theme_.towards_canvas(fill, kPaleColumn) : fill, share.share});
    }
    return out;
  }

  LaneBox box(const Row& row, const BoxShape& shape, const Colouring& colouring) const {
    LaneBox out;
    out.span = shape.span;
    out.top = band_.top;
    out.height = band_.height;
    out.fill = colour_of(colouring.fill(shape.category), theme_);
    out.style = style_of(row, shape.item, part_.is_pale, colouring.by());
    const double width =
        static_cast<double>(shape.span.end_ns - shape.span.start_ns) / ns_per_pixel_;
    if (width < kLabelPixels || band_.height < kLeastForText) return out;
    const BoxText text = box_text(row, shape.item);
    out.text = out.style == LaneStyle::missing ? text_of_wait(shape.span) : text.full;
    out.short_text = text.brief;
    return out;
  }

  // In colour and marked along the upper edge, over what is dimmed.
  void add_hits(const LaneSubset& hits, traces::Interval window, LaneShapes& shapes) const {
    const RowShapes found = hits.shapes(band_.row, window, ns_per_pixel_);
    for (const ColumnShape& shape : found.columns) {
      shapes.columns.push_back(column(shape, hits.colouring()));
      shapes.columns.back().is_on_top = true;
    }
    for (const BoxShape& shape : found.boxes) {
      shapes.boxes.push_back(box(hits.row(band_.row), shape, hits.colouring()));
      shapes.boxes.back().is_on_top = true;
    }
    if (!band_.is_heat) add_ticks(found, band_.top - margin(), shapes);
  }

  void add_ticks(const RowShapes& found, double top, LaneShapes& shapes) const {
    for (const ColumnShape& shape : found.columns) {
      shapes.ticks.push_back({shape.cell, top, kTick, theme_[Role::text]});
    }
    for (const BoxShape& shape : found.boxes) {
      shapes.ticks.push_back({shape.span, top, kTick, theme_[Role::text]});
    }
  }

  // Ticks take what is free beside the band.
  double margin() const { return std::min(band_.top, 1.0); }

  const SceneContent::Part& part_;
  const LaneBand& band_;
  double ns_per_pixel_;
  const Theme& theme_;
};

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
    box.text = unit.bytes > 0
                   ? box.short_text + QStringLiteral("  ") + bytes_figure(unit.bytes).text()
                   : box.short_text;
  }
  return shapes;
}

}  // namespace

void add_band(const SceneContent::Part& part, const LaneBand& band, ColourBy by,
              traces::Interval window, double ns_per_pixel, const Theme& theme,
              LaneShapes& shapes) {
  BandDrawing(part, band, ns_per_pixel, theme).add_row(by, window, shapes);
}

LaneShapes SceneContent::shapes(const RowId& row, traces::Interval window, double ns_per_pixel,
                                const Theme& theme) const {
  if (row.kind == RowId::Kind::unit) return unit_shapes(*this, row, window, theme);
  LaneShapes shapes;
  for (const LaneBand& band : bands(row)) {
    add_band(parts[static_cast<std::size_t>(row.document)], band, colouring, window, ns_per_pixel,
             theme, shapes);
  }
  return shapes;
}

}  // namespace foreshard::gui
