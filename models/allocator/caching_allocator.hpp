// PyTorch's CUDA caching allocator, as rules over any backing memory.
//
// Memory comes from the driver in segments and is cut into blocks. Blocks of one segment form a
// list in address order; free blocks wait, ordered by size and address, in one of two pools (small
// and large requests) of the stream they were allocated for, and are never given to another stream.
// A request takes the smallest free block that holds it and gives back what exceeds it; a freed
// block merges with its free neighbours. Only when no cached block fits is a new segment requested,
// and when the driver has none left, unused segments are given back and the request is repeated.
//
// The same rules run over real memory in the executor and over bare numbers in the simulator
// (models/allocator/segment_source.hpp), so they take the same decisions for the same requests: every
// address, segment and failure. models/allocator/allocator_rules.hpp holds the sizes.
//
//   VirtualSegments segments(capacity);
//   CachingAllocator allocator(settings, memory_limit(settings, capacity), segments);
//   auto a = allocator.allocate(bytes, stream);
//   if (!a) report(a.error());  // OutOfMemory
//   allocator.free(a->block);
//
// Blocks are named by an index that stays valid until their free has completed. Not thread-safe:
// one host thread owns an allocator.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include <tl/expected.hpp>

#include "models/allocator/allocator_rules.hpp"
#include "models/allocator/allocator_types.hpp"
#include "models/allocator/free_blocks.hpp"
#include "models/allocator/segment_source.hpp"
#include "models/base/error.hpp"
#include "models/base/units.hpp"

namespace foreshard {

class CachingAllocator {
 public:
  // `limit` is PyTorch's per-process memory fraction, in bytes: what may be reserved in all, and
  // what garbage_collection_threshold is a fraction of (without one it has no effect). The source
  // has the device's capacity; memory_limit is the limit that goes with it. Rules are made from
  // AllocatorSettings implicitly.
  CachingAllocator(const AllocatorRules& rules, std::optional<std::int64_t> limit,
                   SegmentSource& source);

  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  // Before the first request of its streams, which follow those of all other pools.
  void add_private_pool(const PrivatePool& pool);

  tl::expected<Allocation, OutOfMemory> allocate(std::int64_t bytes, int stream);

  // Frees at once, or, if other streams used the block, once they have passed their current ends.
  void free(BlockId block);
  // Marks the block as used by another stream until its free.
  void record_stream(BlockId block, int stream);
  // The two halves of a free whose completion the caller decides (a replayed history).
  void request_free(BlockId block);
  void complete_free(BlockId block);

  // Gives every unused segment back to the driver, except those of private pools in use.
  void empty_cache();
  // The last user of a private pool is gone: its unused segments can be given back.
  void release_pool(std::size_t pool);
  // Gives back the unused segments of one private pool alone.
  void empty_pool(std::size_t pool);

  const AllocatorStatistics& statistics() const { return statistics_; }
  void reset_peaks();

  Address address(BlockId block) const { return blocks_[index(block)].address; }
  std::int64_t bytes(BlockId block) const { return blocks_[index(block)].size; }

  // Of freed blocks whose free has not completed yet, those of one stream.
  std::int64_t bytes_awaiting_free(int stream) const;
  // What is reserved now, ordered by address.
  std::vector<SegmentState> segments() const;
  // What requests to come depend on besides the blocks in use and the segments: where equal, with no
  // segment taken or given back in between and the same blocks in use, equal requests are answered
  // alike. Nothing where ages of blocks or frees that are pending count as well.
  std::optional<std::vector<CachedBlock>> cache() const;
  // Takes over segments that exist already; only before the first request. They are not
  // requested from the source but will be given back to it. Returns the block of each part, in order (kNoBlock
  // where it is free). Expandable segments of one stream and pool that follow one another are taken
  // to share a range.
  Result<std::vector<BlockId>> load(std::span<const SegmentState> segments);

  void set_listener(AllocatorListener* listener) { listener_ = listener; }
  void set_stream_events(StreamEvents* events) { stream_events_ = events; }

 private:
  enum class State : std::uint8_t { free, unmapped, allocated, awaiting_free, unused };

  // One cache line. Sizes and places in order are written one by one: side by side, they would be read as
  // one, which waits for both writes.
  struct alignas(64) Block {
    Address address = 0;
    std::int64_t size = 0;
    std::int64_t requested = 0;
    Address order = 0;            // where it stands among free blocks of its size
    std::int64_t free_since = 0;  // lookups of its pool when it became free, for its age
    BlockId previous = kNoBlock, next = kNoBlock;
    std::int32_t range = -1;  // the expandable segment's, or -1
    std::int32_t pending_events = 0;
    std::int16_t stream = 0;
    State state = State::unused;
    bool small = false;
    bool used_elsewhere = false;  // record_stream named another stream

    bool is_split() const { return previous != kNoBlock || next != kNoBlock; }
  };

  // The blocks of one stream in one of the two pools.
  struct Pool {
    FreeBlocks free;
    std::vector<BlockId> unmapped;  // of expandable segments, by address
  };

  struct Request {
    std::int64_t bytes = 0, size = 0;  // as requested, and rounded
    int stream = 0;
    bool small = false;
    bool expands = false;        // from expandable segments
    bool releases_cache = true;  // before it fails
  };

  // A free that waits for an event; no event: for complete_free.
  struct PendingFree {
    BlockId block = kNoBlock;
    int stream = 0;
    std::optional<std::int64_t> event = std::nullopt;
  };

  static constexpr std::size_t kBlocks = 1024;  // room from the start, as a training step has
  static constexpr int kAllStreams = std::numeric_limits<int>::max();

  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }
  Block& block(BlockId id) { return blocks_[index(id)]; }
  Pool& pool(int stream, bool small) { return pools_[index(2 * stream + (small ? 1 : 0))]; }
  Pool& pool_of(const Block& b) { return pool(b.stream, b.small); }
  void ensure_stream(int stream) {
    if (stream < streams_) return;
    streams_ = stream + 1;
    pools_.resize(index(2 * streams_));
  }
  bool is_private(int stream) const { return stream >= default_streams_; }
  void apply_pool(Request& request) const;

  BlockId unused_block();
  BlockId new_block(const Block& value);
  BlockId cut_off(BlockId id, std::int64_t size);
  void delete_block(BlockId id);
  void link_after(BlockId id, BlockId neighbour);
  Address place_in_order(AddressRange range);
  void insert_free(BlockId id);
  void erase_free(const Block& b) {
    FreeBlocks& free = pool_of(b).free;
    free.erase(free.find(b.size, b.order));
  }
  void insert_merged(BlockId id);
  void insert_unmapped(BlockId id);
  void erase_unmapped(BlockId id);
  void absorb(BlockId id, BlockId neighbour);

  // The request's path: a cached block, else new memory, else new memory after a release.
  FreeBlocks::Place best_fit(const Request& request, const FreeBlocks& free);
  FreeBlocks::Place least_reaching(FreeBlocks::Place place, const FreeBlocks& free);
  BlockId take_cached(const Request& request, FreeBlocks& free, FreeBlocks::Place place);
  BlockId allocate_new(const Request& request);
  bool is_split(const Request& request, std::int64_t size) const {
    return rules_.splits(request.size, size - request.size, request.small || request.expands);
  }
  BlockId new_memory(const Request& request);
  BlockId new_segment(const Request& request);
  OutOfMemory fail_request(const Request& request);

  // Expandable segments.
  BlockId expand(const Request& request);
  BlockId find_expandable(const Request& request);
  bool map_front(BlockId id, std::int64_t bytes);
  void unmap_granules(BlockId id);

  // Giving memory back.
  void collect_garbage();
  bool release_oversize(const Request& request);
  void release_cache();
  void release_private(const PrivatePool& pool);
  void release_pools(bool small, int first_stream, int end_stream);
  void release_segment(BlockId id);

  // Frees.
  void complete(BlockId id);
  void process_events();
  void complete_pending(int first_stream, int end_stream);

  // Taking over segments.
  BlockId load_blocks(const SegmentState& segment, std::int32_t range, BlockId previous,
                      BlockId* ids);
  BlockId load_unmapped(const SegmentState& segment, AddressRange stretch, BlockId previous);

  void took(std::int64_t bytes);
  void gave_back(std::int64_t bytes);
  void notify(AllocatorEvent::Action action, BlockId id);
  void notify_segment(AllocatorEvent::Action action, int stream, AddressRange range);

  const AllocatorRules rules_;
  const std::optional<std::int64_t> limit_;
  const bool collects_garbage_;
  SegmentSource& source_;
  AllocatorListener* listener_ = nullptr;
  StreamEvents* stream_events_ = nullptr;

  std::vector<Block> blocks_;
  BlockId unused_ = kNoBlock;  // head of the list of unused entries of blocks_
  std::vector<Pool> pools_;    // large and small of each stream
  int streams_ = 0;            // that have pools
  std::vector<PrivatePool> private_pools_;
  std::vector<std::size_t> released_pools_;
  int default_streams_ = kAllStreams;      // of the default pool, before those of private ones
  std::vector<AddressRange> ranges_;       // of expandable segments
  Address next_order_ = 0;                 // of the next segment, where these stand by age
  std::array<std::int64_t, 2> lookups_{};  // large, small; counted for garbage collection
  std::vector<PendingFree> pending_;
  std::vector<std::pair<BlockId, int>> stream_uses_;  // of blocks not yet freed
  AllocatorStatistics statistics_;
};

}  // namespace foreshard
