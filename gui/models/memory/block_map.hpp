// The allocator's memory at a moment as a map: pools, each the memory that it keeps for one stream,
// with their segments one behind the other by address, and in them blocks and holes.
#pragma once

#include <QString>
#include <cstdint>
#include <vector>

#include "gui/models/memory/allocator_states.hpp"
#include "gui/models/memory/memory_category.hpp"

namespace foreshard::gui {

struct MapBlock {
  enum class Use : std::uint8_t { allocated, awaiting_free, hole };

  std::int64_t offset = 0;  // within its pool, whose segments are joined
  std::int64_t bytes = 0;
  std::int64_t address = 0;
  Use use = Use::hole;
  Role role = Role::host;
  bool is_from_before = false;
  bool starts_segment = false;
  traces::MemoryEventPointer allocation = nullptr;  // of a hole: null
};

struct MapPool {
  QString name;  // of its stream
  std::int64_t reserved = 0, allocated = 0, awaiting_free = 0, largest_hole = 0;
  std::int64_t segments = 0, live_blocks = 0, holes = 0;
  std::vector<MapBlock> blocks;  // by address; they cover all of it
};

struct BlockMap {
  std::vector<MapPool> pools;  // largest first
  std::int64_t misfits = 0;    // live blocks that lie in no segment, in damaged recordings
  // No pools where most blocks are such: the recording knows how much was reserved, but not where.

  std::int64_t segments() const;
  std::int64_t live_blocks() const;
  std::int64_t holes() const;
  // Bytes of a row, a power of two, so that all pools together take at most that many rows, of which
  // each pool has at least `of_pool`.
  std::int64_t bytes_per_row(int rows, int of_pool = 1) const;
};

BlockMap block_map(const traces::Trace& trace, const AllocatorState& state);

// "557 segments, 1,337 live blocks, 57 holes. The largest hole in the compute pool is 112 MiB: a
// larger request needs a new segment."
QString fragmentation_sentence(const BlockMap& map);
// A pool's name and figures in three lines.
QString pool_text(const MapPool& pool);

}  // namespace foreshard::gui
