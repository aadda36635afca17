#include "profiler/rehearsal/device/device_memory.hpp"

#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <string>

#include <sys/mman.h>

#include "profiler/rehearsal/device/devices.hpp"
#include "profiler/rehearsal/device/log.hpp"
#include "profiler/rehearsal/device/machine.hpp"
#include "profiler/rehearsal/device/refusal.hpp"

namespace foreshard::rehearsal {
namespace {

// Half of what x86-64 gives a process: expandable segments reserve more than a device's memory for
// each stream.
constexpr std::size_t kRange = std::size_t{64} << 40;

struct Memory {
  std::mutex mutex;
  std::uintptr_t begin = 0;
  std::map<std::uintptr_t, std::size_t> free;  // bytes by address
  std::map<std::uintptr_t, Block> allocations, reservations;
  std::map<int, std::size_t> used;

  Memory() {
    void* const range =
        ::mmap(nullptr, kRange, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED)
      stop(
          "64 TiB of addresses cannot be reserved for device memory (ulimit -v must be "
          "unlimited): " +
          std::string(std::strerror(errno)));
    ::madvise(range, kRange, MADV_DONTDUMP);
    begin = (reinterpret_cast<std::uintptr_t>(range) + kPage - 1) / kPage * kPage;
    free[begin] = kRange - kPage;
  }

  // The highest free addresses that suffice.
  std::uintptr_t place(std::size_t bytes, std::size_t alignment) {
    for (auto at = free.end(); at != free.begin();) {
      const auto [start, size] = *--at;
      if (bytes > size) continue;
      const std::uintptr_t address = (start + size - bytes) / alignment * alignment;
      if (address < start) continue;
      const std::size_t behind = start + size - (address + bytes);
      free.erase(at);
      if (address > start) free[start] = address - start;
      if (behind > 0) free[address + bytes] = behind;
      return address;
    }
    stop("no addresses are left for device memory");
  }

  void displace(std::uintptr_t address, std::size_t bytes) {
    make_inaccessible(address, bytes);
    auto at = free.emplace(address, bytes).first;
    if (const auto next = std::next(at); next != free.end() && address + bytes == next->first) {
      at->second += next->second;
      free.erase(next);
    }
    if (at == free.begin()) return;
    if (const auto before = std::prev(at); before->first + before->second == address) {
      before->second += at->second;
      free.erase(at);
    }
  }

  bool take(int device, std::size_t bytes) {
    if (bytes > machine().memory_bytes - used[device]) return false;
    used[device] += bytes;
    return true;
  }
};

Memory& memory() {
  static auto& memory = *new Memory;
  return memory;
}

std::size_t in_pages(std::size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

std::optional<Block> find_in(const std::map<std::uintptr_t, Block>& blocks,
                             std::uintptr_t address) {
  auto after = blocks.upper_bound(address);
  if (after == blocks.begin()) return std::nullopt;
  const Block& block = std::prev(after)->second;
  return address < block.address + block.bytes ? std::optional(block) : std::nullopt;
}

}  // namespace

std::optional<std::uintptr_t> allocate(int device, std::size_t bytes) {
  Memory& all = memory();
  const std::lock_guard lock(all.mutex);
  if (bytes > kRange || !all.take(device, in_pages(bytes))) return std::nullopt;
  const std::uintptr_t address = all.place(in_pages(bytes), kPage);
  make_accessible(address, in_pages(bytes));
  all.allocations[address] = {address, in_pages(bytes), device};
  log_line({}, "MALLOC %#zx %zu", address, bytes);
  return address;
}

bool free_allocation(std::uintptr_t address) {
  Memory& all = memory();
  const std::lock_guard lock(all.mutex);
  const auto at = all.allocations.find(address);
  if (at == all.allocations.end()) return false;
  all.used[at->second.device] -= at->second.bytes;
  all.displace(address, at->second.bytes);
  all.allocations.erase(at);
  log_line({}, "FREE %#zx", address);
  return true;
}

std::uintptr_t reserve(std::size_t bytes, std::size_t alignment) {
  Memory& all = memory();
  const std::lock_guard lock(all.mutex);
  const std::uintptr_t address = all.place(bytes, alignment > kPage ? alignment : kPage);
  all.reservations[address] = {address, bytes, current_device()};
  return address;
}

bool free_reservation(std::uintptr_t address) {
  Memory& all = memory();
  const std::lock_guard lock(all.mutex);
  const auto at = all.reservations.find(address);
  if (at == all.reservations.end()) return false;
  all.displace(address, at->second.bytes);
  all.reservations.erase(at);
  return true;
}

void make_accessible(std::uintptr_t address, std::size_t bytes) {
  if (::mprotect(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE) != 0)
    stop("addresses of device memory cannot be made accessible: " +
         std::string(std::strerror(errno)));
}

void make_inaccessible(std::uintptr_t address, std::size_t bytes) {
  ::madvise(reinterpret_cast<void*>(address), bytes, MADV_DONTNEED);
  ::mprotect(reinterpret_cast<void*>(address), bytes, PROT_NONE);
}

bool take(int device, std::size_t bytes) {
  Memory& all = memory();
  const std::lock_guard lock(all.mutex);
  return all.take(device, bytes);
}

void give_back(int device, std::size_t bytes) {
  Memory& all = memory();
  const std::lock_guard lock(all.mutex);
  all.used[device] -= bytes;
}

std::size_t used(int device) {
  Memory& all = memory();
  const std::lock_guard lock(all.mutex);
  return all.used[device];
}

bool is_device_memory(std::uintptr_t address) {
  const std::uintptr_t begin = memory().begin;
  return address >= begin && address < begin + kRange - kPage;
}

std::optional<Block> find_block(std::uintptr_t address) {
  Memory& all = memory();
  const std::lock_guard lock(all.mutex);
  const auto allocation = find_in(all.allocations, address);
  return allocation ? allocation : find_in(all.reservations, address);
}

}  // namespace foreshard::rehearsal
