// What a step computes, from the shapes of its operators: floating-point operations, their share of what
// the devices could do at best, and tokens.
//
// Operations are those of products and attention, the ones that MFU counts, by models/ from the cost keys
// of kernels. What an operator launched counts once. What is computed again for the backward pass counts
// again, so that with activation checkpointing the share is that of the hardware's work, not of the model's.
// The best is the peak rate of the GPU's data sheet for the type of the operands; of fp32, that of TF32 where
// kernels or the recording name it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "traces/intervals.hpp"
#include "traces/meaning/launches.hpp"
#include "traces/trace.hpp"

namespace foreshard::profiler {

// Of one rank, the mean.
struct StepWork {
  double flops = 0;
  double known_share = 0;        // of the time of compute kernels, those of known shape
  std::optional<double> mfu;     // nothing where the hardware catalogue lacks the GPU
  std::optional<double> tokens;  // nothing where no embedding has its shape in the recording
};

// Of one step of each rank; nothing where no shape is known.
std::optional<StepWork> step_work(const traces::Trace& trace, const traces::Launches& launches,
                                  const std::map<std::int32_t, traces::Interval>& steps);

}  // namespace foreshard::profiler
