// PyTorch's CUDA caching allocator over a device that exists only as numbers: which block serves a request,
// what is reserved for it, and when memory runs out, for any sequence of requests and any settings.
//
//   auto allocator = foreshard::api::CachingAllocator::create({"expandable_segments=true", 80LL << 30});
//   const auto block = allocator->allocate(1 << 20, 0);
//   if (block) allocator->free(*block);
//   allocator->statistics().peak_reserved_bytes;
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <foreshard/result.hpp>

namespace foreshard::api {

struct AllocatorOptions {
  std::string settings;  // as PYTORCH_CUDA_ALLOC_CONF has them; empty: the defaults
  std::optional<std::int64_t> device_memory;  // bytes; nothing: no limit
};

struct Block {
  std::int32_t id = -1;  // valid until it is freed; -1: of a request of 0 bytes
  std::int64_t address = 0;
  std::int64_t bytes = 0;  // at least the request
};

// Bytes and counts, of now and, where named peaks, since the allocator was made or reset_peaks.
struct AllocatorStatistics {
  std::int64_t allocated_bytes = 0, reserved_bytes = 0;
  std::int64_t peak_allocated_bytes = 0, peak_reserved_bytes = 0;
  std::int64_t allocations = 0;  // requests served
  std::int64_t segments_allocated = 0, segments_released = 0;
  std::int64_t retries = 0;        // second attempts after all of the cache was released
  std::int64_t out_of_memory = 0;  // requests that failed
};

struct Segment {
  std::int64_t address = 0, bytes = 0;
  int stream = 0;
  bool is_expandable = false;
  std::vector<Block> used;  // in address order
};

// For one thread at a time.
class CachingAllocator {
 public:
  // An error where a setting is none of PyTorch's or has an impossible value.
  static Result<CachingAllocator> create(const AllocatorOptions& options = {});

  CachingAllocator(CachingAllocator&&) noexcept;
  CachingAllocator& operator=(CachingAllocator&&) noexcept;
  ~CachingAllocator();

  // Nothing: memory has run out. `stream`: 0 to 1023, whose pool serves the request.
  std::optional<Block> allocate(std::int64_t bytes, int stream = 0);
  void free(const Block& block);  // one that allocate returned, once
  void empty_cache();

  AllocatorStatistics statistics() const;
  void reset_peaks();
  std::vector<Segment> segments() const;  // by address

 private:
  struct State;
  explicit CachingAllocator(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace foreshard::api
