// What PyTorch takes of a host's thread, call by call: operators with their modules and dispatch, nodes of
// autograd, FSDP's hooks and collectives, the optimizer. Values and their sources are in
// catalogue/host_times.csv, all of one host; how much longer other hosts take is in
// catalogue/hosts.csv.
#pragma once

#include <string_view>

namespace foreshard {

struct HostTime {
  double us = 0;             // of the call
  double per_tensor_us = 0;  // more for each tensor that it reads or writes
  double driver_us = 0;      // more where a device is driven, by its driver and choosing kernels
};

// `what` is a kind of instruction, or "checkpoint": what saved tensors' hooks add to a launch. A line for
// the phase and name comes first, then one for the name, for the phase, for all; without any, no time.
HostTime host_time(std::string_view what, std::string_view phase, std::string_view name);

// A range of this name is one call of the host's, whatever the program lists in it: the launch of a CUDA graph.
inline constexpr std::string_view kGraphLaunch = "cudaGraphLaunch";

// How many times as long as that host the hosts of a machine of the catalogue take.
double relative_host_time(std::string_view machine_id);

// An operator or a range that launches nothing, which tells a host's speed: a short duration (the lower
// decile) of it as PyTorch's profiler records it on that host, and how much it says of whole steps.
struct HostRange {
  double us = 0, weight = 0;
};
const HostRange* host_range(std::string_view name);  // null: not one of them

}  // namespace foreshard
