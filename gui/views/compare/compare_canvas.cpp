#include "gui/views/compare/compare_canvas.hpp"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/views/compare/compare_layout.hpp"

namespace foreshard::gui {
namespace {

constexpr double kHitPixels = 2;

}  // namespace

CompareCanvas::CompareCanvas(QWidget* parent) : PaintedWidget(parent) {
  setAccessibleName(tr("Two steps side by side"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  connect(&axis_, &TimeAxis::changed, this, [this] {
    update();
    Q_EMIT window_changed();
  });
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

bool CompareCanvas::is_selected(bool is_candidate, std::int32_t event) const {
  return selected_ && event == (is_candidate ? selected_->candidate : selected_->baseline);
}

const StepSide& CompareCanvas::side(bool is_candidate) const {
  return is_candidate ? comparison_->step.candidate : comparison_->step.baseline;
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
    add(RowKind::ruler, 24, 8);
    if (!step.baseline.units.empty() || !step.candidate.units.empty()) {
      add(RowKind::baseline_units, 24);
      if (!is_overlay) add(RowKind::ribbons, 56);
      add(RowKind::candidate_units, 24);
    }
    add(RowKind::band, 24, 4);
    if (!step.pairs.empty()) add(RowKind::drift, 108, 6);
    const auto add_lane = [&](std::size_t n) {
      const int height = step.lanes[n].kind == LaneKind::compute ? 30 : 16;
      if (is_overlay) {
        add(RowKind::both_lanes, height + 6, 6, n);
      } else {
        add(RowKind::baseline_lane, height, 2, n);
        add(RowKind::candidate_lane, height, 8, n);
      }
    };
    // Lanes with little in them stand below the memory.
    const auto is_minor = [&](const LanePair& lane) {
      return std::max(lane.baseline.busy_ns, lane.candidate.busy_ns) <
             step.baseline.length_ns() / 150;
    };
    for (std::size_t n = 0; n < step.lanes.size(); ++n) {
      if (!is_minor(step.lanes[n])) add_lane(n);
    }
    const bool has_memory = step.baseline.memory->size() > 0 || step.candidate.memory->size() > 0;
    if (has_memory && arrangement_ != Arrangement::by_instruction) {  // it has no units to align
      add(RowKind::memory, 84, 8);
    }
    for (std::size_t n = 0; n < step.lanes.size(); ++n) {
      if (is_minor(step.lanes[n])) add_lane(n);
    }
  }
  updateGeometry();
  update();
  Q_EMIT height_changed();
}

QSize CompareCanvas::sizeHint() const {
  return {900, static_cast<int>(std::ceil(height_)) + 4};
}

void CompareCanvas::resizeEvent(QResizeEvent*) {
  axis_.set_width(std::max(width() - lane_left() - kRight, 1.0));
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
    if (point.y() < row.top || point.y() >= row.top + row.height) continue;
    if (row.kind != RowKind::baseline_lane && row.kind != RowKind::candidate_lane &&
        row.kind != RowKind::both_lanes) {
      return std::nullopt;
    }
    const LanePair& lane = comparison_->step.lanes[row.lane];
    const bool is_candidate =
        row.kind == RowKind::candidate_lane ||
        (row.kind == RowKind::both_lanes && point.y() >= row.top + row.height / 2);
    Hit hit{is_candidate, traces::kNone};
    double nearest = kHitPixels;
    for (const ComparedBox& box : (is_candidate ? lane.candidate : lane.baseline).boxes) {
      const double left = x_of(is_candidate, box.time.start_ns);
      const double right = x_of(is_candidate, box.time.end_ns);
      const double distance = std::max({left - point.x(), point.x() - right, 0.0});
      if (distance > nearest || (distance == nearest && hit.event != traces::kNone)) continue;
      nearest = distance;
      hit.event = box.event;
    }
    return hit.event == traces::kNone ? std::nullopt : std::optional(hit);
  }
  return std::nullopt;
}

QPointF CompareCanvas::centre_of(bool is_candidate, std::int32_t event) const {
  for (const Row& row : rows_) {
    const bool is_lane =
        row.kind == (is_candidate ? RowKind::candidate_lane : RowKind::baseline_lane);
    if (!is_lane) continue;
    const LanePair& lane = comparison_->step.lanes[row.lane];
    for (const ComparedBox& box : (is_candidate ? lane.candidate : lane.baseline).boxes) {
      if (box.event != event) continue;
      return {(x_of(is_candidate, box.time.start_ns) + x_of(is_candidate, box.time.end_ns)) / 2,
              row.top + row.height / 2};
    }
  }
  return {};
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
  const auto& found = side(hit.is_candidate).trace->events[static_cast<std::size_t>(hit.event)];
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
