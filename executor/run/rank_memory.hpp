// One rank's memory while its program runs: the caching allocator over its device's memory, the
// host's buffers, and the table of where each buffer of the program lies.
//
// In poison mode memory is overwritten with NaNs, in stream order, the moment an allocation or a
// free takes effect on the buffer's own stream, so whoever reads what it was not given reads NaNs.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "executor/device/device.hpp"
#include "executor/device/host_buffers.hpp"
#include "executor/run/watched_backing.hpp"
#include "models/allocator/caching_allocator.hpp"
#include "models/allocator/virtual_segments.hpp"
#include "models/program/step_program.hpp"

namespace foreshard::executor {

class RankMemory {
 public:
  // `capacity`: of the device, in bytes; nothing: unlimited. `before_release` is called before
  // memory goes back to the driver.
  RankMemory(const RankProgram& program, const AllocatorSettings& settings,
             std::optional<std::int64_t> capacity, Device& device,
             std::function<void()> before_release);
  ~RankMemory();
  RankMemory(const RankMemory&) = delete;
  RankMemory& operator=(const RankMemory&) = delete;

  // Places a buffer; why not where the device is full. Host buffers never fail.
  std::optional<OutOfMemory> allocate(BufferId buffer);
  void free(BufferId buffer);
  void empty_cache() { allocator_.empty_cache(); }

  const Buffer& buffer(BufferId id) const { return program_.buffers[static_cast<std::size_t>(id)]; }
  // Where a buffer lies now, or lay last: for the host if it is the host's, else for the device.
  std::span<std::byte> bytes(BufferId id) const {
    return {places_[static_cast<std::size_t>(id)].pointer,
            static_cast<std::size_t>(buffer(id).bytes)};
  }
  // A device buffer's whole block, rounding included.
  std::span<std::byte> block(BufferId buffer) const {
    const Place& place = places_[static_cast<std::size_t>(buffer)];
    return {place.pointer, static_cast<std::size_t>(allocator_.bytes(place.block))};
  }

  const AllocatorStatistics& statistics() const { return allocator_.statistics(); }
  void reset_peaks() { allocator_.reset_peaks(); }
  Bytes peak_host() const { return host_.peak(); }
  void set_listener(AllocatorListener* listener) { allocator_.set_listener(listener); }

 private:
  struct Place {
    std::byte* pointer = nullptr;
    BlockId block = kNoBlock;
  };

  const RankProgram& program_;
  Device& device_;
  WatchedBacking backing_;
  VirtualSegments segments_;
  CachingAllocator allocator_;
  HostBuffers host_;
  std::vector<Place> places_;
};

}  // namespace foreshard::executor
