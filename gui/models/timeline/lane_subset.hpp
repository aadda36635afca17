// Some of a trace's events, row by row, with a level of detail of their own: what a search found, the
// critical path. They are drawn over the lanes that they are of.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gui/models/timeline/event_links.hpp"
#include "gui/models/timeline/lane_set.hpp"

namespace foreshard::gui {

class LaneSubset {
 public:
  // In categories of that colouring. Takes time: not on the window's thread.
  LaneSubset(std::shared_ptr<const LaneSet> lanes, const std::vector<EventIndex>& events,
             ColourBy by);

  bool contains(EventIndex event) const { return is_in_[static_cast<std::size_t>(event)]; }
  const Colouring& colouring() const { return lanes_->colouring(by_); }
  // Of a row of the lanes, the events that are in the subset; none of derived rows.
  const Row& row(std::size_t row) const { return rows_[row]; }
  RowShapes shapes(std::size_t row, traces::Interval window, double ns_per_pixel) const {
    return shapes_of(rows_[row], pyramids_[row], window, ns_per_pixel);
  }
  // When they begin, ascending, on any lane; of those close to one another the first, so that there
  // are at most `kMoments`.
  static constexpr int kMoments = 4096;
  const std::vector<std::int64_t>& moments() const { return moments_; }

 private:
  std::shared_ptr<const LaneSet> lanes_;
  ColourBy by_;
  std::vector<bool> is_in_;
  std::vector<Row> rows_;  // of each row of the lanes
  std::vector<Pyramid> pyramids_;
  std::vector<std::int64_t> moments_;
};

}  // namespace foreshard::gui
