// The memory behind one rank's caching allocator on the CPU device, and its host buffers.
//
// The allocator's addresses are logical; here they are translated to pointers. Every segment is a
// mapping of its own; an expandable segment's range is reserved as a whole and made accessible part
// by part. Pages go back to the operating system when the allocator releases them, and nothing is
// touched in advance, so the resident size is what was really used.
//
// As cudaFree does, a release first waits for the device: pages go only when no stream of the rank
// can still be using them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

#include "models/allocator/segment_source.hpp"
#include "models/base/units.hpp"

namespace foreshard::executor {

// All ranges are multiples of 4 KiB. What the system refuses is thrown as std::runtime_error.
class DeviceMemory {
 public:
  // `synchronize` is called before pages go.
  explicit DeviceMemory(std::function<void()> synchronize);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // A range whose parts will be committed later.
  void reserve(Address address, Bytes bytes);
  void unreserve(Address address);
  // Memory for a new segment, or for a part of a reserved range.
  void commit(Address address, Bytes bytes);
  void release(Address address, Bytes bytes);

  std::byte* pointer(Address address) const;  // of committed memory
  Bytes committed() const { return committed_; }

 private:
  struct Mapping {
    std::byte* base = nullptr;
    Bytes bytes;
    bool is_range = false;
  };
  using Mappings = std::map<Address, Mapping>;
  Mappings::const_iterator around(Address address) const;  // end() where there is none
  void map(Address address, Bytes bytes, bool is_range);

  Mappings mappings_;
  Bytes committed_;
  std::function<void()> synchronize_;
};

// Buffers of the host: what the program places there, each rounded up to 64 bytes.
//
// Freed buffers are kept for the next one of their size, as every step asks for the same again:
// fresh pages from the system are slow (a quarter of a millisecond per MiB). What is kept and what
// is in use together never exceed the most that was ever in use.
class HostMemory {
 public:
  HostMemory() = default;
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  std::byte* allocate(Bytes bytes);  // aligned to 64 bytes, not initialised; throws std::bad_alloc
  void free(std::byte* pointer, Bytes bytes);

  Bytes current() const { return current_; }
  Bytes peak() const { return peak_; }

 private:
  void give_back(std::multimap<std::int64_t, std::byte*>::iterator unused);

  Bytes current_, peak_;
  std::multimap<std::int64_t, std::byte*> unused_;  // by rounded bytes
  Bytes unused_bytes_;
};

}  // namespace foreshard::executor
