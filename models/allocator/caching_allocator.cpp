// The path of a request that a cached block serves, frees, and the bookkeeping of blocks.
#include "models/allocator/caching_allocator.hpp"

#include <algorithm>
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
FreeBlocks::Place CachingAllocator::best_fit(const Request& request, const FreeBlocks& free) {
  if (collects_garbage_ && !is_private(request.stream)) ++lookups_[request.small];
  FreeBlocks::Place place = free.lower_bound(request.size);
  if (free.is_end(place)) return place;
  if (request.expands) {
    // A block at the end of the mapped part counts with what it could grow by: prefer a later block
    // that wastes less of it.
    const auto reach = [&](FreeBlocks::Place at) {
      const Block& b = block(free[at].block);
      const bool grows = b.next != kNoBlock && block(b.next).state == State::unmapped;
      return b.size + (grows ? block(b.next).size : 0);
    };
    while (block(free[place].block).range >= 0 && !free.is_end(free.next(place)) &&
           reach(free.next(place)) < reach(place)) {
      place = free.next(place);
    }
  }
  return rules_.may_serve(request.size, free[place].size) ? place : free.end();
}

BlockId CachingAllocator::take_cached(const Request& request, FreeBlocks& free,
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

void CachingAllocator::complete(BlockId id) {
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

BlockId CachingAllocator::unused_block() {
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
BlockId CachingAllocator::cut_off(BlockId id, std::int64_t size) {
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

void CachingAllocator::delete_block(BlockId id) {
  Block& b = block(id);
  b.state = State::unused;
  b.next = unused_;
  unused_ = id;
}

void CachingAllocator::link_after(BlockId id, BlockId neighbour) {
  Block& b = block(id);
  Block& before = block(neighbour);
  b.previous = neighbour;
  b.next = before.next;
  before.next = id;
  if (b.next != kNoBlock) block(b.next).previous = id;
}

// Joins a neighbour in the same state into the block; the neighbour is in no pool any more.
void CachingAllocator::absorb(BlockId id, BlockId neighbour) {
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
void CachingAllocator::insert_merged(BlockId id) {
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

}  // namespace foreshard
