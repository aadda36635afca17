// A recording of two ranks, from traces/samples.
#pragma once

#include <memory>
#include <string>

#include "traces/open/read_trace.hpp"

namespace foreshard::gui::tests {

// Null where it cannot be read.
inline std::shared_ptr<const traces::Trace> recorded_run() {
  static const auto run = [] {
    auto read = traces::read_trace(std::string(FORESHARD_SOURCE_DIR) + "/traces/samples/drawn_gpu");
    return read ? std::make_shared<const traces::Trace>(std::move(*read)) : nullptr;
  }();
  return run;
}

}  // namespace foreshard::gui::tests
