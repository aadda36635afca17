// A device of bare numbers with an allocator of its own, and what the allocator told.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "models/allocator/caching_allocator.hpp"
#include "models/allocator/virtual_segments.hpp"

namespace foreshard {

constexpr std::int64_t kMi = 1 << 20;

// Remembers what happened as text: "segment_alloc 20", "alloc 512 B".
class Log final : public AllocatorListener {
 public:
  void on_event(const AllocatorEvent& event) override {
    static constexpr const char* kNames[] = {"alloc",   "request", "complete", "segment",
                                             "release", "map",     "unmap",    "oom"};
    const bool in_mebibytes = event.bytes % kMi == 0;
    lines.push_back(std::string(kNames[static_cast<int>(event.action)]) + " " +
                    std::to_string(in_mebibytes ? event.bytes / kMi : event.bytes) +
                    (in_mebibytes ? "" : " B"));
  }
  std::vector<std::string> take() { return std::exchange(lines, {}); }

  std::vector<std::string> lines;
};

using Lines = std::vector<std::string>;

struct Device {
  explicit Device(const AllocatorSettings& settings = {},
                  std::int64_t capacity = VirtualSegments::kUnlimited)
      : memory(capacity), allocator(settings, memory_limit(settings, capacity), memory) {
    allocator.set_listener(&log);
  }

  Allocation take(std::int64_t bytes, int stream = 0) {
    const auto result = allocator.allocate(bytes, stream);
    EXPECT_TRUE(result) << bytes;
    return result ? *result : Allocation{};
  }

  VirtualSegments memory;
  CachingAllocator allocator;
  Log log;
};

}  // namespace foreshard
