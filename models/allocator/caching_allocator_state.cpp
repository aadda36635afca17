// An allocator's segments and blocks as data: listed, and taken over at the start of a replay.
#include <algorithm>
#include <string>

#include "models/allocator/caching_allocator.hpp"
#include "models/base/assertion.hpp"

namespace foreshard {
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
