// What an operator costs where a recording's shapes do not say it: lists of tensors, products by the
// shapes that the library was given, attention with masks or dropout, convolutions, and anything else of
// PyTorch's by the bytes of its arguments and results.
#pragma once

#include <cstdint>
#include <string_view>

#include "models/program/operators.hpp"
#include "profiler/rehearsal/program/captured_step.hpp"

namespace foreshard::profiler {

// What an operator launched.
struct Launched {
  const DeviceCall& first;
  std::string_view kernel;     // the name of the first
  int launches = 1;            // of all
  std::int64_t allocated = 0;  // bytes of the results
};

// The key is opaque where the time of a kernel does not follow from shapes, as of somebody's own in CUDA.
CostKey cost_of(const CapturedOperator& op, const Launched& launched);

// Whether somebody's own kernel in Triton: fused, so that it reads its arguments once.
bool is_timed_by_arguments(std::string_view kernel);

}  // namespace foreshard::profiler
