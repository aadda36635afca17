// The answer of a comparison in words, and how its two sides are called.
#pragma once

#include <QString>
#include <cstdint>
#include <optional>

#include "gui/models/base/colour_role.hpp"
#include "profiler/analysis/comparison.hpp"
#include "traces/intervals.hpp"
#include "traces/metadata.hpp"

namespace foreshard::gui {

// "measured" and "predicted", or "before" and "after" of two measurements and of two predictions.
struct SideWords {
  QString baseline, candidate;
  bool is_prediction = false;
};
SideWords side_words(const profiler::Comparison& comparison);

// Within which the candidate's step lies with 90 %, where it is a prediction that says so (metadata
// step_time_low_ns, step_time_high_ns).
std::optional<traces::Interval> step_time_band(const traces::Metadata& metadata);

struct ComparisonWords {
  Role state = Role::ok;
  QString lead,
      text;        // "Predicted 587.4 ms, measured 495.2 ms: +18.6 %," "inside the 90 % band. ..."
  QString detail;  // what explains it, and how many events match
};

ComparisonWords words_of(const profiler::Comparison& comparison,
                         const std::optional<traces::Interval>& band);

// How the times of a column or a plot are written: one unit and as many digits behind the point as give the longest
// four, or fewer where so many are too many.
class TimeScale {
 public:
  explicit TimeScale(std::int64_t longest_ns, int most_decimals = 3);

  const QString& unit() const { return unit_; }  // "ms"
  QString text(std::int64_t ns) const;           // "0.5", "−12.4": without the unit
  QString signed_text(std::int64_t ns) const;    // "+0.5"
  bool shows(std::int64_t ns) const;             // as more than zeros

 private:
  QString unit_;
  double ns_of_unit_;
  int decimals_;
};

// "+18.6 %"; empty where there is nothing to relate to.
QString signed_percent_text(std::int64_t candidate, std::int64_t baseline);
QString signed_time_text(std::int64_t ns);

}  // namespace foreshard::gui
