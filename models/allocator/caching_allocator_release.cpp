// Requests that no cached block serves: new segments, and what is given back when there are none.
#include <algorithm>

#include "models/allocator/caching_allocator.hpp"
#include "models/base/assertion.hpp"

namespace foreshard {

using Action = AllocatorEvent::Action;

BlockId CachingAllocator::allocate_new(const Request& request) {
  if (collects_garbage_) collect_garbage();
  BlockId id = new_memory(request);
  if (id == kNoBlock && release_oversize(request)) id = new_memory(request);
  if (id == kNoBlock && request.releases_cache) {
    release_cache();
    ++statistics_.retries;
    id = new_memory(request);
  }
  if (id != kNoBlock && is_split(request, block(id).size)) insert_free(cut_off(id, request.size));
  return id;
}

OutOfMemory CachingAllocator::fail_request(const Request& request) {
  ++statistics_.out_of_memory;
  notify_segment(Action::out_of_memory, request.stream, {0, request.bytes});
  return {request.bytes, statistics_.allocated, statistics_.reserved};
}

// A block of new memory that holds the request and is in no pool, or kNoBlock.
BlockId CachingAllocator::new_memory(const Request& request) {
  const std::int64_t segment = AllocatorRules::segment_size(request.size);
  if (limit_ && statistics_.reserved + segment > *limit_) return kNoBlock;
  if (!request.expands) return new_segment(request);
  const BlockId id = expand(request);
  if (id != kNoBlock) erase_free(block(id));
  return id;
}

BlockId CachingAllocator::new_segment(const Request& request) {
  const std::int64_t bytes = AllocatorRules::segment_size(request.size);
  const auto address = source_.reserve(bytes, request.stream);
  if (!address) return kNoBlock;
  took(bytes);
  notify_segment(Action::segment_alloc, request.stream, {*address, bytes});
  return new_block({.address = *address,
                    .size = bytes,
                    .order = place_in_order({*address, bytes}),
                    .stream = narrow<std::int16_t>(request.stream),
                    .state = State::free,
                    .small = request.small});
}

// Among free blocks of one size the lowest address comes first, or the oldest segment.
Address CachingAllocator::place_in_order(AddressRange range) {
  if (!rules_.oldest_segment_first) return range.address;
  return std::exchange(next_order_, next_order_ + range.bytes);
}

// Frees unsplit large blocks of the default pool that are at least as old as the average of those
// left, again and again until what is reserved above the threshold has been reclaimed or nothing is
// left to free.
void CachingAllocator::collect_garbage() {
  const auto threshold =
      static_cast<std::int64_t>(rules_.garbage_collection_threshold * static_cast<double>(*limit_));
  std::int64_t excess = statistics_.reserved - threshold;
  if (excess <= 0) return;

  const std::int64_t now = lookups_[false];
  std::vector<BlockId> candidates;  // ordered by stream, size and address
  std::int64_t total_age = 0;
  for (std::size_t p = 0; p < pools_.size() && !is_private(static_cast<int>(p / 2)); p += 2) {
    pools_[p].free.for_each([&](BlockId id) {
      const Block& b = block(id);
      if (b.is_split()) return;
      candidates.push_back(id);
      total_age += now - b.free_since;
    });
  }

  bool has_freed = true;
  while (excess > 0 && has_freed && !candidates.empty()) {
    const double average = static_cast<double>(total_age) / static_cast<double>(candidates.size());
    has_freed = false;
    std::erase_if(candidates, [&](BlockId id) {
      const Block b = block(id);
      const std::int64_t age = now - b.free_since;
      if (b.range >= 0 || static_cast<double>(age) < average) return false;
      total_age -= age;
      excess -= b.size;
      has_freed = true;
      release_segment(id);
      return true;
    });
  }
}

// With max_split_size: gives back one cached block above that size which would hold the request, or
// else the largest ones of the stream until they add up to it. False if that is not enough.
bool CachingAllocator::release_oversize(const Request& request) {
  if (rules_.max_split_size == AllocatorRules::kUnlimited) return false;
  const std::int64_t wanted = std::max(request.size, rules_.max_split_size);
  const FreeBlocks& free = pool(request.stream, request.small).free;
  FreeBlocks::Place place = free.lower_bound(wanted);
  if (!free.is_end(place) && block(free[place].block).range < 0) {
    release_segment(free[place].block);
    return true;
  }
  std::int64_t released = 0;
  std::vector<BlockId> largest;
  while (released < wanted && !free.is_first(place)) {
    place = free.previous(place);
    const FreeBlocks::Entry entry = free[place];
    if (entry.size < rules_.max_split_size) break;
    if (block(entry.block).range >= 0) continue;
    released += entry.size;
    largest.push_back(entry.block);
  }
  for (const BlockId id : largest) release_segment(id);
  return released >= wanted;
}

void CachingAllocator::empty_cache() {
  release_cache();
}

void CachingAllocator::release_cache() {
  complete_pending(0, kAllStreams);
  release_pools(false, 0, default_streams_);
  release_pools(true, 0, default_streams_);
  for (const std::size_t pool : released_pools_) release_private(private_pools_[pool]);
}

void CachingAllocator::release_private(const PrivatePool& pool) {
  const int end = pool.first_stream + pool.streams;
  release_pools(true, pool.first_stream, end);
  release_pools(false, pool.first_stream, end);
}

void CachingAllocator::add_private_pool(const PrivatePool& pool) {
  private_pools_.push_back(pool);
  default_streams_ = std::min(default_streams_, pool.first_stream);
}

void CachingAllocator::apply_pool(Request& request) const {
  for (const PrivatePool& pool : private_pools_) {
    if (request.stream < pool.first_stream || request.stream >= pool.first_stream + pool.streams) {
      continue;
    }
    request.expands &= pool.expandable;
    request.releases_cache = pool.releases_cache;
  }
}

void CachingAllocator::release_pool(std::size_t pool) {
  if (std::find(released_pools_.begin(), released_pools_.end(), pool) == released_pools_.end()) {
    released_pools_.push_back(pool);
  }
}

void CachingAllocator::empty_pool(std::size_t pool) {
  const PrivatePool& emptied = private_pools_[pool];
  complete_pending(emptied.first_stream, emptied.first_stream + emptied.streams);
  release_private(emptied);
}

// Everything unsplit in one pool of some streams, by stream, size and address; then the expandable
// segments' free blocks, which are collected first because unmapping changes the pool.
void CachingAllocator::release_pools(bool small, int first_stream, int end_stream) {
  std::vector<BlockId> to_release, to_unmap;
  const int streams = std::min(end_stream, static_cast<int>(pools_.size() / 2));
  for (int stream = first_stream; stream < streams; ++stream) {
    pool(stream, small).free.for_each([&](BlockId id) {
      const Block& b = block(id);
      if (b.range >= 0) {
        to_unmap.push_back(id);
      } else if (!b.is_split()) {
        to_release.push_back(id);
      }
    });
  }
  for (const BlockId id : to_release) release_segment(id);
  for (const BlockId id : to_unmap) unmap_granules(id);
}

void CachingAllocator::release_segment(BlockId id) {
  const Block b = block(id);
  erase_free(b);
  delete_block(id);
  source_.release(b.address, b.size);
  gave_back(b.size);
  notify_segment(Action::segment_free, b.stream, {b.address, b.size});
}

}  // namespace foreshard
