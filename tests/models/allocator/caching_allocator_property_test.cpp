// Laws of the caching allocator under random requests, settings and capacities, checked against a
// recount of everything it holds.
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "models/allocator/caching_allocator.hpp"
#include "models/allocator/virtual_segments.hpp"
#include "tests/models/allocator/allocator_device.hpp"

namespace foreshard {
namespace {

constexpr std::int64_t kByte = 1;

// Events in order, of which a growing number is done.
class OrderedEvents final : public StreamEvents {
 public:
  std::int64_t record(int /*stream*/) override { return recorded++; }
  bool is_done(std::int64_t event) override { return event < done; }
  void wait(std::int64_t event) override { done = std::max(done, event + 1); }

  std::int64_t recorded = 0, done = 0;
};

// Reserved bytes by what the allocator reports, and blocks by their names.
class Follower final : public AllocatorListener {
 public:
  void on_event(const AllocatorEvent& event) override {
    using Action = AllocatorEvent::Action;
    switch (event.action) {
      case Action::segment_alloc:
      case Action::segment_map: reserved += event.bytes; break;
      case Action::segment_free:
      case Action::segment_unmap: reserved -= event.bytes; break;
      case Action::alloc: held[event.block] = event; break;
      case Action::free_completed: held.erase(event.block); break;
      default: break;
    }
  }
  std::int64_t reserved = 0;
  std::map<BlockId, AllocatorEvent> held;  // allocated, or with a free that is not complete
};

// A driver whose memory others use too: it may refuse at any time. Knows what lies where.
class Driver final : public SegmentBacking {
 public:
  Driver(unsigned seed, double probability) : random_(seed), refuses_(probability) {}

  bool commit(Address address, std::int64_t bytes) override {
    if (refuses()) return false;
    RC_ASSERT(is_free(address, address + bytes));
    committed[address] = bytes;
    total += bytes;
    return true;
  }
  // Of a range any part, which may have been committed in pieces.
  void decommit(Address address, std::int64_t bytes) override {
    auto at = std::prev(committed.upper_bound(address));
    const Address end = address + bytes;
    total -= bytes;
    if (at->first < address) {
      const Address old_end = at->first + at->second;
      at->second = address - at->first;
      at = committed.emplace_hint(std::next(at), address, old_end - address);
    }
    while (address < end) {
      RC_ASSERT(at != committed.end());
      RC_ASSERT(at->first == address);
      const Address part_end = address + at->second;
      at = committed.erase(at);
      if (part_end > end) committed[end] = part_end - end;
      address = part_end;
    }
  }
  bool begin_range(AddressRange, std::int64_t) override { return !refuses(); }
  void end_range(AddressRange range) override {
    RC_ASSERT(is_free(range.address, range.address + range.bytes));
  }

  std::int64_t total = 0, refusals = 0;
  std::map<Address, std::int64_t> committed;

 private:
  bool is_free(Address begin, Address end) const {
    const auto above = committed.lower_bound(begin);
    if (above != committed.end() && above->first < end) return false;
    return above == committed.begin() ||
           std::prev(above)->first + std::prev(above)->second <= begin;
  }
  bool refuses() {
    const bool answer = refuses_(random_);
    refusals += answer ? 1 : 0;
    return answer;
  }
  std::mt19937 random_;
  std::bernoulli_distribution refuses_;
};

struct Subject {
  Subject(const AllocatorSettings& settings, std::int64_t capacity, Driver* backing = nullptr)
      : driver(backing),
        memory(capacity, backing),
        allocator(settings, memory_limit(settings, capacity), memory) {
    allocator.set_listener(&follower);
    allocator.set_stream_events(&events);
  }

  void check() const {
    using Use = SegmentState::Use;
    std::int64_t reserved = 0, allocated = 0, active = 0;
    std::size_t held = 0;
    Address end = 0;
    for (const SegmentState& segment : allocator.segments()) {
      RC_ASSERT(segment.address >= end);
      end = segment.address;
      Use before = Use::allocated;
      for (const auto& part : segment.blocks) {
        RC_ASSERT(part.address == end);
        RC_ASSERT(part.bytes > 0);
        RC_ASSERT(part.bytes % 512 == 0);
        RC_ASSERT(part.use != Use::free || before != Use::free);  // they would have merged
        end += part.bytes;
        before = part.use;
        if (part.use == Use::free) continue;
        active += part.bytes;
        if (part.use == Use::allocated) allocated += part.bytes;
        const auto known = follower.held.find(part.block);
        RC_ASSERT(known != follower.held.end());
        RC_ASSERT(known->second.address == part.address);
        RC_ASSERT(known->second.bytes == part.bytes);
        RC_ASSERT(known->second.requested == part.requested);
        RC_ASSERT(known->second.stream == segment.stream);
        RC_ASSERT(part.requested <= part.bytes);
        ++held;
      }
      RC_ASSERT(end == segment.address + segment.bytes);
      reserved += segment.bytes;
    }
    const AllocatorStatistics& s = allocator.statistics();
    RC_ASSERT(held == follower.held.size());
    RC_ASSERT(s.reserved == reserved);
    RC_ASSERT(s.allocated == allocated);
    RC_ASSERT(s.active == active);
    RC_ASSERT(follower.reserved == reserved);
    RC_ASSERT(memory.used() == reserved);
    if (driver != nullptr) RC_ASSERT(driver->total == reserved);
    RC_ASSERT(s.reserved <= s.peak_reserved);
    RC_ASSERT(s.allocated <= s.peak_allocated);
    RC_ASSERT(s.active <= s.peak_active);
    RC_ASSERT(s.peak_allocated <= s.peak_active);
    RC_ASSERT(s.peak_active <= s.peak_reserved);
    RC_ASSERT(s.peak_reserved <= memory.capacity());
  }

  Driver* driver;
  VirtualSegments memory;
  OrderedEvents events;
  Follower follower;
  CachingAllocator allocator;
};

AllocatorSettings any_settings() {
  AllocatorSettings settings;
  settings.expandable_segments = *rc::gen::arbitrary<bool>();
  settings.max_split_size_mb = *rc::gen::element(0, 0, 21, 64, 200);
  settings.roundup_power2_divisions = *rc::gen::element(0, 0, 1, 2, 8);
  settings.garbage_collection_threshold = *rc::gen::element(0.0, 0.0, 0.3, 0.8);
  settings.memory_fraction = *rc::gen::element(1.0, 0.9, 0.5);
  return settings;
}

// Sizes around every boundary of the rules.
std::int64_t any_bytes() {
  const std::int64_t scale =
      *rc::gen::element(kByte, 512 * kByte, 4096 * kByte, kMi, kMi, 10 * kMi);
  const std::int64_t offset = *rc::gen::inRange<std::int64_t>(-1, 2);
  return std::max<std::int64_t>(0, *rc::gen::inRange<std::int64_t>(1, 16) * scale + offset);
}

// The report of a request that failed lists what is there; memory had to be refused for it, and was
// again once everything cached had been given back.
void check_failure(const Subject& subject, const OutOfMemory& failure, std::int64_t bytes,
                   std::int64_t refusals, bool retries) {
  const AllocatorStatistics& s = subject.allocator.statistics();
  RC_ASSERT(failure.requested == bytes);
  RC_ASSERT(failure.allocated == s.allocated);
  RC_ASSERT(failure.reserved == s.reserved);
  if (subject.memory.capacity() != VirtualSegments::kUnlimited) return;
  RC_ASSERT(subject.driver != nullptr);
  RC_ASSERT(subject.driver->refusals - refusals >= (retries ? 2 : 1));
}

// Any requests, with all laws checked after each.
void use(Subject& subject) {
  CachingAllocator& allocator = subject.allocator;
  const bool has_private = *rc::gen::arbitrary<bool>();
  if (has_private) {
    allocator.add_private_pool({.first_stream = 2,
                                .streams = 1,
                                .expandable = *rc::gen::arbitrary<bool>(),
                                .releases_cache = *rc::gen::arbitrary<bool>()});
  }
  std::vector<BlockId> live;
  const int operations = *rc::gen::inRange(1, 120);
  for (int i = 0; i < operations; ++i) {
    const int what = *rc::gen::inRange(0, 20);
    if (what < 10 || live.empty()) {
      const std::int64_t bytes = any_bytes();
      const int stream = *rc::gen::inRange(0, 3);
      const std::int64_t refusals = subject.driver == nullptr ? 0 : subject.driver->refusals;
      const auto allocation = allocator.allocate(bytes, stream);
      if (allocation && allocation->block != kNoBlock) {
        RC_ASSERT(allocation->bytes >= bytes);
        RC_ASSERT(allocator.address(allocation->block) == allocation->address);
        live.push_back(allocation->block);
      } else if (!allocation) {
        check_failure(subject, allocation.error(), bytes, refusals, !has_private || stream < 2);
      }
    } else if (what < 17) {
      const auto victim = live.begin() + *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(live));
      allocator.free(*victim);
      live.erase(victim);
    } else if (what == 17) {
      allocator.record_stream(live.back(), *rc::gen::inRange(0, 3));
    } else if (what == 18) {
      subject.events.done =
          *rc::gen::inRange<std::int64_t>(subject.events.done, subject.events.recorded + 1);
    } else if (const int rare = *rc::gen::inRange(0, 6); rare == 0) {
      allocator.empty_cache();
    } else if (rare == 1 && has_private) {
      allocator.empty_pool(0);
    } else {
      allocator.reset_peaks();
    }
    subject.check();
  }
  for (const BlockId block : live) allocator.free(block);
  if (has_private) allocator.release_pool(0);
  allocator.empty_cache();
  subject.check();
  RC_ASSERT(allocator.statistics().allocated == 0);
  RC_ASSERT(allocator.statistics().active == 0);
  RC_ASSERT(allocator.statistics().reserved == 0);
}

RC_GTEST_PROP(CachingAllocatorProperty, AccountsForEveryByte, ()) {
  const std::int64_t capacity =
      *rc::gen::element(+VirtualSegments::kUnlimited, 60 * kMi, 200 * kMi, 600 * kMi);
  Subject subject(any_settings(), capacity);
  use(subject);
}

RC_GTEST_PROP(CachingAllocatorProperty, AccountsForEveryByteWhenTheDriverRefuses, ()) {
  Driver driver(*rc::gen::arbitrary<unsigned>(), *rc::gen::element(0.05, 0.3, 0.9));
  Subject subject(any_settings(), *rc::gen::element(+VirtualSegments::kUnlimited, 200 * kMi),
                  &driver);
  use(subject);
  RC_ASSERT(driver.committed.empty());
}

// What was saved and loaded goes on exactly as the original, wherever new segments lie.
RC_GTEST_PROP(CachingAllocatorProperty, GoesOnFromALoadedState, ()) {
  AllocatorSettings settings = any_settings();
  settings.garbage_collection_threshold = 0.0;  // ages are not part of the state
  Subject first(settings, VirtualSegments::kUnlimited);
  std::vector<BlockId> live;
  for (int i = *rc::gen::inRange(1, 40); i > 0; --i) {
    const auto a = first.allocator.allocate(any_bytes(), *rc::gen::inRange(0, 2));
    RC_ASSERT(a.has_value());
    if (a->block == kNoBlock) continue;
    if (*rc::gen::arbitrary<bool>()) {
      live.push_back(a->block);
    } else {
      first.allocator.free(a->block);
    }
  }
  const auto state = first.allocator.segments();
  VirtualSegments elsewhere;
  CachingAllocator second(settings, std::nullopt, elsewhere);
  RC_ASSERT(second.load(state).has_value());
  RC_ASSERT(second.statistics().reserved == first.allocator.statistics().reserved);
  for (int i = *rc::gen::inRange(1, 40); i > 0; --i) {
    const std::int64_t bytes = any_bytes();
    const int stream = *rc::gen::inRange(0, 2);
    const std::int64_t reserved = first.allocator.statistics().reserved;
    const auto a = first.allocator.allocate(bytes, stream), b = second.allocate(bytes, stream);
    RC_ASSERT(a->bytes == b->bytes);
    RC_ASSERT(first.allocator.statistics().reserved == second.statistics().reserved);
    // New segments lie elsewhere, and ties among them may fall differently from then on.
    if (first.allocator.statistics().reserved != reserved) return;
    RC_ASSERT(a->address == b->address);
  }
}

}  // namespace
}  // namespace foreshard
