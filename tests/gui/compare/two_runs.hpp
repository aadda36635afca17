// Two small traces whose differences are known: three units of two kernels each, forward and
// backward, of which the candidate's take 1.5 times as long.
#pragma once

#include "traces/trace.hpp"

namespace foreshard::tests {

struct TwoRuns {
  traces::Trace baseline, candidate;
};
TwoRuns two_runs();

constexpr std::int64_t kKernelNs = 1'000'000;  // of the baseline's kernels, 12 in a step
constexpr std::int64_t kStepNs = 12 * kKernelNs + 500'000;

}  // namespace foreshard::tests
