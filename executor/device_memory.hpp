// The memory behind one rank's caching allocator on the CPU device, and its host buffers.
//
// The allocator's logical addresses are offsets into one huge reserved range of virtual memory, so
// an address is translated by one addition. A segment's pages are made accessible when the allocator
// makes the segment and given back to the operating system when it is released; nothing is touched
// in advance, so the resident size is what was really used.
//
// As cudaFree does, a release first waits for the device: pages go only when no stream of the rank
// can still be using them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "models/caching_allocator.hpp"
#include "models/units.hpp"

namespace foreshard::executor {

class DeviceMemory {
 public:
  // Logical addresses lie in [lowest, lowest + span). `synchronize` is called before pages go.
  DeviceMemory(Address lowest, Bytes span, std::function<void()> synchronize);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Hooks for the allocator, for whole segments or parts of them in multiples of 4 KiB.
  void commit(Address address, Bytes bytes);  // throws std::runtime_error when the system refuses
  void release(Address address, Bytes bytes);

  std::byte* pointer(Address address) const { return base_ + (address - lowest_); }
  Bytes committed() const { return committed_; }

 private:
  std::byte* base_ = nullptr;
  Address lowest_;
  Bytes span_;
  Bytes committed_;
  std::function<void()> synchronize_;
};

// Buffers of the host: what the program places there, each rounded up to 64 bytes.
class HostMemory {
 public:
  HostMemory() = default;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  std::byte* allocate(Bytes bytes);  // aligned to 64 bytes, not initialised; throws std::bad_alloc
  void free(std::byte* pointer, Bytes bytes);

  Bytes current() const { return current_; }
  Bytes peak() const { return peak_; }  // since the last reset_peak
  void reset_peak() { peak_ = current_; }

 private:
  Bytes current_, peak_;
};

}  // namespace foreshard::executor
