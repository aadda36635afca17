#include "executor/device_memory.hpp"

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

constexpr Bytes kHostAlignment{64};

void throw_system_error(const char* what, Bytes bytes) {
  throw std::runtime_error("device memory: cannot " + std::string(what) + " " +
                           std::to_string(bytes.count) + " bytes: " + std::strerror(errno));
}

std::size_t size(Bytes bytes) {
  return static_cast<std::size_t>(bytes.count);
}

}  // namespace

DeviceMemory::DeviceMemory(Address lowest, Bytes span, std::function<void()> synchronize)
    : lowest_(lowest), span_(span), synchronize_(std::move(synchronize)) {
  void* base =
      mmap(nullptr, size(span), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) throw_system_error("reserve", span);
  base_ = static_cast<std::byte*>(base);
}

DeviceMemory::~DeviceMemory() {
  munmap(base_, size(span_));
}

void DeviceMemory::commit(Address address, Bytes bytes) {
  if (mprotect(pointer(address), size(bytes), PROT_READ | PROT_WRITE) != 0) {
    throw_system_error("commit", bytes);
  }
  committed_ += bytes;
}

// Mapping anew gives the pages back and makes a late use of them fault, in one call.
void DeviceMemory::release(Address address, Bytes bytes) {
  synchronize_();
  const void* mapped = mmap(pointer(address), size(bytes), PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (mapped == MAP_FAILED) throw_system_error("release", bytes);
  committed_ -= bytes;
}

std::byte* HostMemory::allocate(Bytes bytes) {
  const Bytes rounded = round_up(bytes, kHostAlignment);
  auto* pointer = static_cast<std::byte*>(
      ::operator new (size(rounded), std::align_val_t{size(kHostAlignment)}));
  current_ += rounded;
  peak_ = std::max(peak_, current_);
  return pointer;
}

void HostMemory::free(std::byte* pointer, Bytes bytes) {
  ::operator delete (pointer, std::align_val_t{size(kHostAlignment)});
  current_ -= round_up(bytes, kHostAlignment);
}

}  // namespace foreshard::executor
