#include "executor/device/device_memory.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include <sys/mman.h>

namespace foreshard::executor {
namespace {

[[noreturn]] void throw_system_error(const char* what, std::int64_t bytes) {
  throw std::runtime_error("device memory: cannot " + std::string(what) + " " +
                           std::to_string(bytes) + " bytes: " + std::strerror(errno));
}

// Whether a call has succeeded; false means that there is no room.
bool has_room(bool succeeded, const char* what, std::int64_t bytes) {
  if (!succeeded && errno != ENOMEM) throw_system_error(what, bytes);
  return succeeded;
}

std::size_t size(std::int64_t bytes) {
  return static_cast<std::size_t>(bytes);
}

}  // namespace

DeviceMemory::DeviceMemory(std::function<void()> synchronize)
    : synchronize_(std::move(synchronize)) {}

DeviceMemory::~DeviceMemory() {
  for (const auto& [address, mapping] : mappings_) munmap(mapping.base, size(mapping.bytes));
}

bool DeviceMemory::map(Address address, std::int64_t bytes, bool is_range) {
  void* base = mmap(nullptr, size(bytes), is_range ? PROT_NONE : PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | (is_range ? MAP_NORESERVE : 0), -1, 0);
  if (!has_room(base != MAP_FAILED, is_range ? "reserve" : "commit", bytes)) return false;
  mappings_.add(address, {static_cast<std::byte*>(base), bytes, is_range});
  return true;
}

void DeviceMemory::unmap(Address address) {
  const Mapping& mapping = mappings_.around(address)->second;
  munmap(mapping.base, size(mapping.bytes));
  mappings_.remove(address);
}

bool DeviceMemory::begin_range(AddressRange range, std::int64_t /*granule*/) {
  return map(range.address, range.bytes, true);
}

void DeviceMemory::end_range(AddressRange range) {
  unmap(range.address);
}

bool DeviceMemory::commit(Address address, std::int64_t bytes) {
  const auto allow_use = [&] {
    return mprotect(pointer(address), size(bytes), PROT_READ | PROT_WRITE) == 0;
  };
  const bool has_memory = mappings_.around(address) == nullptr
                              ? map(address, bytes, false)
                              : has_room(allow_use(), "commit", bytes);
  if (has_memory) committed_ += Bytes{bytes};
  return has_memory;
}

void DeviceMemory::decommit(Address address, std::int64_t bytes) {
  synchronize_();
  committed_ -= Bytes{bytes};
  if (!mappings_.around(address)->second.is_range) return unmap(address);
  // Mapping anew gives the pages back and makes a late use of them fault, in one call.
  const void* mapped = mmap(pointer(address), size(bytes), PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (mapped == MAP_FAILED) throw_system_error("release", bytes);
}

}  // namespace foreshard::executor
