#include "gui/views/compare/compare_canvas.hpp"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/hatch.hpp"
#include "gui/paint/theme.hpp"
#include "gui/paint/time_ticks.hpp"
#include "gui/views/base/memory_plot.hpp"
#include "gui/views/timeline/scene_row.hpp"

namespace foreshard::gui {
namespace {

constexpr double kHitPixels = 2;
// Lanes with less than one in so many of the step's time stand below the memory.
constexpr std::int64_t kMinorShare = 150;

}  // namespace

double lane_left() {
  return scaled(176);
}

CompareCanvas::CompareCanvas(Session& session, QWidget* parent)
    : TimeCanvas(session, true, parent) {
  setAccessibleName(tr("Two steps side by side"));
  set_axis(own_axis_);
  connect(&tiles_, &TileCache::delivered, this, [this] {
    forget_picture();
    tell_busy();
  });
  connect(&Appearance::instance(), &Appearance::changed, this, &CompareCanvas::make_rows);
  // Which side is the session's, and where its moments lie.
  connect(&session, &Session::current_changed, this, [this] { viewport()->update(); });
}

void CompareCanvas::set_comparison(std::shared_ptr<const TraceComparison> comparison) {
  comparison_ = std::move(comparison);
  selected_.reset();
  set_arrangement(arrangement_);
}

void CompareCanvas::set_arrangement(Arrangement arrangement) {
  arrangement_ = arrangement;
  alignment_ = comparison_ ? Alignment(comparison_->step, arrangement) : Alignment();
  make_rows();
  own_axis_.set_bounds({0, std::max<std::int64_t>(alignment_.end_ns(), 1)});
  own_axis_.show(home());
}

traces::Interval CompareCanvas::home() const {
  const std::int64_t end = std::max<std::int64_t>(alignment_.end_ns(), 1);
  return {-end / 200, end + end / 50};
}

std::vector<CompareCanvas::OpenSide> CompareCanvas::open_sides() const {
  std::vector<OpenSide> sides;
  const auto& documents = session().documents();
  for (const bool is_candidate : {false, true}) {
    const auto found = std::ranges::find(documents, side(is_candidate).document);
    if (found == documents.end()) continue;
    const auto index = static_cast<int>(found - documents.begin());
    const bool is_current = index == session().current_index();
    sides.insert(is_current ? sides.begin() : sides.end(),
                 {is_candidate, session().offset_ns(index)});
  }
  return sides;
}

// Beyond the end of the current document's step, where the other one's is longer, it counts on.
std::optional<std::int64_t> CompareCanvas::place_of(std::int64_t session_ns) const {
  const auto sides = open_sides();
  const auto since = [&](const OpenSide& one) {
    return session_ns - one.offset_ns - side(one.is_candidate).step.start_ns;
  };
  for (const OpenSide& one : sides) {
    if (since(one) >= 0 && since(one) <= side(one.is_candidate).length_ns()) {
      return alignment_.place(one.is_candidate, since(one));
    }
  }
  if (sides.empty()) return std::nullopt;
  const std::int64_t beyond = alignment_.place(sides.front().is_candidate, since(sides.front()));
  return beyond >= 0 && beyond <= alignment_.end_ns() ? std::optional(beyond) : std::nullopt;
}

std::optional<traces::Interval> CompareCanvas::place_of(const traces::Interval& range) const {
  for (const OpenSide& one : open_sides()) {
    const StepSide& shown = side(one.is_candidate);
    const traces::Interval since = later(range, -one.offset_ns - shown.step.start_ns);
    const std::int64_t from = std::max<std::int64_t>(since.start_ns, 0);
    const std::int64_t to =
        std::min(since.end_ns, std::max(shown.length_ns(), alignment_.end_ns()));
    if (from >= shown.length_ns() || to < from) continue;
    return traces::Interval{alignment_.place(one.is_candidate, from),
                            alignment_.place(one.is_candidate, to)};
  }
  return std::nullopt;
}

std::int64_t CompareCanvas::moment_at(std::int64_t place) const {
  const auto sides = open_sides();
  if (sides.empty()) return place;
  const OpenSide& one = sides.front();
  return side(one.is_candidate).step.start_ns + alignment_.moment(one.is_candidate, place) +
         one.offset_ns;
}

std::optional<traces::Interval> CompareCanvas::selected_span(bool) const {
  if (!selected_ || !comparison_) return std::nullopt;
  const bool is_candidate = selected_->baseline == traces::kNone;
  return span_of({is_candidate, is_candidate ? selected_->candidate : selected_->baseline});
}

void CompareCanvas::set_selected(bool is_candidate, std::int32_t event) {
  selected_.reset();
  if (comparison_ && event != traces::kNone) {
    const ComparedPair* pair = comparison_->step.pair_of(is_candidate, event);
    selected_ = pair != nullptr ? pair->events
                : is_candidate  ? profiler::EventMatch{traces::kNone, event}
                                : profiler::EventMatch{event, traces::kNone};
  }
  announce_selection(this);
  viewport()->update();
}

std::vector<CompareCanvas::Strip> CompareCanvas::strips(const Row& row) const {
  switch (row.kind) {
    case RowKind::baseline_lane: return {{row.lane, false, row.top, row.height}};
    case RowKind::candidate_lane: return {{row.lane, true, row.top, row.height}};
    case RowKind::both_lanes:
      return {{row.lane, false, row.top, row.height / 2},
              {row.lane, true, row.top + row.height / 2, row.height / 2}};
    default: return {};
  }
}

bool CompareCanvas::is_of_step(const Row& row) const {
  const gui::RowKind kind = comparison_->step.lanes[row.lane].kind;
  return kind == gui::RowKind::phase || kind == gui::RowKind::unit;
}

void CompareCanvas::make_rows() {
  rows_.clear();
  height_ = 0;
  const auto add = [&](RowKind kind, int height, int gap = 0, std::size_t lane = 0) {
    rows_.push_back({kind, height_, static_cast<double>(scaled(height)), lane});
    height_ += scaled(height) + gap;
  };
  if (comparison_) {
    const StepComparison& step = comparison_->step;
    const bool is_overlay = arrangement_ == Arrangement::overlay;
    const auto add_lane = [&](gui::RowKind kind, RowKind side, int height, int gap = 0) {
      const auto found = std::ranges::find(step.lanes, kind, &LanePair::kind);
      if (found == step.lanes.end()) return;
      add(side, height, gap, static_cast<std::size_t>(found - step.lanes.begin()));
    };
    add(RowKind::ruler, 24, 8);
    // Moved apart by units, phases would be in pieces.
    const bool has_phases = arrangement_ != Arrangement::by_instruction;
    if (has_phases) add_lane(gui::RowKind::phase, RowKind::baseline_lane, 18, 1);
    add_lane(gui::RowKind::unit, RowKind::baseline_lane, 24);
    if (step.lane(gui::RowKind::unit) != nullptr && !is_overlay) {
      add(RowKind::ribbons, step.ribbons.empty() ? 24 : 56);
    }
    add_lane(gui::RowKind::unit, RowKind::candidate_lane, 24, 1);
    if (has_phases) add_lane(gui::RowKind::phase, RowKind::candidate_lane, 18, 4);
    if (comparison_->are_steps_comparable()) add(RowKind::band, 24, 4);
    if (!step.pairs.empty()) add(RowKind::drift, 108, 6);
    const auto add_pairs = [&](bool are_minor) {
      for (const LanePair& lane : step.lanes) {
        const bool is_minor = std::max(lane.baseline.busy_ns, lane.candidate.busy_ns) <
                              step.baseline.length_ns() / kMinorShare;
        if (lane.kind == gui::RowKind::phase || lane.kind == gui::RowKind::unit ||
            is_minor != are_minor) {
          continue;
        }
        const int height = lane.kind == gui::RowKind::compute ? 30 : 16;
        if (is_overlay) {
          add_lane(lane.kind, RowKind::both_lanes, height + 6, 6);
        } else {
          add_lane(lane.kind, RowKind::baseline_lane, height, 2);
          add_lane(lane.kind, RowKind::candidate_lane, height, 8);
        }
      }
    };
    add_pairs(false);
    const bool has_memory = step.baseline.memory->size() > 0 || step.candidate.memory->size() > 0;
    if (has_memory && arrangement_ != Arrangement::by_instruction) {  // it has no units to align
      add(RowKind::memory, 84, 8);
    }
    add_pairs(true);
  }
  tiles_.reset(tile_fill());
  updateGeometry();
  lay_out();
  Q_EMIT height_changed();
}

double CompareCanvas::row_end(double most) const {
  double end = 0;
  for (const Row& row : rows_) {
    if (row.top + row.height <= most) end = row.top + row.height;
  }
  return end;
}

QSize CompareCanvas::sizeHint() const {
  return {900, static_cast<int>(std::ceil(height_)) + 4};
}

double CompareCanvas::x_of(bool is_candidate, std::int64_t ns) const {
  return lane_left() + axis().pixel_of(alignment_.place(is_candidate, ns));
}

QRectF CompareCanvas::lanes_box(const Row& row) const {
  return {lane_left(), row.top, axis().width(), row.height};
}

std::optional<CompareCanvas::Hit> CompareCanvas::event_at(QPointF point) const {
  if (!comparison_ || !rows_box().contains(point)) return std::nullopt;
  point.ry() += scrolled();
  for (const Row& row : rows_) {
    for (const Strip& strip : strips(row)) {
      if (point.y() < strip.top || point.y() >= strip.top + strip.height) continue;
      const StepSide& shown = side(strip.is_candidate);
      const std::int64_t since =
          alignment_.moment(strip.is_candidate, axis().ns_at(point.x() - lane_left()));
      if (point.x() < lane_left() || since < 0 || since > shown.length_ns()) return std::nullopt;
      const std::int64_t ns = shown.step.start_ns + since;
      // Rows of one kind lie over one another, the last on top.
      const auto& rows = comparison_->step.lanes[strip.lane].side(strip.is_candidate).rows;
      for (auto number = rows.rbegin(); number != rows.rend(); ++number) {
        const gui::Row& lane = shown.document->lanes->rows()[*number];
        const std::size_t item = item_at(lane, ns, kHitPixels * axis().ns_per_pixel());
        if (item == lane.size() || lane.event(item) == traces::kNone) continue;
        return Hit{strip.is_candidate, lane.event(item)};
      }
      return std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<CompareCanvas::Strip> CompareCanvas::strip_of(bool is_candidate,
                                                            std::int32_t event) const {
  if (!comparison_ || event == traces::kNone) return std::nullopt;
  const std::size_t row_of_lanes = side(is_candidate).document->lanes->place(event).row;
  for (const Row& row : rows_) {
    for (const Strip& strip : strips(row)) {
      const auto& rows = comparison_->step.lanes[strip.lane].side(is_candidate).rows;
      if (strip.is_candidate == is_candidate &&
          std::ranges::find(rows, row_of_lanes) != rows.end()) {
        return strip;
      }
    }
  }
  return std::nullopt;
}

QRectF CompareCanvas::box_of(const Strip& strip, std::int32_t number) const {
  const StepSide& shown = side(strip.is_candidate);
  const auto& event = shown.trace().events[static_cast<std::size_t>(number)];
  // What comes after its end may be moved further than it is.
  const double left = x_of(strip.is_candidate, event.start_ns - shown.step.start_ns);
  const double right = x_of(strip.is_candidate, event.end_ns - shown.step.start_ns - 1);
  return {left, strip.top, right - left, strip.height};
}

QPointF CompareCanvas::centre_of(bool is_candidate, std::int32_t event) const {
  const auto strip = strip_of(is_candidate, event);
  return strip ? box_of(*strip, event).center() - QPointF(0, scrolled()) : QPointF();
}

// Tiles count pixels from the step's start; a side's strip of a lane is a row of them.
TileCache::Fill CompareCanvas::tile_fill() const {
  if (!comparison_) return {};
  std::vector<double> heights(2 * comparison_->step.lanes.size());
  for (const Row& row : rows_) {
    for (const Strip& strip : strips(row)) {
      heights[2 * strip.lane + (strip.is_candidate ? 1 : 0)] = strip.height;
    }
  }
  return [comparison = comparison_, heights = std::move(heights), ratio = devicePixelRatioF(),
          &colours = theme()](const TileKey& key) {
    const auto number = static_cast<std::size_t>(key.row);
    const bool is_candidate = number % 2 == 1;
    const StepSide& side = comparison->step.side(is_candidate);
    const SceneContent::Part part{side.document, is_candidate && comparison->sides.is_prediction};
    PixelGrid grid;
    grid.origin_ns = side.step.start_ns;
    grid.ns_per_pixel = key.ns_per_pixel;
    grid.ratio = ratio;
    const std::int64_t first = key.index * kTileWidth;
    LaneShapes shapes;
    for (const std::size_t row : comparison->step.lanes[number / 2].side(is_candidate).rows) {
      add_band(part, {row, 0, heights[number]}, ColourBy::phase,
               {grid.ns(first), grid.ns(first + kTileWidth)}, key.ns_per_pixel, colours, shapes);
    }
    return paint_tile(shapes, grid, first, kTileWidth, heights[number], colours);
  };
}

void CompareCanvas::add_tiles(const Strip& strip, std::vector<TileRow>& tiles) const {
  const PixelGrid shown = PixelGrid::of(axis(), devicePixelRatioF(), axis().bounds().start_ns);
  for (const Alignment::Piece& piece : alignment_.pieces(strip.is_candidate, least_piece_ns())) {
    const std::int64_t start = shown.pixel(piece.time.start_ns);
    const std::int64_t by = shown.pixel(piece.time.start_ns + piece.by_ns) - start;
    const std::int64_t from = std::max(start + by, shown.first);
    const std::int64_t to =
        std::min(shown.pixel(piece.time.end_ns) + by, shown.first + shown.count);
    if (to <= from) continue;
    TileRow& row = tiles.emplace_back();
    row.id = static_cast<std::int32_t>(2 * strip.lane + (strip.is_candidate ? 1 : 0));
    row.left = lane_left() + static_cast<double>(from - shown.first) / shown.ratio;
    row.top = strip.top;
    row.height = strip.height;
    row.grid = shown;
    row.grid.origin_ns = side(strip.is_candidate).step.start_ns;
    row.grid.first = from - by;
    row.grid.count = to - from;
  }
}

traces::Interval CompareCanvas::span_of(const Hit& hit) const {
  const StepSide& shown = side(hit.is_candidate);
  const auto& found = shown.trace().events[static_cast<std::size_t>(hit.event)];
  const std::int64_t at = alignment_.place(hit.is_candidate, found.start_ns - shown.step.start_ns);
  return {at, at + std::max<std::int64_t>(found.end_ns - found.start_ns, 1)};
}

void CompareCanvas::zoom_to(const Hit& hit) {
  const traces::Interval span = span_of(hit);
  const std::int64_t margin = std::max<std::int64_t>((span.end_ns - span.start_ns) / 4, 5);
  axis().show({span.start_ns - margin, span.end_ns + margin});
}

traces::Interval CompareCanvas::fitting(QPointF at) {
  const auto hit = event_at(at);
  fitted_selection_ = hit.has_value();
  return hit ? span_of(*hit) : home();
}

void CompareCanvas::click(QPointF at) {
  if (const auto hit = event_at(at)) Q_EMIT event_chosen(hit->is_candidate, hit->event);
}

std::optional<TimeCanvas::Hovered> CompareCanvas::hover(QPointF at) const {
  const auto hit = event_at(at);
  if (!hit) return std::nullopt;
  return Hovered{
      card_of(*hit),
      box_of(*strip_of(hit->is_candidate, hit->event), hit->event).translated(0, -scrolled())};
}

// Painting:

namespace {

// Longer is amber, shorter is blue.
QColor difference_colour(std::int64_t difference) {
  return theme()[difference > 0 ? Role::warn : Role::focus];
}

QString lane_name(RowKind kind) {
  switch (kind) {
    case RowKind::compute: return CompareCanvas::tr("Compute");
    case RowKind::all_gather: return CompareCanvas::tr("All-gather");
    case RowKind::reduce_scatter: return CompareCanvas::tr("Reduce-scatter");
    case RowKind::all_reduce: return CompareCanvas::tr("All-reduce");
    case RowKind::stream: return CompareCanvas::tr("Other streams");
    case RowKind::exposed: return CompareCanvas::tr("Exposed");
    case RowKind::copies: return CompareCanvas::tr("Copies");
    default: return CompareCanvas::tr("Host compute");
  }
}

constexpr std::size_t kManyRibbons = 500;
constexpr double kRibbonPixels = 3;  // below, a ribbon is a line
constexpr double kLabelPixels = 16;  // below, no figure fits

TimeScale ribbon_scale(const StepComparison& step) {
  std::int64_t most = 0;
  for (const Ribbon& ribbon : step.ribbons) most = std::max(most, std::abs(ribbon.difference_ns()));
  return TimeScale(most);
}

}  // namespace

void CompareCanvas::paint_below(QPainter& painter, const QRect&, const Ruler&) {
  labels_.clear();
  if (!comparison_) return;
  painter.save();
  painter.translate(0, -scrolled());
  const double top = rows_box().top() + scrolled(), bottom = rows_box().bottom() + scrolled();
  std::vector<TileRow> tiles;
  for (const Row& row : rows_) {
    if (row.kind == RowKind::ruler || row.top >= bottom || row.top + row.height <= top) continue;
    paint_row(painter, row);
    for (const Strip& strip : strips(row)) add_tiles(strip, tiles);
  }
  labels_ = layer_.paint(painter, tiles, is_zooming());
  painter.restore();
}

void CompareCanvas::paint_above(QPainter& painter, const Ruler&) {
  painter.save();
  painter.setClipRect(lanes_of(rows_box()), Qt::IntersectClip);
  painter.translate(0, -scrolled());
  paint_box_labels(painter, labels_);
  paint_selection(painter);
  painter.restore();
}

void CompareCanvas::paint_row(QPainter& painter, const Row& row) const {
  painter.save();
  switch (row.kind) {
    case RowKind::ruler: break;
    case RowKind::ribbons: paint_ribbons(painter, row); break;
    case RowKind::band: paint_band(painter, row); break;
    case RowKind::drift: paint_drift(painter, row); break;
    case RowKind::memory: paint_memory(painter, row); break;
    case RowKind::baseline_lane:
    case RowKind::candidate_lane:
    case RowKind::both_lanes: paint_header(painter, row, row.kind == RowKind::candidate_lane);
  }
  painter.restore();
}

void CompareCanvas::paint_selection(QPainter& painter) const {
  if (!selected_) return;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme()[Role::selection], 2));
  for (const bool is_candidate : {false, true}) {
    const std::int32_t event = is_candidate ? selected_->candidate : selected_->baseline;
    const auto strip = strip_of(is_candidate, event);
    if (!strip) continue;
    QRectF box = box_of(*strip, event);
    box.setWidth(std::max(box.width(), 3.0));
    painter.drawRect(box.adjusted(1, 1, -1, -1));
  }
}

void CompareCanvas::paint_header(QPainter& painter, const Row& row, bool is_candidate) const {
  const QRectF gutter(0, row.top, 5, row.height);
  const bool is_hatched = is_candidate && comparison_->sides.is_prediction;
  painter.fillRect(gutter, is_hatched ? QBrush(theme()[Role::canvas]) : theme()[Role::text3]);
  if (is_hatched) painter.fillRect(gutter, hatch(theme()[Role::text3], Hatch::diagonal, 4));
  const RowText text = text_of(row);
  const QRectF box(16, row.top, lane_left() - 26, row.height);
  painter.setFont(gui::font(is_candidate ? Text::secondary : Text::body));
  painter.setPen(theme()[is_candidate ? Role::text2 : Role::text]);
  painter.drawText(box.adjusted(is_candidate && !is_of_step(row) ? 14 : 0, 0, 0, 0),
                   Qt::AlignLeft | Qt::AlignVCenter, text.name);
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(theme()[Role::text2]);
  draw_figure(painter, box, Qt::AlignRight, text.figure);
}

void CompareCanvas::paint_ribbons(QPainter& painter, const Row& row) const {
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(theme()[Role::text2]);
  painter.drawText(QRectF(16, row.top, lane_left() - 26, row.height),
                   Qt::AlignLeft | Qt::AlignVCenter, text_of(row).name);
  const StepComparison& step = comparison_->step;
  painter.setClipRect(lanes_box(row));
  if (step.ribbons.empty()) {
    draw_figure(
        painter, lanes_box(row).adjusted(4, 0, -4, 0), Qt::AlignLeft,
        tr("No kernel of a unit has a counterpart by key, so no unit is joined with its own."));
    return;
  }
  const TimeScale scale = ribbon_scale(step);
  std::int64_t most = 1;
  for (const Ribbon& ribbon : step.ribbons) most = std::max(most, std::abs(ribbon.difference_ns()));
  const auto edge = [&](bool is_candidate, const traces::Interval& time, bool is_end) {
    const std::int64_t start = alignment_.place(is_candidate, time.start_ns);
    return lane_left() + axis().pixel_of(start + (is_end ? time.end_ns - time.start_ns : 0));
  };
  const bool are_many = step.ribbons.size() > kManyRibbons;  // too many for outlines of narrow ones
  double label_right = lane_left(), drawn_to = 0;
  for (const Ribbon& ribbon : step.ribbons) {
    const double top_left = edge(false, ribbon.baseline, false);
    const double top_right = edge(false, ribbon.baseline, true);
    const double left = edge(true, ribbon.candidate, false);
    const double right = edge(true, ribbon.candidate, true);
    const auto is_seen = [&](double from, double to) {
      return to >= lane_left() && from <= viewport()->width();
    };
    if (!is_seen(top_left, top_right) && !is_seen(left, right)) continue;
    const double widest = std::max(top_right - top_left, right - left);
    const double thickness = widest * row.height / std::hypot(row.height, left - top_left);
    const std::int64_t difference = ribbon.difference_ns();
    const double strength = static_cast<double>(std::abs(difference)) / static_cast<double>(most);
    const QColor fill =
        theme().towards_canvas(difference_colour(difference), 0.92 - 0.32 * strength);
    if (are_many &&
        (widest < kRibbonPixels || thickness < 1)) {  // one line for all beside one another
      if (top_left < drawn_to) continue;
      drawn_to = top_left + kRibbonPixels;
      painter.setRenderHint(QPainter::Antialiasing, false);
      painter.setPen(QPen(fill, 0));
      painter.drawLine(QPointF(top_left, row.top), QPointF(left, row.top + row.height));
      continue;
    }
    const bool is_outlined = !are_many || (widest >= kLabelPixels && thickness >= kRibbonPixels);
    painter.setRenderHint(QPainter::Antialiasing, is_outlined);
    painter.setPen(is_outlined ? QPen(theme()[Role::strong_line], 1) : QPen(Qt::NoPen));
    painter.setBrush(fill);
    painter.drawPolygon(QPolygonF({{top_left, row.top},
                                   {top_right, row.top},
                                   {right, row.top + row.height},
                                   {left, row.top + row.height}}));
    if (!is_outlined || widest < kLabelPixels) continue;
    const QString text = scale.signed_text(difference);
    const double centre = (top_left + top_right + left + right) / 4;
    const double half = figure_width(painter.font(), text) / 2;
    if (widest < 2 * half + 6 || centre - half < label_right) continue;
    label_right = centre + half + 6;
    painter.setPen(theme()[Role::text]);
    draw_figure(painter, QRectF(centre - half, row.top, 2 * half, row.height), Qt::AlignHCenter,
                text);
  }
}

void CompareCanvas::paint_band(QPainter& painter, const Row& row) const {
  const StepComparison& step = comparison_->step;
  const double middle = std::round(row.top + row.height / 2) + 0.5;
  const double measured = x_of(false, step.baseline.length_ns());
  const double predicted = x_of(true, step.candidate.length_ns());
  painter.setClipRect(lanes_box(row));
  const auto tick = [&](double x, QColor colour) {
    painter.setPen(QPen(colour, 2));
    painter.drawLine(QPointF(x, middle - 6), QPointF(x, middle + 6));
  };
  double left = std::min(measured, predicted);
  if (comparison_->band) {
    const traces::Interval& band = *comparison_->band;
    const double low = x_of(true, band.start_ns), high = x_of(true, band.end_ns);
    painter.setPen(QPen(theme()[Role::text2], 1));
    painter.drawLine(QPointF(low, middle), QPointF(high, middle));
    painter.drawLine(QPointF(low, middle - 4), QPointF(low, middle + 4));
    painter.drawLine(QPointF(high, middle - 4), QPointF(high, middle + 4));
    left = std::min(left, low);
  }
  const Role state = !comparison_->band                                   ? Role::text2
                     : comparison_->band_holds(step.baseline.length_ns()) ? Role::ok
                                                                          : Role::warn;
  tick(measured, theme()[state]);
  tick(predicted, theme()[Role::text]);
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(theme()[Role::text2]);
  const QRectF room(lane_left() + 4, row.top, left - lane_left() - 14, row.height);
  draw_figure(painter, room, Qt::AlignRight,
              elided_figure(painter.font(), text_of(row).name, room.width()));
}

// The curves of the comparison's canvas: drift and memory.

namespace {

// Title and explanation of a curve at the left, its values right aligned.
void draw_title(QPainter& painter, double top, const QString& title, const QStringList& lines) {
  painter.setFont(gui::font(Text::body));
  painter.setPen(theme()[Role::text]);
  const double left = 16, line = QFontMetricsF(painter.font()).height();
  painter.drawText(QRectF(left, top, lane_left() - left, line), Qt::AlignLeft, title);
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(theme()[Role::text2]);
  for (qsizetype n = 0; n < lines.size(); ++n) {
    painter.drawText(
        QRectF(left, top + line * static_cast<double>(n + 1), lane_left() - left, line),
        Qt::AlignLeft, lines[n]);
  }
}

// "-20 ms": without the zeros that figures have for their four digits.
QString round_time(double ns) {
  const double size = std::abs(ns);
  const double unit = size >= 1e9 ? 1e9 : size >= 1e6 ? 1e6 : size >= 1e3 ? 1e3 : 1;
  if (size < 0.5) return QStringLiteral("0");
  const QString number = QString::number(size / unit, 'g', 4) + QLatin1Char(' ');
  return (ns < 0 ? QString(QChar(0x2212)) : QString()) + number + time_figure(ns).unit;
}

void draw_value(QPainter& painter, double y, const QString& text, double right) {
  painter.setFont(gui::font(Text::tick));
  painter.setPen(theme()[Role::text3]);
  draw_figure(painter, QRectF(lane_left() - 92, y - 8, 84, 16), Qt::AlignRight, text);
  painter.fillRect(QRectF(lane_left(), std::round(y), right - lane_left(), 1), theme()[Role::grid]);
}

void draw_key(QPainter& painter, QPointF at, const QString& text, QColor colour, bool is_dashed) {
  QPen pen(colour, 1.6);
  if (is_dashed) pen.setDashPattern({4 / 1.6, 2.5 / 1.6});
  painter.setPen(pen);
  painter.drawLine(at, at + QPointF(20, 0));
  painter.setPen(theme()[Role::text2]);
  painter.drawText(at + QPointF(26, 4), text);
}

// A line with the area between it and `zero` filled. One with more corners than it is wide is drawn in columns: to
// stroke it takes longer than a frame has.
void paint_curve(QPainter& painter, const QPolygonF& line, double zero, QColor colour) {
  const QColor ground = theme().towards_canvas(colour, 0.82);
  if (static_cast<double>(line.size()) <= line.back().x() - line.front().x()) {
    QPolygonF filled = line;
    filled << QPointF(line.back().x(), zero) << QPointF(line.front().x(), zero);
    painter.setPen(Qt::NoPen);
    painter.setBrush(ground);
    painter.drawPolygon(filled);
    painter.setPen(QPen(colour, 1.6));
    painter.setBrush(Qt::NoBrush);
    painter.drawPolyline(line);
    return;
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
  double low = line.front().y(), high = low;  // of a column, and where the one before it ended
  for (qsizetype n = 0; n < line.size(); ++n) {
    const double column = std::floor(line[n].x());
    low = std::min(low, line[n].y());
    high = std::max(high, line[n].y());
    const bool is_last = n + 1 == line.size();
    const double next = is_last ? column + 1 : std::floor(line[n + 1].x());
    if (next == column) continue;
    const double wide = next - column, y = line[n].y();
    painter.fillRect(QRectF(column, std::min(y, zero), wide, std::abs(y - zero)), ground);
    painter.fillRect(QRectF(column, low - 1, 1, high - low + 2), colour);
    painter.fillRect(QRectF(column, y - 1, wide, 2), colour);
    low = high = y;
  }
  painter.setRenderHint(QPainter::Antialiasing);
}

}  // namespace

QPolygonF CompareCanvas::drift_line() const {
  QPolygonF line;
  for (const Alignment::Piece& piece : alignment_.pieces(false, least_piece_ns())) {
    const traces::Interval seen{std::max(piece.time.start_ns, axis().start_ns() - piece.by_ns),
                                std::min(piece.time.end_ns + 1, axis().end_ns() - piece.by_ns)};
    if (seen.end_ns <= seen.start_ns) continue;
    for (const DriftPoint& point : comparison_->step.drift.seen(seen, axis().ns_per_pixel())) {
      const double x = lane_left() + axis().pixel_of(point.at_ns + piece.by_ns);
      if (line.isEmpty() || x >= line.back().x()) {
        line << QPointF(x, static_cast<double>(point.drift_ns));
      }
    }
  }
  return line;
}

void CompareCanvas::paint_drift(QPainter& painter, const Row& row) const {
  const StepComparison& step = comparison_->step;
  painter.fillRect(QRectF(0, row.top, viewport()->width(), 1), theme()[Role::line]);
  const RowText title = text_of(row);
  draw_title(painter, row.top + 8, title.name, title.notes);
  const std::int64_t lowest = step.drift.lowest_ns(), highest = step.drift.highest_ns();
  const QRectF area(lane_left(), row.top + 14, axis().width(), row.height - 24);
  const double range = std::max(static_cast<double>(highest - lowest), 1.0) * 1.1;
  const auto y_of = [&](double ns) {
    return area.bottom() - (ns - static_cast<double>(lowest)) / range * area.height();
  };
  const std::vector<double> ticks = value_ticks(range, 4);
  const double tick = ticks.size() > 1 ? ticks[1] : range;
  for (double value = std::ceil(static_cast<double>(lowest) / tick) * tick;
       value <= static_cast<double>(highest); value += tick) {
    draw_value(painter, y_of(value), round_time(value), viewport()->width());
  }
  painter.setClipRect(QRectF(lane_left(), row.top, axis().width(), row.height));
  painter.setRenderHint(QPainter::Antialiasing);
  QPolygonF line = drift_line();
  for (QPointF& point : line) point.setY(y_of(point.y()));
  if (line.isEmpty()) return;
  const std::int64_t end = step.drift.end_ns();
  const DriftPoint last_point = step.drift.point(step.drift.size() - 1);
  const QPointF last(x_of(false, last_point.at_ns), y_of(static_cast<double>(end)));
  const QColor colour = theme()[end < 0 ? Role::focus : Role::warn];
  paint_curve(painter, line, y_of(0), colour);
  painter.setPen(QPen(theme()[Role::strong_line], 1));
  painter.drawLine(QPointF(lane_left(), y_of(0)), QPointF(viewport()->width(), y_of(0)));
  painter.setPen(QPen(colour, 1.6));
  painter.setBrush(theme()[Role::canvas]);
  painter.drawEllipse(last, 3.5, 3.5);
  painter.setFont(gui::font(Text::secondary_strong));
  const QString text = signed_time_text(end);
  const double text_width = figure_width(painter.font(), text);
  const bool is_left = last.x() + text_width + 12 > viewport()->width();
  // Right of the end; where there is no room on the side of zero that the curve leaves free.
  const double above = end < 0 ? y_of(0) - 20 : last.y() - 22;
  const QRectF end_box(
      is_left ? last.x() - text_width - 10 : last.x() + 8,
      std::clamp(is_left ? above : last.y() - 10, row.top, row.top + row.height - 20),
      text_width + 2, 18);
  painter.setPen(colour);
  draw_figure(painter, end_box, Qt::AlignLeft, text);
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(theme()[Role::text2]);
  for (const PhaseDrift& phase : step.drift.phases()) {
    if (phase.phase.empty() || std::abs(phase.drift_ns) * 20 < std::abs(end)) continue;
    const QString label =
        tr("%1 in %2").arg(signed_time_text(phase.drift_ns), QString::fromStdString(phase.phase));
    const double left = std::max(x_of(false, phase.time.start_ns), lane_left());
    const double right = std::min<double>(x_of(false, phase.time.end_ns), viewport()->width());
    if (right - left < figure_width(painter.font(), label)) continue;
    draw_figure(painter, QRectF(left, row.top + 2, right - left, 18), Qt::AlignHCenter, label);
  }
}

void CompareCanvas::paint_memory(QPainter& painter, const Row& row) const {
  const StepComparison& step = comparison_->step;
  const SideWords& words = comparison_->sides;
  painter.fillRect(QRectF(0, row.top, viewport()->width(), 1), theme()[Role::line]);
  const RowText title = text_of(row);
  draw_title(painter, row.top + 8, title.name, title.notes);

  const QRectF area(lane_left(), row.top + 8, axis().width(), row.height - 14);
  std::int64_t most = 1;
  for (const StepSide* shown : {&step.baseline, &step.candidate}) {
    const MemoryCurve& curve = *shown->memory;
    if (curve.size() > 0) most = std::max(most, curve.allocated(curve.peak()));
  }
  most += most / 12;
  for (const std::int64_t bytes : byte_ticks(most, 2)) {
    const double share = static_cast<double>(bytes) / static_cast<double>(most);
    draw_value(painter, area.bottom() - share * area.height(), round_bytes_text(bytes),
               viewport()->width());
  }
  for (const bool is_candidate : {false, true}) {
    const StepSide& shown = side(is_candidate);
    if (shown.memory->size() == 0) continue;
    MemoryPlot plot;
    plot.curve = shown.memory;
    plot.clock = shown.memory->best_clock();
    plot.is_predicted = is_candidate && words.is_prediction;
    plot.is_current = false;
    plot.most_bytes = most;
    // Only the step at hand: what came before and after is another step's.
    plot.shift_ns = -shown.step.start_ns;
    const double from = std::max(x_of(is_candidate, 0), area.left());
    const double to = std::min(x_of(is_candidate, shown.length_ns()), area.right());
    if (to <= from) continue;
    painter.save();
    painter.setClipRect(QRectF(from, row.top, to - from, row.height));
    painter.setRenderHint(QPainter::Antialiasing);
    plot.paint_allocated_line(painter, area, axis(),
                              theme()[is_candidate ? Role::focus : Role::text]);
    painter.restore();
  }
  painter.setFont(gui::font(Text::secondary));
  painter.setRenderHint(QPainter::Antialiasing);
  const double y = area.bottom() - 10;
  draw_key(painter, {lane_left() + 36, y}, words.baseline, theme()[Role::text], false);
  const double second = lane_left() + 36 + 40 + figure_width(painter.font(), words.baseline);
  draw_key(painter, {second, y}, words.candidate, theme()[Role::focus], words.is_prediction);
}

// What the comparison's canvas says: the names and figures of its rows and the cards of events, to
// be drawn and for assistive technology.

namespace {

QString duration(std::int64_t ns) {
  return time_figure(static_cast<double>(ns)).text();
}

}  // namespace

CompareCanvas::RowText CompareCanvas::text_of(const Row& row) const {
  const StepComparison& step = comparison_->step;
  const SideWords& words = comparison_->sides;
  switch (row.kind) {
    case RowKind::ruler: {
      const StepChoice& choice = step.choice;
      const bool has_ours = !step.baseline.trace().steps.empty();
      const bool has_theirs = !step.candidate.trace().steps.empty();
      if (!has_ours && !has_theirs) return {tr("All of both"), {}, {}};
      if (!has_ours) return {tr("All and step %1").arg(choice.candidate_step), {}, {}};
      if (!has_theirs) return {tr("Step %1 and all").arg(choice.baseline_step), {}, {}};
      return {choice.baseline_step == choice.candidate_step
                  ? tr("Step %1 of both").arg(choice.baseline_step)
                  : tr("Steps %1 and %2").arg(choice.baseline_step).arg(choice.candidate_step),
              {},
              {}};
    }
    case RowKind::ribbons:
      return {step.ribbons.empty() ? tr("difference")
                                   : tr("difference, %1").arg(ribbon_scale(step).unit()),
              {},
              {}};
    case RowKind::band: return {band_text(), {}, {}};
    case RowKind::drift:
      return {tr("Drift"), signed_time_text(step.drift.end_ns()),
              words.is_prediction ? QStringList{tr("predicted"), tr("− measured")}
                                  : QStringList{tr("after"), tr("− before")}};
    case RowKind::baseline_lane:
    case RowKind::candidate_lane:
    case RowKind::both_lanes: return text_of_lane(row);
    case RowKind::memory: break;
  }
  RowText memory{tr("Memory"), {}, {tr("allocated, rank %1").arg(step.choice.rank)}};
  for (const bool is_candidate : {false, true}) {
    if (step.side(is_candidate).memory->size() > 0) continue;
    memory.notes << tr("not recorded %1").arg(is_candidate ? words.candidate : words.baseline);
    return memory;
  }
  for (const profiler::RankMemoryDifference& rank : comparison_->whole->ranks) {
    if (rank.rank != step.choice.rank) continue;
    const std::int64_t apart = rank.candidate_allocated_bytes - rank.baseline_allocated_bytes;
    memory.notes << (apart == 0 ? tr("0 B apart")
                                : tr("peak %1").arg(signed_text(bytes_figure(apart), apart < 0)));
  }
  return memory;
}

// Of phases and units it is the step that has a length.
CompareCanvas::RowText CompareCanvas::text_of_lane(const Row& row) const {
  const StepComparison& step = comparison_->step;
  const LanePair& lane = step.lanes[row.lane];
  const bool is_candidate = row.kind == RowKind::candidate_lane;
  const QString& word = is_candidate ? comparison_->sides.candidate : comparison_->sides.baseline;
  if (!is_of_step(row)) {
    const std::int64_t busy = lane.side(is_candidate).busy_ns;
    return {is_candidate ? word : lane_name(lane.kind), busy > 0 ? duration(busy) : tr("none"), {}};
  }
  const bool has_length =
      comparison_->are_steps_comparable() &&
      (lane.kind == gui::RowKind::phase || arrangement_ == Arrangement::by_instruction ||
       step.lane(gui::RowKind::phase) == nullptr);
  return {lane.kind == gui::RowKind::phase ? tr("Step, %1").arg(word) : tr("Units, %1").arg(word),
          has_length ? duration(step.side(is_candidate).length_ns()) : QString(),
          {}};
}

QString CompareCanvas::band_text() const {
  const StepComparison& step = comparison_->step;
  const profiler::Comparison& whole = *comparison_->whole;
  const QString apart = signed_time_text(step.difference_ns());
  const QString picture = step.choice.baseline_step == step.choice.candidate_step
                              ? tr("step %1").arg(step.choice.baseline_step)
                              : tr("these steps");
  const QString ends = !comparison_->band ? tr("%1: ends %2 apart").arg(picture, apart)
                       : comparison_->band_holds(step.baseline.length_ns())
                           ? tr("90 % band of the step's end; %1 measured inside").arg(picture)
                           : tr("90 % band of the step's end; %1 measured outside").arg(picture);
  const auto steps =
      std::pair(whole.baseline.steady_steps.size(), whole.candidate.steady_steps.size());
  if (std::max(steps.first, steps.second) < 2) return ends;
  return tr("%1 (medians of %2 steps: %3)")
      .arg(ends,
           steps.first == steps.second ? QString::number(steps.first)
                                       : tr("%1 and %2").arg(steps.first).arg(steps.second),
           signed_time_text(whole.candidate_step_ns - whole.baseline_step_ns));
}

HoverCard CompareCanvas::card_of(const Hit& hit) const {
  const traces::Trace& trace = side(hit.is_candidate).trace();
  const auto& found = trace.events[static_cast<std::size_t>(hit.event)];
  const SideWords& words = comparison_->sides;
  HoverCard card;
  card.title = QString::fromStdString(trace.strings[found.name]);
  card.swatch = theme()[colour_of_operator(trace.strings[found.name], trace.strings[found.phase])];
  if (found.unit != 0) card.subtitle = QString::fromStdString(trace.strings[found.unit]);
  if (const ComparedPair* pair = comparison_->step.pair_of(hit.is_candidate, hit.event)) {
    card.facts = {{words.baseline, duration(pair->baseline_ns)},
                  {words.candidate, duration(pair->candidate_ns)},
                  {tr("Difference"), signed_percent_text(pair->candidate_ns, pair->baseline_ns)}};
  } else {
    card.facts = {{hit.is_candidate ? words.candidate : words.baseline,
                   duration(found.end_ns - found.start_ns)}};
    card.note = tr("without a counterpart");
  }
  return card;
}

AccessibleItem CompareCanvas::accessible_row(int number) const {
  const Row& row = rows_[static_cast<std::size_t>(number)];
  const RowText text = text_of(row);
  const QStringList parts = QStringList{text.name, text.figure} + text.notes;
  return {parts.join(QLatin1Char('\t')).trimmed(),
          QRectF(0, row.top - (row.kind == RowKind::ruler ? 0 : scrolled()), viewport()->width(),
                 row.height)};
}

std::optional<AccessibleItem> CompareCanvas::accessible_selection() const {
  if (!selected_) return std::nullopt;
  const bool is_candidate = selected_->baseline == traces::kNone;
  const std::int32_t event = is_candidate ? selected_->candidate : selected_->baseline;
  const QPointF centre = centre_of(is_candidate, event);
  const HoverCard card = card_of({is_candidate, event});
  QStringList text{card.title, card.subtitle};
  for (const auto& [label, value] : card.facts) text << label + QStringLiteral(": ") + value;
  text << card.note;
  text.removeAll(QString());
  return AccessibleItem{text.join(QLatin1Char('\n')), QRectF(centre - QPointF(4, 4), QSizeF(8, 8))};
}

}  // namespace foreshard::gui
