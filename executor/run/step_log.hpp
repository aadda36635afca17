// The steps of a run as lines of JSON in a file, each written as its step ends: a run that is killed has
// left all those that it has done.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "executor/run/step_report.hpp"
#include "executor/run/training.hpp"
#include "models/base/error.hpp"

namespace foreshard::executor {

class StepLog {
 public:
  // Whether a run that goes on behind `step` (0: from the start) could use the file: it holds nothing but
  // lines of a log, or what it holds does not matter.
  static Result<void> check(const std::string& path, std::int64_t step);
  // A run from the start begins the file anew. One that goes on behind `step` adds to the lines up to that
  // one: later ones go, and what a kill has cut. Errors as of check().
  static Result<StepLog> open(const std::string& path, std::int64_t step);
  StepLog(StepLog&& other) noexcept;
  StepLog& operator=(StepLog&&) = delete;
  ~StepLog();

  Result<void> append(const std::string& line) const;

 private:
  StepLog(std::string path, int descriptor);

  std::string path_;
  int descriptor_;
};

// The peaks of one rank in one step.
struct RankPeaks {
  int rank = 0;
  MemoryPeaks peaks;
};

// The line of a step (docs/json.md); `ranks`: by their numbers.
std::string step_line(const Job& job, const TrainingOptions& options, const StepReport& step,
                      const std::vector<RankPeaks>& ranks);

}  // namespace foreshard::executor
