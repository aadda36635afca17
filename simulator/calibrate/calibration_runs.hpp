// The training runs that a machine is calibrated with.
//
// Costs are fitted to what steps really do: operators of the shapes that models have, in the order,
// with the caches and beside the collectives and copies of a step. So a calibration is a factorial
// design of short training runs. Llamas of two blocks, whose widths double from one to the next over
// the range of the bundled models, are each trained on every number of ranks in fp32 and in bf16;
// batches and features of the plan that change what a step does (checkpointing, offloading, hybrid
// sharding and others) rotate through the runs with periods that have no common divisor, so that all
// of them meet. Runs of one width, number of ranks and type share most of their shapes, and what they
// have in common shows how the machine's speed changed in between.
//
// On GPUs sizes are a list, in the order in which they are worth most: a narrow model first, whose steps
// show what starting kernels, copies and collectives takes, then widths and batches in bf16 that people
// train there. Of fp32 there is little.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/base/error.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::simulator {

struct CalibrationRun {
  Job job;
  std::string description;  // "width 512, 2 ranks, 2 x 256 tokens, bf16"
};

struct CalibrationLimits {
  int ranks = 1;        // each power of two up to it is a number of ranks
  DeviceTraits device;  // that operators run on
};

// In the order in which they are worth being made. They take ever more time and memory; it is up to the
// caller where to stop.
std::vector<CalibrationRun> calibration_runs(const CalibrationLimits& limits);

// Floating-point operations of a step's products, roughly: 6 for each parameter but the embedding's and
// each token of all ranks (Kaplan et al., Scaling Laws for Neural Language Models, 2020, section 2.1).
double step_operations(const Job& job);

}  // namespace foreshard::simulator
