#include "gui/models/timeline/lane_set.hpp"

#include <utility>

namespace foreshard::gui {

LaneSet::LaneSet(std::shared_ptr<const traces::Trace> trace) : trace_(std::move(trace)) {}

}  // namespace foreshard::gui
