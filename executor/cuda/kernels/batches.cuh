// One kernel over many arrays, such as the shards of a unit: descriptions of up to kMost of them are among
// the kernel's arguments, by value, and each block works on a part of one. A description is a struct with
// `elements`, the array's length.
#pragma once

#include "executor/cuda/kernels/launch.cuh"

namespace foreshard::executor::cuda {

constexpr std::int64_t kPart = 4 * kThreads * kEach;  // elements of a block

template <class Array>
struct Batch {
  static constexpr int kMost = 64;
  static_assert(sizeof(Array) <= 48, "a kernel's arguments have 4 KiB");

  Array arrays[kMost];
  unsigned first_block[kMost];
  int count = 0;
};

// Collects arrays and starts a kernel over each full batch: launch(batch, blocks).
template <class Array, class Launch>
class Batches {
 public:
  explicit Batches(Launch launch) : launch_(launch) {}

  void add(const Array& array) {
    if (array.elements == 0) return;
    if (batch_.count == Batch<Array>::kMost) finish();
    batch_.arrays[batch_.count] = array;
    batch_.first_block[batch_.count++] = blocks_;
    blocks_ += static_cast<unsigned>(ceil_divide(array.elements, kPart));
  }
  void finish() {
    if (batch_.count > 0) launch_(batch_, blocks_);
    batch_.count = 0;
    blocks_ = 0;
  }

 private:
  Launch launch_;
  Batch<Array> batch_{};
  unsigned blocks_ = 0;
};

template <class Array, class Launch>
Batches<Array, Launch> batches(Launch launch) {
  return Batches<Array, Launch>(launch);
}

// work(array, i) for the first of every kEach elements that are this thread's.
template <class Array, class Work>
__device__ void for_each_pack(const Batch<Array>& batch, Work work) {
  int number = 0;
  for (int step = Batch<Array>::kMost / 2; step > 0; step /= 2) {
    const int later = number + step;
    if (later < batch.count && batch.first_block[later] <= blockIdx.x) number = later;
  }
  const Array& array = batch.arrays[number];
  const std::int64_t begin =
      static_cast<std::int64_t>(blockIdx.x - batch.first_block[number]) * kPart;
#pragma unroll
  for (int i = 0; i < kPart; i += kThreads * kEach) {
    const std::int64_t at = begin + i + static_cast<int>(threadIdx.x) * kEach;
    if (at < array.elements) work(array, at);
  }
}

}  // namespace foreshard::executor::cuda
