// How much of its data sheet a part of some generation gives to the kernels of training: what vendors'
// libraries reach, what clocks keep under load, what attention's kernels do. Values and their sources
// are in catalogue/kernel_rates.csv; a generation that has no line of its own has that of "any".
//
// All are shares from 0 to 1 but for what the names say. `spread` is how far a value may be off: the
// standard deviation of its logarithm.
#pragma once

#include <string_view>

namespace foreshard {

struct KernelRate {
  double value = 0, spread = 0;
  std::string_view source = {};
};

struct KernelRates {
  KernelRate best_product;      // of the peak: the best large bf16 product
  KernelRate best_fp8_product;  // of the fp8 peak
  KernelRate fp32_product;      // of the fp32 peak: without TF32, in long runs as in short ones
  KernelRate fp8_scaling;       // of float8 products, what the way of scaling leaves
  KernelRate under_load;        // of that: while a long run keeps the part at its power limit
  KernelRate rated_watts;       // of the part that these were read on; 0: not known
  KernelRate idle_power;        // of that power: what does not go with the clock
  // Of the bf16 peak, counted as flops() counts attention: only what the mask leaves.
  KernelRate flash_forward, flash_backward;
  KernelRate cudnn_forward, cudnn_backward;
  KernelRate efficient_forward, efficient_backward;  // PyTorch's memory-efficient kernels
  KernelRate half_rate_forward, half_rate_backward;  // tokens of a sequence at which that halves
  KernelRate memory;                                 // of the memory's bandwidth: streaming kernels
  KernelRate kernel_us;                              // the shortest kernel, in microseconds
  // Standard deviation of the logarithm of what compute-bound kernels take on parts of one kind.
  KernelRate part_variation;
  // Relative standard deviation of steps beyond what the rates leave open, where no step on such a part
  // was compared with its prediction; 0: some were.
  KernelRate unverified;
  KernelRate tile_rows, tile_columns;     // of a product: what one multiprocessor does at a time
};

const KernelRates& kernel_rates(std::string_view generation);

// A kernel that is slower than streaming. Some reach a share of whatever bandwidth there is; what others
// have in flight limits them on any part, to so many bytes per nanosecond of each multiprocessor.
struct MemoryKernel {
  double share = 1;
  double bytes_per_ns = 0;  // of a multiprocessor; 0: no limit of its own
};

// By an operator's or the framework's name, or "widening" for casts to a type of twice the size
// (catalogue/memory_kernels.csv); one that is not there streams.
MemoryKernel memory_kernel(std::string_view name);

}  // namespace foreshard
