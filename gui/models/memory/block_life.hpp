// A block through time: when it was allocated and freed, and what lay in the same memory before and
// after it.
#pragma once

#include "traces/trace.hpp"

namespace foreshard::gui {

struct BlockLife {
  traces::MemoryEventPointer allocation = nullptr;
  traces::MemoryEventPointer freed = nullptr;  // by the program; null: it stays
  // Every stream that used it has passed; null: that is not recorded, or it stays.
  traces::MemoryEventPointer completed = nullptr;
  // The nearest allocations with which it shares addresses; null: there is none.
  traces::MemoryEventPointer before = nullptr, after = nullptr;
};

// `events`: of the allocation's rank. Blocks without an address have no life but an allocation.
BlockLife block_life(traces::MemoryEventSpan events, traces::MemoryEventPointer allocation);

}  // namespace foreshard::gui
