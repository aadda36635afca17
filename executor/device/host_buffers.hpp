// The host's buffers of one rank: what its program places there, each rounded up to 64 bytes, in
// memory that the device copies from and to.
//
// Freed buffers are kept for the next one of their size, as every step needs the same again:
// fresh pages from the system are slow (a quarter of a millisecond per MiB). What is kept and what
// is in use together never exceed the most that was ever in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "executor/device/device.hpp"
#include "models/base/units.hpp"

namespace foreshard::executor {

class HostBuffers {
 public:
  explicit HostBuffers(Device& device) : device_(device) {}
  ~HostBuffers();
  HostBuffers(const HostBuffers&) = delete;
  HostBuffers& operator=(const HostBuffers&) = delete;

  std::byte* allocate(Bytes bytes);  // aligned to 64 bytes, not initialised
  void free(std::byte* pointer, Bytes bytes);

  Bytes current() const { return current_; }
  Bytes peak() const { return peak_; }

 private:
  void give_back(std::multimap<std::int64_t, std::byte*>::iterator unused);

  Device& device_;
  Bytes current_, peak_;
  std::multimap<std::int64_t, std::byte*> unused_;  // by rounded bytes
  Bytes unused_bytes_;
};

}  // namespace foreshard::executor
