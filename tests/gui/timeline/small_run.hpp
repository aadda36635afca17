// A run that is small enough to know by heart: two steps of one rank on a host thread and the streams
// compute, all_gather and reduce_scatter, with every figure a round number of microseconds.
#pragma once

#include "gui/models/session/document.hpp"

namespace foreshard::gui {

// Step n (0, 1) begins at 1000 n microseconds and takes 900. In it, microseconds from its begin:
//   host            issues everything in 0 to 40
//   all_gather      [ 20, 120) layers.0   [200, 300) layers.1
//   compute         [120, 320) matmul forward layers.0   [320, 520) matmul forward layers.1
//                   [520, 700) matmul_weight_gradient backward layers.1
//                   [700, 860) matmul_weight_gradient backward layers.0
//   reduce_scatter  [700, 780) layers.1   [860, 900) layers.0
traces::Trace small_run();

// The only event of that name, unit and step.
std::int32_t find_event(const traces::Trace& trace, const char* name, const char* unit, int step);

constexpr std::int64_t us(std::int64_t microseconds) { return microseconds * 1000; }

}  // namespace foreshard::gui
