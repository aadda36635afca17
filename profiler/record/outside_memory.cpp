#include "profiler/record/outside_memory.hpp"

#include <cstdlib>

namespace foreshard::profiler {
namespace {

constexpr std::uint8_t kFirstOfDevice =
    3;  // CUpti_ActivityMemoryKind; those before it are the host's

bool is_of_device(const Activity& activity) {
  return activity.kind == ActivityKind::memory_pool || activity.to_memory >= kFirstOfDevice;
}

}  // namespace

void OutsideMemory::take(const Activity& activity, const std::optional<Place>& place) {
  if (!is_of_device(activity)) return;
  if (const auto change = allocations_.take(activity)) {
    changes_.push_back({*change, activity.start_ns, activity.device, place});
  }
}

std::int32_t OutsideMemory::attributes_of(const Change& change, traces::FstWriter& writer) {
  const bool is_of_pool = change.change.is_of_pool;
  const auto [number, is_new] =
      numbers_.try_emplace({is_of_pool, change.place->instruction, change.place->phase}, 0);
  if (is_new) {
    traces::MemoryAttributes attributes;
    attributes.category = writer.strings().intern("device memory outside the caching allocator");
    attributes.owner = writer.strings().intern(is_of_pool ? "memory pool" : "cudaMalloc");
    attributes.phase = change.place->phase;
    attributes.instruction = change.place->instruction;
    number->second = writer.add(attributes);
  }
  return number->second;
}

void OutsideMemory::write(traces::FstWriter& writer, std::int64_t origin_ns,
                          const std::function<std::optional<Place>(std::uint32_t)>& place_of) {
  batch_.clear();
  std::erase_if(changes_, [&](Change& one) {
    if (!one.place) one.place = place_of(one.device);
    if (!one.place) return false;
    const auto action = one.change.bytes > 0 ? traces::MemoryAction::outside_alloc
                                             : traces::MemoryAction::outside_free;
    batch_.push_back({one.time_ns - origin_ns, static_cast<std::int64_t>(one.change.address),
                      std::abs(one.change.bytes), attributes_of(one, writer), one.place->lane,
                      one.place->step, static_cast<std::int32_t>(action)});
    return true;
  });
  writer.append(std::span<const traces::PackedRecord>(batch_));
}

}  // namespace foreshard::profiler
