// Expandable segments: one range of addresses for each stream and pool, of which whole granules are
// mapped as requests need them and unmapped when the cache is released. Unmapped stretches are
// blocks too, in the list of their segment's blocks but in a set of their own.
#include <algorithm>

#include "models/allocator/caching_allocator.hpp"
#include "models/base/assertion.hpp"

namespace foreshard {

using Action = AllocatorEvent::Action;

// A free block of at least the request's size, made by mapping memory behind unmapped stretches:
//   unmapped -> ...          the front of the stretch is mapped
//   free -> unmapped -> ...  the free block grows by what it lacks, as often as it takes
BlockId CachingAllocator::expand(const Request& request) {
  BlockId id = find_expandable(request);
  if (id == kNoBlock) return kNoBlock;
  if (block(id).state == State::unmapped &&
      !map_front(id, std::min(block(id).size, request.size))) {
    return kNoBlock;
  }
  while (block(id).size < request.size) {
    const BlockId next = block(id).next;
    const std::int64_t lacking = request.size - block(id).size;
    if (!map_front(next, std::min(lacking, block(next).size))) return kNoBlock;
    id = next;
  }
  return id;
}

// The first unmapped stretch, with the free block before it, from which free and unmapped blocks
// follow one another for the request's size; a new range if there is none.
BlockId CachingAllocator::find_expandable(const Request& request) {
  const auto is_available = [this](BlockId id) {
    return id != kNoBlock && (block(id).state == State::free || block(id).state == State::unmapped);
  };
  for (const BlockId unmapped : pool(request.stream, request.small).unmapped) {
    const BlockId before = block(unmapped).previous;
    const BlockId first = is_available(before) ? before : unmapped;
    std::int64_t room = 0;
    for (BlockId id = first; room < request.size && is_available(id); id = block(id).next) {
      room += block(id).size;
    }
    if (room >= request.size) return first;
  }

  const auto range =
      source_.reserve_range(AllocatorRules::granule(request.small), request.size, request.stream);
  if (!range) return kNoBlock;
  ranges_.push_back(*range);
  const BlockId id = new_block({.address = range->address,
                                .size = range->bytes,
                                .order = place_in_order(*range),
                                .range = narrow<std::int32_t>(ranges_.size()) - 1,
                                .stream = narrow<std::int16_t>(request.stream),
                                .state = State::unmapped,
                                .small = request.small});
  insert_unmapped(id);
  return id;
}

// Maps at least `bytes` of an unmapped block from its start, in granules; what is mapped becomes a
// free block, together with its free neighbours. False when the device is full.
bool CachingAllocator::map_front(BlockId id, std::int64_t bytes) {
  const Block whole = block(id);
  const std::int64_t mapped = round_up(bytes, AllocatorRules::granule(whole.small));
  if (!source_.map(whole.address, mapped)) return false;

  erase_unmapped(id);
  if (mapped < whole.size) {
    const BlockId rest = new_block({.address = whole.address + mapped,
                                    .size = whole.size - mapped,
                                    .order = whole.order + mapped,
                                    .range = whole.range,
                                    .stream = whole.stream,
                                    .state = State::unmapped,
                                    .small = whole.small});
    link_after(rest, id);
    insert_unmapped(rest);
  }
  Block& b = block(id);
  b.size = mapped;
  b.state = State::free;
  insert_merged(id);
  took(mapped);
  notify_segment(Action::segment_map, whole.stream, {whole.address, mapped});
  return true;
}

// Unmaps the whole granules inside a free block; the rest at its ends stays free. A range with
// nothing mapped left is given up.
void CachingAllocator::unmap_granules(BlockId id) {
  const Block whole = block(id);
  const AddressRange range = ranges_[index(whole.range)];
  const std::int64_t granule = AllocatorRules::granule(whole.small);
  const Address first = range.address + round_up(whole.address - range.address, granule);
  const Address last =
      range.address + (whole.address + whole.size - range.address) / granule * granule;
  if (first >= last) return;

  source_.unmap(first, last - first);
  erase_free(whole);
  Block part = whole;
  const auto add_after = [&](BlockId before, Address from, Address to) {
    part.address = from;
    part.order = whole.order + (from - whole.address);
    part.size = to - from;
    const BlockId added = new_block(part);
    link_after(added, before);
    return added;
  };
  if (whole.address < first) {
    block(id).size = first - whole.address;
    insert_free(id);
    id = add_after(id, first, whole.address + whole.size);
  }
  if (last < whole.address + whole.size) {
    insert_free(add_after(id, last, whole.address + whole.size));
  }
  Block& b = block(id);
  b.address = first;
  b.order = whole.order + (first - whole.address);
  b.size = last - first;
  b.state = State::unmapped;
  for (const BlockId neighbour : {b.previous, b.next}) {
    if (neighbour == kNoBlock || block(neighbour).state != State::unmapped) continue;
    erase_unmapped(neighbour);
    absorb(id, neighbour);
  }
  insert_unmapped(id);
  gave_back(last - first);
  notify_segment(Action::segment_unmap, whole.stream, {first, last - first});

  if (!block(id).is_split()) {
    erase_unmapped(id);
    delete_block(id);
    source_.release_range(range);
  }
}

void CachingAllocator::insert_unmapped(BlockId id) {
  auto& unmapped = pool_of(block(id)).unmapped;
  const auto by_address = [this](BlockId a, BlockId b) {
    return block(a).address < block(b).address;
  };
  unmapped.insert(std::lower_bound(unmapped.begin(), unmapped.end(), id, by_address), id);
}

void CachingAllocator::erase_unmapped(BlockId id) {
  std::erase(pool_of(block(id)).unmapped, id);
}

}  // namespace foreshard
