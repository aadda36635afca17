// How much of its data sheet a part of some generation gives to the kernels of training: what vendors'
// libraries reach, what clocks keep under load, what attention's kernels do. Values and their sources
// are in catalogue/kernel_rates.csv; a generation inherits what it has no line for
// (catalogue/generations.csv), in the end that of "any".
//
// All are shares from 0 to 1 but for what the names say. `spread` is how far a value may be off: the
// standard deviation of its logarithm.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/hardware/hardware.hpp"

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
  // What of those a part reaches whose matrix units accumulate in fp32 at half their rate; 0: none does.
  KernelRate half_rate_product, half_rate_attention;
  // Of kernels that newer matrix units do not make faster, TFLOP/s of each multiprocessor; 0: no limit.
  KernelRate flash_forward_limit, flash_backward_limit;
  KernelRate cudnn_forward_limit, cudnn_backward_limit;
  KernelRate efficient_forward_limit, efficient_backward_limit;
  // Tokens of a sequence at which attention's rate halves.
  KernelRate half_rate_tokens_forward, half_rate_tokens_backward;
  KernelRate memory;     // of the memory's bandwidth: streaming kernels
  KernelRate kernel_us;  // the shortest kernel, in microseconds
  // Standard deviation of the logarithm of what compute-bound kernels take on parts of one kind.
  KernelRate part_variation;
  // Relative standard deviation of steps beyond what the rates leave open, where no step on such a part
  // was compared with its prediction; 0: some were.
  KernelRate unverified;
  KernelRate tile_rows, tile_columns;  // of a product: what one multiprocessor does at a time
};

// Of the machine's generation, corrected by its own line of the catalogue: a measured product is its best
// one, and of the generations that GeForce parts share, a part whose bf16 peak is but twice its fp32 peak
// accumulates at half rate.
KernelRates kernel_rates(const Machine& machine);

// Names of generations are the same in any case of letters.
bool is_known_generation(std::string_view generation);
std::vector<std::string> known_generations();

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
