// The lanes of a trace as the timeline shows them.
#pragma once

#include <memory>

#include "traces/trace.hpp"

namespace foreshard::gui {

class LaneSet {
 public:
  explicit LaneSet(std::shared_ptr<const traces::Trace> trace);
  const traces::Trace& trace() const { return *trace_; }

 private:
  std::shared_ptr<const traces::Trace> trace_;
};

}  // namespace foreshard::gui
