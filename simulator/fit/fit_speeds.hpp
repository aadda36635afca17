// How fast the machine was in each recording. Shared machines change their speed within minutes, by
// up to a fifth; what several recordings measured in common shows by how much.
#pragma once

#include <vector>

#include "simulator/fit/fit_samples.hpp"

namespace foreshard::simulator {

struct Speeds {
  // By recording: how much longer its tasks took than the mean of the recordings it is compared
  // with, as a factor; 1 where it shares no cost key with another.
  std::vector<double> slowness;
  double spread = 0;  // standard deviation of the logarithms
  int degrees = 0;    // of freedom that the spread rests on
};

// Compares recordings of equal threads and ranks, since others differ for other reasons too.
Speeds speeds_of(const std::vector<const RunSamples*>& runs);

}  // namespace foreshard::simulator
