// The memory that CUPTI writes records to: buffers of equal size, all allocated and touched in advance.
// CUPTI asks for one in the middle of a launch, which must not wait for memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace foreshard::profiler {

// From any thread.
class BufferPool {
 public:
  // A kernel with its call and its id takes some 300 bytes, so a buffer holds some 800 of them, and a
  // crash loses no more than those of the last buffers.
  static constexpr std::size_t kBytes = 256 << 10;
  static constexpr std::size_t kBuffers = 256;  // 64 MiB

  BufferPool() : memory_(new std::uint8_t[kBytes * kBuffers]()) {
    for (std::size_t n = kBuffers; n-- > 0;) free_.push_back(&memory_[n * kBytes]);
  }

  // nullptr where all are taken.
  std::uint8_t* take() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) return nullptr;
    std::uint8_t* const buffer = free_.back();
    free_.pop_back();
    return buffer;
  }
  void give_back(std::uint8_t* buffer) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(buffer);
  }

 private:
  std::unique_ptr<std::uint8_t[]> memory_;  // aligned to 16 bytes, where CUPTI needs 8
  std::mutex mutex_;
  std::vector<std::uint8_t*> free_;
};

}  // namespace foreshard::profiler
