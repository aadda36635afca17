#include "executor/run/rank_memory.hpp"

namespace foreshard::executor {

RankMemory::RankMemory(const RankProgram& program, const AllocatorSettings& settings,
                       std::optional<std::int64_t> capacity, Device& device,
                       std::function<void()> before_release)
    : program_(program),
      device_(device),
      backing_(device.backing(), std::move(before_release)),
      segments_(capacity.value_or(VirtualSegments::kUnlimited), &backing_),
      allocator_(settings, memory_limit(settings, capacity), segments_),
      host_(device),
      places_(program.buffers.size()) {}

RankMemory::~RankMemory() {
  for (std::size_t b = 0; b < places_.size(); ++b) {
    const Buffer& buffer = program_.buffers[b];
    if (buffer.on_host && places_[b].pointer != nullptr)
      host_.free(places_[b].pointer, {buffer.bytes});
  }
}

std::optional<OutOfMemory> RankMemory::allocate(BufferId id) {
  const Buffer& of = buffer(id);
  Place& place = places_[static_cast<std::size_t>(id)];
  if (of.on_host) {
    place.pointer = host_.allocate({of.bytes});
    return std::nullopt;
  }
  const auto allocation = allocator_.allocate(of.bytes, static_cast<int>(of.pool));
  if (!allocation) return allocation.error();
  place = {device_.pointer(allocation->address), allocation->block};
  return std::nullopt;
}

void RankMemory::free(BufferId id) {
  const Buffer& of = buffer(id);
  Place& place = places_[static_cast<std::size_t>(id)];
  if (of.on_host) {
    host_.free(place.pointer, {of.bytes});
    place.pointer = nullptr;
  } else {
    // The pointer stays: work already issued still reads it.
    allocator_.free(place.block);
  }
}

}  // namespace foreshard::executor
