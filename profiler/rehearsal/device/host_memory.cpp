#include "profiler/rehearsal/device/host_memory.hpp"

#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>

#include <sys/mman.h>

namespace foreshard::rehearsal {
namespace {

struct Pinned {
  std::size_t bytes;
  bool is_ours;
};

std::mutex mutex;
auto& pinned() {
  static auto& pinned = *new std::map<std::uintptr_t, Pinned>;
  return pinned;
}

std::uintptr_t number(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

bool remove(const void* pointer, bool is_ours) {
  const auto at = pinned().find(number(pointer));
  if (at == pinned().end() || at->second.is_ours != is_ours) return false;
  pinned().erase(at);
  return true;
}

}  // namespace

// Pages, which the host gives only to those who write: a script pins much that it never fills.
void* allocate_pinned(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  void* const pointer = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pointer == MAP_FAILED) return nullptr;
  const std::lock_guard lock(mutex);
  pinned()[number(pointer)] = {bytes, true};
  return pointer;
}

bool free_pinned(void* pointer) {
  const std::lock_guard lock(mutex);
  const auto at = pinned().find(number(pointer));
  if (at == pinned().end()) return false;
  const std::size_t bytes = at->second.bytes;
  if (!remove(pointer, true)) return false;
  ::munmap(pointer, bytes);
  return true;
}

void pin(void* pointer, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  pinned()[number(pointer)] = {bytes, false};
}

bool unpin(void* pointer) {
  const std::lock_guard lock(mutex);
  return remove(pointer, false);
}

bool is_pinned(const void* pointer) {
  const std::lock_guard lock(mutex);
  const auto after = pinned().upper_bound(number(pointer));
  if (after == pinned().begin()) return false;
  const auto& [start, block] = *std::prev(after);
  return number(pointer) < start + block.bytes;
}

}  // namespace foreshard::rehearsal
