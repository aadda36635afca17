// What an accelerator's driver took for each segment of memory in a recording, in nanoseconds.
//
// Recordings of our own show an allocation that took segments; where it gave some back before, they are
// not told apart and it is no sample. Others show cudaMalloc and cudaFree.
#pragma once

#include <vector>

#include "traces/trace.hpp"

namespace foreshard::simulator {

struct SegmentSamples {
  std::vector<double> alloc_ns, free_ns;
};

SegmentSamples segment_samples(const traces::Trace& trace);

}  // namespace foreshard::simulator
