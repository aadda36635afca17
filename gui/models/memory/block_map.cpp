#include "gui/models/memory/block_map.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <map>
#include <set>

#include "gui/models/base/units_text.hpp"

namespace foreshard::gui {
namespace {

using traces::MemoryEvent;
using Use = MapBlock::Use;

struct Placed {
  traces::MemoryEventPointer allocation;
  Use use;
};

// Live blocks and those that wait, by address.
std::vector<Placed> placed_blocks(const AllocatorState& state) {
  std::vector<Placed> blocks;
  for (const auto& [address, event] : state.tally.device_blocks()) {
    blocks.push_back({event, Use::allocated});
  }
  for (const auto& [address, event] : state.awaiting_free) {
    blocks.push_back({event, Use::awaiting_free});
  }
  std::sort(blocks.begin(), blocks.end(), [](const Placed& a, const Placed& b) {
    return a.allocation->address < b.allocation->address;
  });
  return blocks;
}

// Appends segments to a pool.
class PoolWriter {
 public:
  explicit PoolWriter(MapPool& pool) : pool_(pool) {}

  void begin(std::int64_t address) {
    ++pool_.segments;
    at_ = address;
    starts_segment_ = true;
  }
  // A hole up to that address.
  void fill_to(std::int64_t address) {
    if (address <= at_) return;
    MapBlock hole;
    hole.bytes = address - at_;
    ++pool_.holes;
    pool_.largest_hole = std::max(pool_.largest_hole, hole.bytes);
    add(hole);
  }
  void add(const Placed& placed, const MemoryCategory& category, std::int64_t bytes) {
    MapBlock block;
    block.bytes = bytes;
    block.use = placed.use;
    block.role = category.role;
    block.is_from_before = category.is_from_before;
    block.allocation = placed.allocation;
    if (placed.use == Use::allocated) {
      ++pool_.live_blocks;
      pool_.allocated += bytes;
    } else {
      pool_.awaiting_free += bytes;
    }
    add(block);
  }
  std::int64_t address() const { return at_; }

 private:
  void add(MapBlock block) {
    block.address = at_;
    block.offset = pool_.reserved;
    block.starts_segment = std::exchange(starts_segment_, false);
    at_ += block.bytes;
    pool_.reserved += block.bytes;
    pool_.blocks.push_back(block);
  }

  MapPool& pool_;
  std::int64_t at_ = 0;
  bool starts_segment_ = false;
};

using Segments = std::map<std::int64_t, AllocatorState::Segment>;

// Expandable segments are recorded as they grow, piece by piece, and blocks lie across the pieces.
// Where one does, all pieces of its lane that touch are one segment.
Segments joined(const Segments& pieces, const std::vector<Placed>& blocks) {
  std::set<std::int32_t> expandable;  // lanes
  for (const Placed& block : blocks) {
    const MemoryEvent& event = *block.allocation;
    auto piece = pieces.upper_bound(event.address);
    if (piece == pieces.begin()) continue;
    --piece;
    const std::int64_t end = piece->first + piece->second.bytes;
    if (event.address < end && event.address + event.bytes > end) {
      expandable.insert(piece->second.lane);
    }
  }
  if (expandable.empty()) return pieces;
  Segments segments;
  for (const auto& [address, piece] : pieces) {
    if (!segments.empty()) {
      auto& [start, last] = *segments.rbegin();
      if (start + last.bytes == address && last.lane == piece.lane &&
          expandable.count(piece.lane) > 0) {
        last.bytes += piece.bytes;
        continue;
      }
    }
    segments.emplace_hint(segments.end(), address, piece);
  }
  return segments;
}

struct BlockMapText {
  Q_DECLARE_TR_FUNCTIONS(BlockMap)
};

std::int64_t sum(const BlockMap& map, std::int64_t MapPool::*figure) {
  std::int64_t total = 0;
  for (const MapPool& pool : map.pools) total += pool.*figure;
  return total;
}

}  // namespace

std::int64_t BlockMap::segments() const {
  return sum(*this, &MapPool::segments);
}
std::int64_t BlockMap::live_blocks() const {
  return sum(*this, &MapPool::live_blocks);
}
std::int64_t BlockMap::holes() const {
  return sum(*this, &MapPool::holes);
}

std::int64_t BlockMap::bytes_per_row(int rows, int of_pool) const {
  constexpr std::int64_t kLeast = std::int64_t{1} << 16, kMost = std::int64_t{1} << 56;
  for (std::int64_t bytes = kLeast; bytes < kMost; bytes *= 2) {
    std::int64_t needed = 0;
    for (const MapPool& pool : pools) {
      needed += std::max<std::int64_t>((pool.reserved + bytes - 1) / bytes, of_pool);
    }
    if (needed <= std::max<std::int64_t>(rows, of_pool * std::ssize(pools))) return bytes;
  }
  return kMost;
}

BlockMap block_map(const traces::Trace& trace, const AllocatorState& state) {
  BlockMap map;
  std::map<std::int32_t, MapPool> pools;  // by lane
  std::map<traces::StringId, MemoryCategory> categories;
  const std::vector<Placed> blocks = placed_blocks(state);
  auto block = blocks.begin();
  const auto skip_misfit = [&] {
    map.misfits += block->use == Use::allocated;
    ++block;
  };
  for (const auto& [start, segment] : joined(state.segments, blocks)) {
    MapPool& pool = pools[segment.lane];
    PoolWriter writer(pool);
    writer.begin(start);
    const std::int64_t end = start + segment.bytes;
    while (block != blocks.end() && block->allocation->address < start) skip_misfit();
    while (block != blocks.end() && block->allocation->address < end) {
      const MemoryEvent& event = *block->allocation;
      if (event.address < writer.address()) {
        skip_misfit();  // it overlaps the one before
        continue;
      }
      const auto [category, is_new] = categories.try_emplace(event.category);
      if (is_new) category->second = memory_category(trace.strings[event.category]);
      writer.fill_to(event.address);
      writer.add(*block, category->second, std::min(event.bytes, end - event.address));
      ++block;
    }
    writer.fill_to(end);
  }
  while (block != blocks.end()) skip_misfit();
  for (auto& [lane, pool] : pools) {
    pool.name = lane < 0 ? BlockMapText::tr("device")
                         : QString::fromStdString(
                               trace.strings[trace.lanes[static_cast<std::size_t>(lane)].name]);
    pool.name.replace(QLatin1Char('_'), QLatin1Char('-'));
    map.pools.push_back(std::move(pool));
  }
  if (map.misfits > map.live_blocks()) map.pools.clear();
  std::stable_sort(map.pools.begin(), map.pools.end(),
                   [](const MapPool& a, const MapPool& b) { return a.reserved > b.reserved; });
  return map;
}

QString fragmentation_sentence(const BlockMap& map) {
  if (map.pools.empty())
    return BlockMapText::tr("This trace has no segments: which addresses are free is unknown.");
  const MapPool& pool = map.pools.front();
  QString sentence =
      BlockMapText::tr("%1 segments, %2 live blocks, %3 holes.")
          .arg(count_figure(map.segments()).text(), count_figure(map.live_blocks()).text(),
               count_figure(map.holes()).text());
  if (pool.largest_hole > 0) {
    sentence += QLatin1Char(' ') +
                BlockMapText::tr(
                    "The largest hole in the %1 pool is %2: a larger request needs a new segment.")
                    .arg(pool.name, bytes_figure(pool.largest_hole).text());
  }
  return sentence;
}

QString pool_text(const MapPool& pool) {
  const QString holes =
      pool.largest_hole == 0
          ? QString()
          : BlockMapText::tr(", the largest %1").arg(bytes_figure(pool.largest_hole).text());
  return BlockMapText::tr(
             "pool %1\n%2 reserved, %3 allocated\n%4 segments, %5 live blocks, %6 holes%7")
      .arg(pool.name, bytes_figure(pool.reserved).text(), bytes_figure(pool.allocated).text(),
           count_figure(pool.segments).text(), count_figure(pool.live_blocks).text(),
           count_figure(pool.holes).text(), holes);
}

}  // namespace foreshard::gui
