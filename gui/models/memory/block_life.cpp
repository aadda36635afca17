#include "gui/models/memory/block_life.hpp"

namespace foreshard::gui {

using traces::MemoryAction;
using traces::MemoryEvent;
using traces::MemoryEventPointer;

BlockLife block_life(traces::MemoryEventSpan events, MemoryEventPointer allocation) {
  BlockLife life{allocation};
  const MemoryEvent block = *allocation;
  if (block.address == 0) return life;
  const auto is_allocation_there = [&](const MemoryEvent& event) {
    return event.action == MemoryAction::alloc && !event.on_host && event.address != 0 &&
           event.address < block.address + block.bytes &&
           block.address < event.address + event.bytes;
  };
  for (auto at = allocation; at != events.begin();) {
    --at;
    if (!is_allocation_there(*at)) continue;
    life.before = at;
    break;
  }
  for (auto at = allocation + 1; at != events.end(); ++at) {
    const MemoryEvent event = *at;
    if (is_allocation_there(event)) {
      life.after = at;
      break;
    }
    if (event.on_host || event.address != block.address) continue;
    if (event.action == MemoryAction::free_requested && life.freed == nullptr) life.freed = at;
    if (event.action == MemoryAction::free_completed && life.completed == nullptr) {
      life.completed = at;
    }
  }
  return life;
}

}  // namespace foreshard::gui
