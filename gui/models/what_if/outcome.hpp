// What a prediction of the what-if panel shows: figures, where the step's time goes, and memory
// over the step. Plain values, so that variants can be kept when their predictions are gone.
#pragma once

#include <QString>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "gui/models/base/colour_role.hpp"
#include "gui/models/session/document.hpp"
#include "gui/models/what_if/what_if_settings.hpp"
#include "models/program/oom_report.hpp"

namespace foreshard::gui {

struct StepShare {
  Role role = Role::forward;
  double ns = 0;
};

// What the rank with the highest peak holds from a moment of its last step on.
struct MemoryStep {
  std::int64_t position = 0;
  std::int64_t allocated = 0, reserved = 0;
};

struct Outcome {
  WhatIfSettings settings;
  std::optional<Error> error;  // of the settings; nothing else is known then

  bool fits = true;
  std::optional<OomReport> oom;
  double step_ns = 0, low_ns = 0, high_ns = 0;  // 0: no answer
  double tokens_per_s = 0, exposed_ns = 0;
  double mfu = 0;                            // 0: not known, or beyond what a device can do
  std::int64_t allocated = 0, reserved = 0;  // at the peaks
  std::optional<std::int64_t> capacity;
  std::int64_t tokens_of_rank = 0;  // in a step
  std::size_t units = 0;
  simulator::SourceCounts sources;
  double answered_ns = 0;  // what the answer took
  std::vector<std::string> warnings;

  std::vector<StepShare> shares;  // busy by phase, in the order of a step, and exposed
  std::vector<MemoryStep> curve;
  std::int64_t curve_length = 0;  // positions are below; nanoseconds where the step has a time
};
using OutcomePtr = std::shared_ptr<const Outcome>;

// Predicts settings one after the other, each in the memory of the one before. May be used from several
// threads.
class Predictor {
 public:
  OutcomePtr predict(const WhatIfSettings& settings);
  // What that outcome was made from. Null where other settings were predicted since, or it was taken.
  std::shared_ptr<const PredictedRun> take(const WhatIfSettings& settings);

 private:
  std::mutex mutex_;
  std::optional<WhatIfSettings> made_of_;  // that job_ is of
  std::optional<Job> job_;
  std::optional<simulator::Prediction> prediction_;  // of job_
};

// The figures alone, of a prediction that was made elsewhere.
Outcome figures_of(const WhatIfSettings& settings, const Job& job,
                   const simulator::Prediction& prediction);

}  // namespace foreshard::gui
