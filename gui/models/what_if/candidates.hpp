// Plans that differ from the present one by a few keys, predicted many at a time: for what lies one
// change away, for the notches that do not fit, and for sweeps.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "gui/models/what_if/what_if_settings.hpp"
#include "models/program/oom_report.hpp"

namespace foreshard::gui {

// Keys and the values they take.
using Changes = std::vector<SpeltKey>;

WhatIfSettings with(WhatIfSettings settings, const Changes& changes);

struct Candidate {
  Changes changes;
  std::optional<Error> error;  // of the plan; nothing else is known then
  bool fits = true;
  std::optional<OomReport> oom;
  double tokens_per_s = 0, step_ns = 0;
  std::int64_t reserved = 0;  // at the peak
};

// Nothing where it was no longer wanted before all were done.
std::optional<std::vector<Candidate>> predict_candidates(const WhatIfSettings& base,
                                                         const std::vector<Changes>& all,
                                                         int threads,
                                                         const std::atomic<bool>& is_unwanted);

}  // namespace foreshard::gui
