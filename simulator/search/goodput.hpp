// What failures and checkpoints take of a long run. A failure stops all GPUs of a run and loses what was done
// since the last checkpoint; checkpoints are saved at the interval that costs least, while training waits.
//
// Sources: the interval and the expected time are those of J. T. Daly, "A higher order estimate of the optimum
// checkpoint interval for restart dumps", FGCS 22 (2006), equations 37 and 20, which refine J. W. Young's
// square root of 2 x save x time between failures (1974). The default of `gpu_mtbf_h`: 419 unexpected
// interruptions of 16,384 GPUs in 54 days ("The Llama 3 Herd of Models", 2024, section 3.3.4).
#pragma once

namespace foreshard::simulator {

constexpr double kGpuMtbfHours = 54.0 * 24 * 16384 / 419;  // 50,677: 5.8 years
// Assumed: from a failure until the processes run again. Loading the checkpoint comes on top.
constexpr double kRestartSeconds = 600;

// Times in seconds, each above 0.
struct Reliability {
  double save = 0;              // of a checkpoint, while training waits
  double restart = 0;           // from a failure until training goes on
  double between_failures = 0;  // mean, of the whole run
};

// Of training between two checkpoints, in seconds.
double checkpoint_interval(const Reliability& run);

// The share of a run's time in which it trains what it keeps; above 0, below 1.
double goodput(const Reliability& run);

}  // namespace foreshard::simulator
