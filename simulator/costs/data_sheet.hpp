// Bounds from a device's data sheet: no work is done faster than these rates allow, whatever its
// software does. Estimates fitted to recordings are held against it, because a recording shows
// little about sizes it does not hold, and nothing about what its cost keys leave out.
#pragma once

#include <cstdint>

#include "models/hardware/hardware.hpp"
#include "models/program/operators.hpp"

namespace foreshard::simulator {

// The least a kernel, copy or collective adds per floating-point operation and per byte of
// bytes_moved, in nanoseconds. Zero where nothing is known.
struct LeastRates {
  double ns_per_flop = 0;
  double ns_per_byte = 0;
};

// Products and attention do no more operations a second than the vendor's peak for their type and,
// in bf16, than the best product anyone has published of the part; fp32 ones may run as TF32.
LeastRates least_rates(Operator op, DType type, const Machine& machine);

// The least time of a launch, in nanoseconds. A collective's group is spread over `nodes` nodes: of
// its buffer each rank must receive, or send, what other ranks hold, and each node what other nodes
// hold.
double least_ns(const CostKey& key, const Machine& machine, std::int64_t nodes = 1);

// Whether a measured time cannot be that of the whole launch: it beats the vendor's peak for its
// arithmetic, its links or, where the operands are too large for the caches, its memory. A product may
// beat the best published one: a recording of it is as good as theirs.
bool is_impossible(double ns, const CostKey& key, const Machine& machine, std::int64_t nodes = 1);

// The best of every rate that any part of the catalogue has: what bounds devices that it lacks.
const Machine& fastest_machine();

}  // namespace foreshard::simulator
