// Launches of one stream between issue and execution: copies of what kernels are launched with, lists
// of operands included, in chunks of memory that are used again and again. Adding allocates nothing
// once the queue has reached its working length.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "executor/device/kernel_launch.hpp"

namespace foreshard::executor {

class LaunchQueue {
  struct Chunk {
    std::size_t size = 0;
    std::unique_ptr<std::byte[]> bytes;
    Chunk* next = nullptr;
  };

 public:
  struct Entry {
    KernelLaunch launch;
    Chunk* left = nullptr;  // the chunk before, if this is the first entry of its own
  };

  // The host's side. The entry stays until the one after it begins.
  const Entry& add(const KernelLaunch& launch);
  // The stream's side: to be called for each entry, in the order in which they were added.
  void begin(const Entry& entry);

 private:
  static constexpr std::size_t kChunk = 16 << 10;

  Chunk& fresh_chunk(std::size_t at_least);

  // The host's.
  std::vector<std::unique_ptr<Chunk>> chunks_;
  Chunk* unused_ = nullptr;
  Chunk* fill_ = nullptr;
  std::size_t filled_ = 0;  // bytes of it

  alignas(64) std::atomic<Chunk*> emptied_{nullptr};
};

}  // namespace foreshard::executor
