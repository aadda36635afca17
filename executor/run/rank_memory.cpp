#include "executor/run/rank_memory.hpp"

namespace foreshard::executor {

RankMemory::RankMemory(const RankProgram& program, const AllocatorSettings& settings,
                       std::optional<std::int64_t> capacity, std::function<void()> synchronize)
    : program_(program),
      device_(std::move(synchronize)),
      segments_(capacity.value_or(VirtualSegments::kUnlimited), &device_),
      allocator_(settings, memory_limit(settings, capacity), segments_),
      places_(program.buffers.size()) {}

RankMemory::~RankMemory() {
  for (std::size_t b = 0; b < places_.size(); ++b) {
    const Buffer& buffer = program_.buffers[b];
    if (buffer.on_host && places_[b].pointer != nullptr)
      host_.free(places_[b].pointer, {buffer.bytes});
  }
}

std::optional<OutOfMemory> RankMemory::allocate(BufferId id) {
  const Buffer& buffer = program_.buffers[static_cast<std::size_t>(id)];
  Place& place = places_[static_cast<std::size_t>(id)];
  if (buffer.on_host) {
    place.pointer = host_.allocate({buffer.bytes});
    return std::nullopt;
  }
  const auto allocation = allocator_.allocate(buffer.bytes, static_cast<int>(buffer.pool));
  if (!allocation) return allocation.error();
  place = {device_.pointer(allocation->address), allocation->block};
  return std::nullopt;
}

void RankMemory::free(BufferId id) {
  const Buffer& buffer = program_.buffers[static_cast<std::size_t>(id)];
  Place& place = places_[static_cast<std::size_t>(id)];
  if (buffer.on_host) {
    host_.free(place.pointer, {buffer.bytes});
    place.pointer = nullptr;
  } else {
    // The pointer stays: work already issued still reads it.
    allocator_.free(place.block);
  }
}

}  // namespace foreshard::executor
