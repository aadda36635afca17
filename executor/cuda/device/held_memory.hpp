// How much of each GPU the caching allocators of this process hold, so that what else is used can
// be told from it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

namespace foreshard::executor::cuda {

// Counted without locks: a call of CUDA that takes memory can wait for work of the device, and that
// for other ranks, which would wait for whoever measures.
struct HeldMemory {
  std::atomic<std::int64_t> bytes{0};
  std::atomic<std::uint64_t> changes_begun{0}, changes_ended{0};
};

// For as long as it lives, `bytes` and what the driver says may not agree.
class HeldMemoryChange {
 public:
  explicit HeldMemoryChange(HeldMemory& held) : held_(held) { ++held_.changes_begun; }
  ~HeldMemoryChange() { ++held_.changes_ended; }
  HeldMemoryChange(const HeldMemoryChange&) = delete;
  HeldMemoryChange& operator=(const HeldMemoryChange&) = delete;

 private:
  HeldMemory& held_;
};

inline HeldMemory& held_memory(int gpu) {
  static std::mutex mutex;
  static std::map<int, HeldMemory> all;
  const std::scoped_lock lock(mutex);
  return all[gpu];
}

}  // namespace foreshard::executor::cuda
