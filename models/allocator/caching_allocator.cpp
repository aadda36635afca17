// The path of a request that a cached block serves, frees, and the bookkeeping of blocks; then requests
// that none serves, expandable segments, and an allocator's state as data. What every request or free
// passes through is inline: calls were a tenth of its time.
#include "models/allocator/caching_allocator.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "models/base/assertion.hpp"

namespace foreshard {

using Action = AllocatorEvent::Action;

CachingAllocator::CachingAllocator(const AllocatorRules& rules, std::optional<std::int64_t> limit,
                                   SegmentSource& source)
    : rules_(rules),
      limit_(limit),
      collects_garbage_(limit && rules.garbage_collection_threshold > 0.0),
      source_(source) {
  blocks_.reserve(kBlocks);
}

tl::expected<Allocation, OutOfMemory> CachingAllocator::allocate(std::int64_t bytes, int stream) {
  if (bytes <= 0) return Allocation{};
  if (!pending_.empty()) process_events();
  if (bytes > AllocatorRules::kMaxRequest) return tl::unexpected(fail_request({.bytes = bytes}));
  Request request{.bytes = bytes, .size = rules_.round_size(bytes), .stream = stream};
  request.small = AllocatorRules::is_small(request.size);
  request.expands = rules_.expandable_segments;
  if (is_private(stream)) apply_pool(request);
  ensure_stream(stream);
  FreeBlocks& free = pool(stream, request.small).free;
  const FreeBlocks::Place place = best_fit(request, free);
  const BlockId id = free.is_end(place) ? allocate_new(request) : take_cached(request, free, place);
  if (id == kNoBlock) return tl::unexpected(fail_request(request));

  Block& b = block(id);
  b.state = State::allocated;
  b.requested = bytes;
  statistics_.allocated += b.size;
  statistics_.active += b.size;
  statistics_.peak_allocated = std::max(statistics_.peak_allocated, statistics_.allocated);
  statistics_.peak_active = std::max(statistics_.peak_active, statistics_.active);
  ++statistics_.allocations;
  if (listener_) notify(Action::alloc, id);
  return Allocation{id, b.address, b.size};
}

// The end where there is none.
inline FreeBlocks::Place CachingAllocator::best_fit(const Request& request,
                                                    const FreeBlocks& free) {
  if (collects_garbage_ && !is_private(request.stream)) ++lookups_[request.small];
  FreeBlocks::Place place = free.lower_bound(request.size);
  if (free.is_end(place)) return place;
  if (request.expands) place = least_reaching(place, free);
  return rules_.may_serve(request.size, free[place].size) ? place : free.end();
}

// A block at the end of the mapped part counts with what it could grow by: a later block is preferred that
// wastes less of it.
FreeBlocks::Place CachingAllocator::least_reaching(FreeBlocks::Place place,
                                                   const FreeBlocks& free) {
  const auto reach = [&](FreeBlocks::Place at) {
    const Block& b = block(free[at].block);
    const bool grows = b.next != kNoBlock && block(b.next).state == State::unmapped;
    return b.size + (grows ? block(b.next).size : 0);
  };
  while (block(free[place].block).range >= 0 && !free.is_end(free.next(place)) &&
         reach(free.next(place)) < reach(place)) {
    place = free.next(place);
  }
  return place;
}

inline BlockId CachingAllocator::take_cached(const Request& request, FreeBlocks& free,
                                             FreeBlocks::Place place) {
  const auto [size, id] = free[place];
  if (is_split(request, size)) {
    const BlockId rest = cut_off(id, request.size);
    free.replace(place, size - request.size, block(rest).order, rest);
  } else {
    free.erase(place);
  }
  return id;
}

void CachingAllocator::free(BlockId id) {
  if (id == kNoBlock) return;
  Block& b = block(id);
  statistics_.allocated -= b.size;
  b.state = State::awaiting_free;
  if (listener_) notify(Action::free_requested, id);
  if (!b.used_elsewhere) return complete(id);

  const auto is_its = [id](const auto& use) { return use.first == id; };
  for (const auto& use : stream_uses_) {
    if (!is_its(use)) continue;
    PendingFree pending{.block = id, .stream = use.second};
    if (stream_events_) pending.event = stream_events_->record(use.second);
    pending_.push_back(pending);
    ++b.pending_events;
  }
  std::erase_if(stream_uses_, is_its);
  b.used_elsewhere = false;
}

void CachingAllocator::record_stream(BlockId id, int stream) {
  if (id == kNoBlock || block(id).stream == stream) return;
  const std::pair use{id, stream};
  if (std::find(stream_uses_.begin(), stream_uses_.end(), use) != stream_uses_.end()) return;
  stream_uses_.push_back(use);
  block(id).used_elsewhere = true;
}

void CachingAllocator::request_free(BlockId id) {
  if (id == kNoBlock) return;
  Block& b = block(id);
  statistics_.allocated -= b.size;
  b.state = State::awaiting_free;
  b.pending_events = 1;
  b.used_elsewhere = false;
  std::erase_if(stream_uses_, [id](const auto& use) { return use.first == id; });
  pending_.push_back({.block = id, .stream = b.stream});
  if (listener_) notify(Action::free_requested, id);
}

void CachingAllocator::complete_free(BlockId id) {
  if (id == kNoBlock) return;
  std::erase_if(pending_, [id](const PendingFree& pending) { return pending.block == id; });
  complete(id);
}

inline void CachingAllocator::complete(BlockId id) {
  Block& b = block(id);
  b.pending_events = 0;
  statistics_.active -= b.size;
  if (listener_) notify(Action::free_completed, id);
  b.state = State::free;
  b.requested = 0;

  insert_merged(id);
}

void CachingAllocator::process_events() {
  if (!stream_events_) return;
  // Events of one stream are queried in order; the first that is not done stops its stream.
  std::vector<int> stopped;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    const PendingFree pending = pending_[i];
    const bool is_stopped =
        std::find(stopped.begin(), stopped.end(), pending.stream) != stopped.end();
    if (pending.event && !is_stopped) {
      if (stream_events_->is_done(*pending.event)) {
        if (--block(pending.block).pending_events == 0) complete(pending.block);
        continue;
      }
      stopped.push_back(pending.stream);
    }
    pending_[kept++] = pending;
  }
  pending_.resize(kept);
}

// Of blocks of these streams.
void CachingAllocator::complete_pending(int first_stream, int end_stream) {
  std::erase_if(pending_, [&](const PendingFree& pending) {
    const int stream = block(pending.block).stream;
    if (stream < first_stream || stream >= end_stream) return false;
    if (pending.event && stream_events_) stream_events_->wait(*pending.event);
    if (--block(pending.block).pending_events == 0) complete(pending.block);
    return true;
  });
}

void CachingAllocator::reset_peaks() {
  statistics_.peak_allocated = statistics_.allocated;
  statistics_.peak_reserved = statistics_.reserved;
  statistics_.peak_active = statistics_.active;
}

inline BlockId CachingAllocator::unused_block() {
  if (unused_ == kNoBlock) {
    blocks_.emplace_back();
    return narrow<BlockId>(blocks_.size()) - 1;
  }
  return std::exchange(unused_, block(unused_).next);
}

BlockId CachingAllocator::new_block(const Block& value) {
  const BlockId id = unused_block();
  block(id) = value;
  return id;
}

// What exceeds the first `size` bytes of a free block becomes one of its own.
inline BlockId CachingAllocator::cut_off(BlockId id, std::int64_t size) {
  const BlockId rest_id = unused_block();
  Block &whole = block(id), &rest = block(rest_id);
  rest.address = whole.address + size;
  rest.order = whole.order + size;
  rest.size = whole.size - size;
  rest.requested = 0;
  rest.free_since = lookups_[whole.small];
  rest.range = whole.range;
  rest.pending_events = 0;
  rest.stream = whole.stream;
  rest.state = State::free;
  rest.small = whole.small;
  rest.used_elsewhere = false;
  link_after(rest_id, id);
  whole.size = size;
  return rest_id;
}

inline void CachingAllocator::delete_block(BlockId id) {
  Block& b = block(id);
  b.state = State::unused;
  b.next = unused_;
  unused_ = id;
}

inline void CachingAllocator::link_after(BlockId id, BlockId neighbour) {
  Block& b = block(id);
  Block& before = block(neighbour);
  b.previous = neighbour;
  b.next = before.next;
  before.next = id;
  if (b.next != kNoBlock) block(b.next).previous = id;
}

// Joins a neighbour in the same state into the block; the neighbour is in no pool any more.
inline void CachingAllocator::absorb(BlockId id, BlockId neighbour) {
  Block& b = block(id);
  const Block& other = block(neighbour);
  b.size += other.size;
  if (neighbour == b.previous) {
    b.address = other.address;
    b.order = other.order;
    b.previous = other.previous;
    if (b.previous != kNoBlock) block(b.previous).next = id;
  } else {
    b.next = other.next;
    if (b.next != kNoBlock) block(b.next).previous = id;
  }
  delete_block(neighbour);
}

void CachingAllocator::insert_free(BlockId id) {
  Block& b = block(id);
  b.free_since = lookups_[b.small];
  pool_of(b).free.insert(b.size, b.order, id);
}

// Of a block that has become free: one with its free neighbours from now on, in the place of one of them.
inline void CachingAllocator::insert_merged(BlockId id) {
  Block& b = block(id);
  FreeBlocks& free = pool_of(b).free;
  const auto is_free = [this](BlockId n) { return n != kNoBlock && block(n).state == State::free; };
  const auto place_of = [&](BlockId n) { return free.find(block(n).size, block(n).order); };
  const BlockId previous = b.previous, next = b.next;
  const bool joins_previous = is_free(previous), joins_next = is_free(next);
  b.free_since = lookups_[b.small];
  if (!joins_previous && !joins_next) return free.insert(b.size, b.order, id);
  if (joins_previous && joins_next) free.erase(place_of(previous));
  const FreeBlocks::Place place = place_of(joins_next ? next : previous);
  if (joins_previous) absorb(id, previous);
  if (joins_next) absorb(id, next);
  free.replace(place, b.size, b.order, id);
}

void CachingAllocator::took(std::int64_t bytes) {
  statistics_.reserved += bytes;
  statistics_.peak_reserved = std::max(statistics_.peak_reserved, statistics_.reserved);
  ++statistics_.segments_allocated;
}

void CachingAllocator::gave_back(std::int64_t bytes) {
  statistics_.reserved -= bytes;
  ++statistics_.segments_released;
}

void CachingAllocator::notify(Action action, BlockId id) {
  const Block& b = block(id);
  listener_->on_event({.action = action,
                       .stream = b.stream,
                       .block = id,
                       .address = b.address,
                       .bytes = b.size,
                       .requested = b.requested});
}

void CachingAllocator::notify_segment(Action action, int stream, AddressRange range) {
  if (!listener_) return;
  listener_->on_event(
      {.action = action, .stream = stream, .address = range.address, .bytes = range.bytes});
}

// Requests that no cached block serves: new segments, and what is given back when there are none.

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

// Expandable segments: one range of addresses for each stream and pool, of which whole granules are
// mapped as requests need them and unmapped when the cache is released. Unmapped stretches are
// blocks too, in the list of their segment's blocks but in a set of their own.

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

// An allocator's segments and blocks as data: listed, and taken over at the start of a replay.

namespace {

// Addresses left for an expandable segment to grow into, where the recording ends it.
constexpr std::int64_t kRangeRoom = 1024 * kGiB.count;

std::string name_of(const SegmentState& segment) {
  return "segment at " + std::to_string(segment.address);
}

Result<void> check(const SegmentState& segment) {
  if (segment.bytes <= 0 || segment.stream < 0 || segment.blocks.empty()) {
    return fail("", name_of(segment), "is empty; expected blocks of more than 0 bytes");
  }
  Address end = segment.address;
  for (const auto& part : segment.blocks) {
    if (part.address != end || part.bytes <= 0) {
      return fail("", name_of(segment),
                  "has a block at " + std::to_string(part.address) + " of " +
                      std::to_string(part.bytes) +
                      " bytes; expected blocks that follow one another from the segment's start");
    }
    end += part.bytes;
  }
  if (end != segment.address + segment.bytes) {
    return fail("", name_of(segment),
                "has blocks that end at " + std::to_string(end) + "; expected its end, " +
                    std::to_string(segment.address + segment.bytes));
  }
  if (segment.expandable && segment.bytes % AllocatorRules::granule(segment.small) != 0) {
    return fail("", name_of(segment),
                "is expandable with " + std::to_string(segment.bytes) +
                    " bytes mapped; expected a multiple of " +
                    std::to_string(AllocatorRules::granule(segment.small)));
  }
  return {};
}

// Whether the second of two neighbours continues the range of the first.
bool share_range(const SegmentState& first, const SegmentState& second) {
  const std::int64_t gap = second.address - (first.address + first.bytes);
  return first.expandable && second.expandable && first.stream == second.stream &&
         first.small == second.small && gap <= kRangeRoom &&
         gap % AllocatorRules::granule(first.small) == 0;
}

}  // namespace

std::int64_t CachingAllocator::bytes_awaiting_free(int stream) const {
  std::int64_t bytes = 0;
  BlockId before = kNoBlock;  // the events of one block follow one another
  for (const PendingFree& pending : pending_) {
    const Block& b = blocks_[index(pending.block)];
    if (pending.block != before && b.stream == stream) bytes += b.size;
    before = pending.block;
  }
  return bytes;
}

std::vector<SegmentState> CachingAllocator::segments() const {
  std::vector<SegmentState> result;
  const auto starts_segment = [this](const Block& b) {
    return b.state != State::unused && b.state != State::unmapped &&
           (b.previous == kNoBlock || blocks_[index(b.previous)].state == State::unmapped);
  };
  for (const Block& head : blocks_) {
    if (!starts_segment(head)) continue;
    SegmentState segment{.address = head.address,
                         .stream = head.stream,
                         .small = head.small,
                         .expandable = head.range >= 0};
    for (const Block* b = &head; b && b->state != State::unmapped;
         b = b->next == kNoBlock ? nullptr : &blocks_[index(b->next)]) {
      using Use = SegmentState::Use;
      const Use use = b->state == State::free        ? Use::free
                      : b->state == State::allocated ? Use::allocated
                                                     : Use::awaiting_free;
      const BlockId id = use == Use::free ? kNoBlock : static_cast<BlockId>(b - blocks_.data());
      segment.blocks.push_back({b->address, b->size, b->requested, use, id});
      segment.bytes += b->size;
    }
    result.push_back(std::move(segment));
  }
  std::sort(result.begin(), result.end(),
            [](const auto& a, const auto& b) { return a.address < b.address; });
  return result;
}

std::optional<std::vector<CachedBlock>> CachingAllocator::cache() const {
  if (collects_garbage_ || !pending_.empty() || !stream_uses_.empty()) return std::nullopt;
  std::vector<CachedBlock> result;
  for (std::size_t p = 0; p < pools_.size(); ++p) {
    pools_[p].free.for_each([&](BlockId id) {
      const Block& b = blocks_[index(id)];
      result.push_back({b.address, b.size, static_cast<std::int32_t>(p)});
    });
  }
  return result;
}

Result<std::vector<BlockId>> CachingAllocator::load(std::span<const SegmentState> segments) {
  struct Loaded {
    const SegmentState* segment;
    std::size_t first_id;
  };
  std::vector<Loaded> ordered;
  std::size_t blocks = 0;
  for (const SegmentState& segment : segments) {
    if (auto valid = check(segment); !valid) return tl::unexpected(valid.error());
    ordered.push_back({&segment, blocks});
    blocks += segment.blocks.size();
  }
  std::sort(ordered.begin(), ordered.end(), [](const Loaded& a, const Loaded& b) {
    return a.segment->address < b.segment->address;
  });
  for (std::size_t i = 1; i < ordered.size(); ++i) {
    const SegmentState &before = *ordered[i - 1].segment, &segment = *ordered[i].segment;
    if (before.address + before.bytes > segment.address) {
      return fail("", name_of(segment),
                  "overlaps the " + name_of(before) + "; expected segments apart from one another");
    }
  }

  std::vector<BlockId> ids(blocks, kNoBlock);
  BlockId last = kNoBlock;  // of the range that the segment before is part of
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    const SegmentState& segment = *ordered[i].segment;
    ensure_stream(segment.stream);
    const bool joins = i > 0 && share_range(*ordered[i - 1].segment, segment);
    if (!joins) last = kNoBlock;
    if (segment.expandable && !joins) ranges_.push_back({segment.address, segment.bytes});
    const std::int32_t range = segment.expandable ? narrow<std::int32_t>(ranges_.size()) - 1 : -1;
    last = load_blocks(segment, range, last, ids.data() + ordered[i].first_id);
    if (!segment.expandable) continue;

    // Addresses up to the next segment, or as many as a large device has, can still be mapped.
    const Address end = segment.address + segment.bytes;
    const std::int64_t granule = AllocatorRules::granule(segment.small);
    const std::int64_t free_addresses =
        i + 1 < ordered.size() ? ordered[i + 1].segment->address - end : kRangeRoom;
    const std::int64_t room = std::min(free_addresses, kRangeRoom) / granule * granule;
    if (room > 0) last = load_unmapped(segment, {end, room}, last);
    ranges_.back().bytes = end + room - ranges_.back().address;
  }
  reset_peaks();
  return ids;
}

BlockId CachingAllocator::load_blocks(const SegmentState& segment, std::int32_t range,
                                      BlockId previous, BlockId* ids) {
  statistics_.reserved += segment.bytes;
  for (const auto& part : segment.blocks) {
    const BlockId id = new_block({.address = part.address,
                                  .size = part.bytes,
                                  .requested = part.requested,
                                  .order = place_in_order({part.address, part.bytes}),
                                  .range = range,
                                  .stream = narrow<std::int16_t>(segment.stream),
                                  .small = segment.small});
    if (previous != kNoBlock) link_after(id, previous);
    previous = id;
    if (part.use == SegmentState::Use::free) {
      block(id).state = State::free;
      insert_free(id);
      ++ids;
      continue;
    }
    statistics_.active += part.bytes;
    if (part.use == SegmentState::Use::allocated) {
      block(id).state = State::allocated;
      statistics_.allocated += part.bytes;
    } else {
      block(id).state = State::awaiting_free;
      block(id).pending_events = 1;
      pending_.push_back({.block = id, .stream = segment.stream});
    }
    *ids++ = id;
  }
  return previous;
}

BlockId CachingAllocator::load_unmapped(const SegmentState& segment, AddressRange stretch,
                                        BlockId previous) {
  const BlockId id = new_block({.address = stretch.address,
                                .size = stretch.bytes,
                                .order = place_in_order(stretch),
                                .range = narrow<std::int32_t>(ranges_.size()) - 1,
                                .stream = narrow<std::int16_t>(segment.stream),
                                .state = State::unmapped,
                                .small = segment.small});
  link_after(id, previous);
  insert_unmapped(id);
  return id;
}

}  // namespace foreshard
