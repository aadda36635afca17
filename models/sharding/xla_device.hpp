// TPUs, for which XLA compiles a whole training step into one program: what their jobs' plans say,
// and the device that programs are lowered for.
//
// Operators "xla" are Foreshard's, which are fused where XLA fuses: chains of elementwise
// operators, attention by a kernel of its own. On a TPU nothing else runs, so that operators
// "foreshard", the default, are "xla" there. What XLA does otherwise than a host with an allocator
// is the device's: memory is arguments and temporaries while they live, without segments, and no
// launch takes the host's time. Gathers run one unit ahead, as its latency-hiding scheduler puts
// them.
#pragma once

#include <string>

#include "models/base/device_traits.hpp"
#include "models/base/error.hpp"
#include "models/hardware/hardware.hpp"
#include "models/plan/plan.hpp"

namespace foreshard {

// The plan with the operators that run on the machine; nullptr: none was named. An error for
// operators "xla" without a TPU, and for PyTorch's, which are kernels of GPUs, on one.
Result<Plan> with_operators_of(const Machine* machine, Plan plan, const std::string& plan_file);

// Products have no workspace there, and attention's backward keeps its sums in its scratch.
DeviceTraits xla_device();

}  // namespace foreshard
