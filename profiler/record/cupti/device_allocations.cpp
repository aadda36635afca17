#include "profiler/record/cupti/device_allocations.hpp"

namespace foreshard::profiler {
namespace {

constexpr std::uint32_t kAllocated = 1;  // CUpti_ActivityMemoryOperationType
constexpr std::uint32_t kDestroyed = 2;  // CUpti_ActivityMemoryPoolOperationType

}  // namespace

std::optional<MemoryChange> DeviceAllocations::resize(std::uint64_t pool, std::int64_t bytes) {
  std::int64_t& now = pools_[pool];
  const MemoryChange change{pool, bytes - now, true};
  now = bytes;
  return change.bytes == 0 ? std::nullopt : std::optional(change);
}

std::optional<MemoryChange> DeviceAllocations::take(const Activity& a) {
  if (a.bytes < 0 || a.pool_bytes < 0) return std::nullopt;
  if (a.kind == ActivityKind::memory_pool) {
    return resize(a.id, a.detail == kDestroyed ? 0 : a.bytes);
  }
  if (a.kind != ActivityKind::allocation) return std::nullopt;
  // A pool without a size is one that this version of CUPTI does not look into.
  if (a.pool_bytes > 0 || pools_.contains(a.pool)) return resize(a.pool, a.pool_bytes);
  const auto block = blocks_.find(a.id);
  if (a.detail == kAllocated) {
    const std::int64_t before = block == blocks_.end() ? 0 : block->second;
    blocks_[a.id] = a.bytes;
    return a.bytes == before ? std::nullopt : std::optional(MemoryChange{a.id, a.bytes - before});
  }
  if (block == blocks_.end()) return std::nullopt;
  const MemoryChange change{a.id, -block->second};
  blocks_.erase(block);
  return change;
}

}  // namespace foreshard::profiler
