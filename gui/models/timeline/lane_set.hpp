// The lanes of a trace as the timeline shows them: groups of ranks, in each the phases and units of its
// steps, its host threads, its streams, the communication that no kernel hides, and its counters.
//
// Every event of the trace is in one row. Ranks of a prediction that have equal programs are one group,
// drawn once.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gui/models/timeline/alike_events.hpp"
#include "gui/models/timeline/colouring.hpp"
#include "gui/models/timeline/pyramid.hpp"
#include "gui/models/timeline/row.hpp"
#include "gui/models/timeline/row_shapes.hpp"
#include "traces/meaning/launches.hpp"
#include "traces/trace.hpp"

namespace foreshard::gui {

struct RankGroup {
  std::vector<int> ranks;            // that it stands for; the first is the one that is drawn
  std::string title;                 // "Ranks 0-7", "Rank 3"
  std::size_t first = 0, count = 0;  // of LaneSet::rows

  // Of these rows, those that stand for the rank where it has one: what computes, and what communicates.
  std::vector<std::size_t> work, communication;
};

// Where an event is drawn.
struct RowPlace {
  std::size_t row = 0, item = 0;
};

class LaneSet {
 public:
  explicit LaneSet(std::shared_ptr<const traces::Trace> trace);

  const traces::Trace& trace() const { return *trace_; }
  const std::vector<RankGroup>& groups() const { return groups_; }
  const std::vector<Row>& rows() const { return rows_; }
  RowPlace place(std::int32_t event) const;
  std::size_t group_of(std::size_t row) const;
  const std::vector<std::size_t>& rows_of_lane(int lane) const {
    return rows_of_lane_[static_cast<std::size_t>(lane)];
  }

  // Made the first time they are wanted, which takes time: not on the window's thread, except by phase,
  // which is made with the lanes. Safe on several threads.
  const Colouring& colouring(ColourBy by) const { return coloured(by).colouring; }
  RowShapes shapes(std::size_t row, ColourBy by, traces::Interval window,
                   double ns_per_pixel) const;

  const traces::Launches& launches() const { return launches_; }
  const AlikeEvents& alike() const { return alike_; }

 private:
  struct Coloured {
    Coloured(const traces::Trace& trace, ColourBy by) : colouring(trace, by) {}
    Colouring colouring;
    std::vector<Pyramid> pyramids;  // of each row
  };
  struct Lazy {
    std::once_flag once;
    std::unique_ptr<Coloured> value;
  };
  const Coloured& coloured(ColourBy by) const;

  std::shared_ptr<const traces::Trace> trace_;
  traces::Launches launches_;
  AlikeEvents alike_;
  std::vector<Row> rows_;
  std::vector<std::vector<std::size_t>> rows_of_lane_;
  std::vector<RankGroup> groups_;
  mutable std::array<Lazy, static_cast<std::size_t>(ColourBy::kCount)> coloured_;
};

}  // namespace foreshard::gui
