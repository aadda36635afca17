// A block of CUDA threads on one thread of the host: each is a fiber, which runs until it waits for
// the others of its block or of its warp. Blocks run one after the other.
//
// That a barrier is reached by all threads, or by none, is checked: where some wait and others cannot come,
// the process ends with a message. A value read before another thread has written it is the old one, as
// fibers run in the order of their numbers until they wait, or in the reverse order (reverse_threads),
// which shows kernels that lack a barrier.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <functional>

#include <vector_types.h>

// Of the fiber that runs.
extern thread_local uint3 threadIdx, blockIdx;
extern thread_local dim3 blockDim, gridDim;

namespace foreshard::emulation {

void run_grid(dim3 grid, dim3 block, const std::function<void()>& kernel);

// Of blocks that start from now on. FORESHARD_EMULATION_REVERSED in the environment: from the beginning.
void reverse_threads(bool reversed);

void wait_for_block();  // all threads that have not ended
void wait_for_warp();   // all threads of the warp that have not ended

int lane_of_this_thread();

// Where the lanes of this thread's warp leave what they show each other: 32 slots of 16 bytes.
std::byte* warp_slot(int lane);

// Every lane shows `value` and gets that of the lane source(its own number).
template <class T, class Source>
T exchange(const T& value, Source source) {
  static_assert(sizeof(T) <= 16);
  const int lane = lane_of_this_thread();
  std::memcpy(warp_slot(lane), &value, sizeof(T));
  wait_for_warp();
  T other;
  std::memcpy(&other, warp_slot(source(lane)), sizeof(T));
  wait_for_warp();
  return other;
}

}  // namespace foreshard::emulation
