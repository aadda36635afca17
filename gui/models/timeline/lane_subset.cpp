#include "gui/models/timeline/lane_subset.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace foreshard::gui {
namespace {

// The first of the starts in each of equal parts of the time that they span.
std::vector<std::int64_t> spread_moments(const traces::Trace& trace,
                                         const std::vector<EventIndex>& events) {
  if (events.empty()) return {};
  const auto start = [&](EventIndex event) {
    return trace.events[static_cast<std::size_t>(event)].start_ns;
  };
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  std::int64_t first = kNever, last = std::numeric_limits<std::int64_t>::min();
  for (const EventIndex event : events) {
    first = std::min(first, start(event));
    last = std::max(last, start(event));
  }
  const double part = static_cast<double>(last - first + 1) / LaneSubset::kMoments;
  std::vector<std::int64_t> firsts(LaneSubset::kMoments, kNever);
  for (const EventIndex event : events) {
    const auto n = static_cast<std::size_t>(static_cast<double>(start(event) - first) / part);
    std::int64_t& earliest = firsts[std::min(n, firsts.size() - 1)];
    earliest = std::min(earliest, start(event));
  }
  std::erase(firsts, kNever);
  return firsts;
}

}  // namespace

LaneSubset::LaneSubset(std::shared_ptr<const LaneSet> lanes, const std::vector<EventIndex>& events,
                       ColourBy by)
    : lanes_(std::move(lanes)),
      by_(by),
      is_in_(lanes_->trace().events.size()),
      moments_(spread_moments(lanes_->trace(), events)) {
  for (const EventIndex event : events) is_in_[static_cast<std::size_t>(event)] = true;
  rows_.reserve(lanes_->rows().size());
  pyramids_.reserve(lanes_->rows().size());
  for (const Row& row : lanes_->rows()) {
    std::vector<EventIndex> some;
    for (std::size_t item = 0; !row.is_derived() && item < row.size(); ++item) {
      if (contains(row.event(item))) some.push_back(row.event(item));
    }
    rows_.emplace_back(row.kind, row.rank, row.title, lanes_->trace(), some, row.lane, row.depth);
    pyramids_.emplace_back(rows_.back(), colouring());
  }
}

}  // namespace foreshard::gui
