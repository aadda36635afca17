// How a recording is read, whatever made it: what is left out, who is told how far it has come, and how
// reading is stopped.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "models/base/error.hpp"

namespace foreshard::traces {

// Receives how much of a recording has been read, by one thread at a time, which need not be the
// caller's. Of a database (.fst, an export of Nsight Systems) that is rows, of other files bytes.
using ReportProgress = std::function<void(std::int64_t done, std::int64_t total)>;

// Ranks or steps by their numbers, the last one included.
struct NumberRange {
  std::int32_t first = 0, last = 0;
  bool contains(std::int32_t number) const { return first <= number && number <= last; }
  bool operator==(const NumberRange&) const = default;
};
using StepRange = NumberRange;

struct ImportOptions {
  bool keeps_stacks = true;  // functions of the program (python_function), stacks of allocations
  ReportProgress on_progress = {};
  // Reading ends soon after a stop was requested, with the error reading_stopped().
  std::stop_token stop = {};
  // Files of PyTorch's profiler that do not tell their rank are of one run and numbered; otherwise each file is of a
  // run of its own.
  bool numbers_ranks = true;
  // These steps and no others, of a recording that has steps; of the memory also what was allocated
  // before them and is still there.
  std::optional<StepRange> steps = {};
};

inline tl::unexpected<Error> reading_stopped(const std::string& file) {
  return fail(file, "", "was not read to its end; reading was stopped");
}

}  // namespace foreshard::traces
