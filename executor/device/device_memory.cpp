#include "executor/device/device_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include <sys/mman.h>

namespace foreshard::executor {
namespace {

void throw_system_error(const char* what, Bytes bytes) {
  throw std::runtime_error("device memory: cannot " + std::string(what) + " " +
                           std::to_string(bytes.count) + " bytes: " + std::strerror(errno));
}

std::size_t size(Bytes bytes) {
  return static_cast<std::size_t>(bytes.count);
}

}  // namespace

DeviceMemory::DeviceMemory(std::function<void()> synchronize)
    : synchronize_(std::move(synchronize)) {}

DeviceMemory::~DeviceMemory() {
  for (const auto& [address, mapping] : mappings_) munmap(mapping.base, size(mapping.bytes));
}

DeviceMemory::Mappings::const_iterator DeviceMemory::around(Address address) const {
  auto found = mappings_.upper_bound(address);
  if (found == mappings_.begin()) return mappings_.end();
  --found;
  return address - found->first < found->second.bytes.count ? found : mappings_.end();
}

std::byte* DeviceMemory::pointer(Address address) const {
  const auto found = around(address);
  if (found == mappings_.end()) throw std::logic_error("an address without device memory");
  return found->second.base + (address - found->first);
}

void DeviceMemory::map(Address address, Bytes bytes, bool is_range) {
  void* base = mmap(nullptr, size(bytes), is_range ? PROT_NONE : PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | (is_range ? MAP_NORESERVE : 0), -1, 0);
  if (base == MAP_FAILED) throw_system_error(is_range ? "reserve" : "commit", bytes);
  mappings_[address] = {static_cast<std::byte*>(base), bytes, is_range};
}

void DeviceMemory::reserve(Address address, Bytes bytes) {
  map(address, bytes, true);
}

void DeviceMemory::unreserve(Address address) {
  const auto found = mappings_.find(address);
  munmap(found->second.base, size(found->second.bytes));
  mappings_.erase(found);
}

void DeviceMemory::commit(Address address, Bytes bytes) {
  if (around(address) == mappings_.end()) {
    map(address, bytes, false);
  } else if (mprotect(pointer(address), size(bytes), PROT_READ | PROT_WRITE) != 0) {
    throw_system_error("commit", bytes);
  }
  committed_ += bytes;
}

void DeviceMemory::release(Address address, Bytes bytes) {
  synchronize_();
  committed_ -= bytes;
  if (!around(address)->second.is_range) return unreserve(address);
  // Mapping anew gives the pages back and makes a late use of them fault, in one call.
  const void* mapped = mmap(pointer(address), size(bytes), PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (mapped == MAP_FAILED) throw_system_error("release", bytes);
}

HostMemory::~HostMemory() {
  while (!unused_.empty()) give_back(unused_.begin());
}

void HostMemory::give_back(std::multimap<std::int64_t, std::byte*>::iterator unused) {
  ::operator delete (unused->second, std::align_val_t{static_cast<std::size_t>(kHostAlignment)});
  unused_bytes_ -= Bytes{unused->first};
  unused_.erase(unused);
}

std::byte* HostMemory::allocate(Bytes bytes) {
  const Bytes rounded = round_up(bytes, Bytes{kHostAlignment});
  current_ += rounded;
  peak_ = std::max(peak_, current_);
  if (const auto found = unused_.find(rounded.count); found != unused_.end()) {
    std::byte* const pointer = found->second;
    unused_bytes_ -= rounded;
    unused_.erase(found);
    return pointer;
  }
  while (!unused_.empty() && current_ + unused_bytes_ > peak_) give_back(std::prev(unused_.end()));
  return static_cast<std::byte*>(
      ::operator new (size(rounded), std::align_val_t{static_cast<std::size_t>(kHostAlignment)}));
}

void HostMemory::free(std::byte* pointer, Bytes bytes) {
  const Bytes rounded = round_up(bytes, Bytes{kHostAlignment});
  current_ -= rounded;
  unused_bytes_ += rounded;
  unused_.emplace(rounded.count, pointer);
}

}  // namespace foreshard::executor
