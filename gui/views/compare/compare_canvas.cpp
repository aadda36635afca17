#include "gui/views/compare/compare_canvas.hpp"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"
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

CompareCanvas::CompareCanvas(QWidget* parent) : PaintedWidget(parent) {
  setAccessibleName(tr("Two steps side by side"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  connect(&axis_, &TimeAxis::changed, this, [this] {
    update();
    Q_EMIT window_changed();
  });
  connect(&tiles_, &TileCache::delivered, this, [this] {
    update();
    tell_busy();
  });
  connect(&Appearance::instance(), &Appearance::changed, this, &CompareCanvas::lay_out);
}

void CompareCanvas::tell_busy() {
  if (std::exchange(was_busy_, is_busy()) != was_busy_) Q_EMIT busy_changed();
}

void CompareCanvas::set_comparison(std::shared_ptr<const TraceComparison> comparison) {
  comparison_ = std::move(comparison);
  selected_.reset();
  set_arrangement(arrangement_);
}

void CompareCanvas::set_arrangement(Arrangement arrangement) {
  arrangement_ = arrangement;
  alignment_ = comparison_ ? Alignment(comparison_->step, arrangement) : Alignment();
  lay_out();
  axis_.set_bounds({0, std::max<std::int64_t>(alignment_.end_ns(), 1)});
  fit();
}

void CompareCanvas::fit() {
  const std::int64_t end = std::max<std::int64_t>(alignment_.end_ns(), 1);
  axis_.show({-end / 200, end + end / 50});
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
  update();
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

void CompareCanvas::lay_out() {
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
  update();
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

void CompareCanvas::resizeEvent(QResizeEvent*) {
  axis_.set_width(std::max(width() - lane_left(), 1.0));
}

double CompareCanvas::x_of(bool is_candidate, std::int64_t ns) const {
  return lane_left() + axis_.pixel_of(alignment_.place(is_candidate, ns));
}

QRectF CompareCanvas::lanes_box(const Row& row) const {
  return {lane_left(), row.top, axis_.width(), row.height};
}

std::optional<CompareCanvas::Hit> CompareCanvas::event_at(QPointF point) const {
  if (!comparison_) return std::nullopt;
  for (const Row& row : rows_) {
    for (const Strip& strip : strips(row)) {
      if (point.y() < strip.top || point.y() >= strip.top + strip.height) continue;
      const StepSide& shown = side(strip.is_candidate);
      const std::int64_t since =
          alignment_.moment(strip.is_candidate, axis_.ns_at(point.x() - lane_left()));
      if (point.x() < lane_left() || since < 0 || since > shown.length_ns()) return std::nullopt;
      const std::int64_t ns = shown.step.start_ns + since;
      // Rows of one kind lie over one another, the last on top.
      const auto& rows = comparison_->step.lanes[strip.lane].side(strip.is_candidate).rows;
      for (auto number = rows.rbegin(); number != rows.rend(); ++number) {
        const gui::Row& lane = shown.document->lanes->rows()[*number];
        const std::size_t item = item_at(lane, ns, kHitPixels * axis_.ns_per_pixel());
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
  return strip ? box_of(*strip, event).center() : QPointF();
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
  const PixelGrid shown = PixelGrid::of(axis_, devicePixelRatioF(), axis_.bounds().start_ns);
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

void CompareCanvas::wheelEvent(QWheelEvent* event) {
  const double turned = event->angleDelta().y() / 120.0;
  if (event->modifiers() & Qt::ControlModifier) {
    axis_.zoom(std::pow(1.25, turned), event->position().x() - lane_left());
  } else if (event->modifiers() & Qt::ShiftModifier) {
    axis_.pan(-turned * 80);
  } else {
    event->ignore();
    return;
  }
  event->accept();
}

void CompareCanvas::mousePressEvent(QMouseEvent* event) {
  pressed_ = event->position();
  dragged_to_ = event->position().x();
  has_dragged_ = false;
}

void CompareCanvas::mouseMoveEvent(QMouseEvent* event) {
  if (!pressed_) return;
  if ((event->position() - *pressed_).manhattanLength() > 4) has_dragged_ = true;
  if (has_dragged_) axis_.pan(dragged_to_ - event->position().x());
  dragged_to_ = event->position().x();
}

void CompareCanvas::mouseReleaseEvent(QMouseEvent* event) {
  if (pressed_ && !has_dragged_ && event->button() == Qt::LeftButton) {
    if (const auto hit = event_at(event->position())) {
      Q_EMIT event_chosen(hit->is_candidate, hit->event);
    }
  }
  pressed_.reset();
}

void CompareCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  const auto hit = event_at(event->position());
  return hit ? zoom_to(*hit) : fit();
}

void CompareCanvas::zoom_to(const Hit& hit) {
  const auto& found = side(hit.is_candidate).trace().events[static_cast<std::size_t>(hit.event)];
  const std::int64_t start = found.start_ns - side(hit.is_candidate).step.start_ns;
  const std::int64_t at = alignment_.place(hit.is_candidate, start);
  const std::int64_t length = std::max<std::int64_t>(found.end_ns - found.start_ns, 10);
  axis_.show({at - length / 4, at + length + length / 4});
}

bool CompareCanvas::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    auto* help = static_cast<QHelpEvent*>(event);
    const auto hit = event_at(help->pos());
    QToolTip::showText(help->globalPos(), hit ? event_text(*hit) : QString(), this);
    return true;
  }
  if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) lay_out();
  return PaintedWidget::event(event);
}

}  // namespace foreshard::gui
