#include "traces/allocator/allocator_replay.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>

#include "models/allocator/virtual_segments.hpp"

namespace foreshard::traces {
namespace {

using Action = AllocatorAction;

// The recorded driver: gives each new segment the address it had, and refuses when it refused.
class RecordedDriver final : public SegmentSource {
 public:
  explicit RecordedDriver(std::int64_t capacity) : capacity_(capacity) {}

  void adopt(const SegmentState& segment) {
    used_ += segment.bytes;
    if (!segment.expandable) segments_.emplace(segment.address, segment.bytes);
  }
  void offer(Address address) { offers_.push_back(address); }
  void refuse_next() { refuses_next_ = true; }
  void forget_offers() { offers_.clear(); }

  std::optional<Address> reserve(std::int64_t bytes, int /*stream*/) override {
    const auto offered = next_offer();
    if (!grants(bytes)) return std::nullopt;
    const bool is_as_recorded = offered && is_vacant(*offered, bytes);
    const auto address = is_as_recorded ? offered : made_up_.take(bytes);
    if (!address) {
      used_ -= bytes;
      return std::nullopt;
    }
    if (is_as_recorded) offers_.pop_front();
    segments_.emplace(*address, bytes);
    return address;
  }

  void release(Address address, std::int64_t bytes) override {
    used_ -= bytes;
    segments_.erase(address);
  }

  std::optional<AddressRange> reserve_range(std::int64_t granule, std::int64_t at_least,
                                            int /*stream*/) override {
    const std::int64_t bytes = round_up(std::max(at_least, 1024 * kGiB.count), granule);
    const auto offered = next_offer();
    const auto address = offered ? offered : made_up_.take(bytes);
    if (!address) return std::nullopt;
    return AddressRange{*address, bytes};
  }
  void release_range(AddressRange /*range*/) override {}

  bool map(Address /*address*/, std::int64_t bytes) override {
    if (!grants(bytes)) return false;
    if (!offers_.empty()) offers_.pop_front();
    return true;
  }
  void unmap(Address /*address*/, std::int64_t bytes) override { used_ -= bytes; }

 private:
  // Addresses no recorded device has.
  static constexpr Address kMadeUpTop = Address{1} << 60;

  std::optional<Address> next_offer() const {
    return offers_.empty() ? std::nullopt : std::optional(offers_.front());
  }

  bool grants(std::int64_t bytes) {
    if (refuses_next_) {
      refuses_next_ = false;
      return false;
    }
    if (bytes > capacity_ - used_) return false;
    used_ += bytes;
    return true;
  }

  bool is_vacant(Address address, std::int64_t bytes) const {
    const auto after = segments_.lower_bound(address);
    if (after != segments_.end() && after->first < address + bytes) return false;
    if (after == segments_.begin()) return true;
    const auto before = std::prev(after);
    return before->first + before->second <= address;
  }

  std::int64_t capacity_;
  std::int64_t used_ = 0;
  std::deque<Address> offers_;
  bool refuses_next_ = false;
  std::map<Address, std::int64_t> segments_;
  DescendingAddresses made_up_{kMadeUpTop, kMadeUpTop / 2};
};

class Replay final : public AllocatorListener {
 public:
  Replay(const AllocatorHistory& history, const ReplayOptions& options)
      : history_(history),
        options_(options),
        rules_(options.rules ? *options.rules : history.rules),
        driver_(options.capacity),
        allocator_(rules_, memory_limit(rules_, options.capacity), driver_) {}

  Result<ReplayResult> run() {
    for (const PrivatePool& pool : history_.private_pools) allocator_.add_private_pool(pool);
    auto loaded = allocator_.load(history_.start);
    if (!loaded) return tl::unexpected(loaded.error());
    std::size_t part = 0;
    for (const SegmentState& segment : history_.start) {
      driver_.adopt(segment);
      for (const auto& block : segment.blocks) {
        const BlockId id = (*loaded)[part++];
        if (id != kNoBlock) name(block.address, id, block.use != SegmentState::Use::allocated);
      }
    }
    allocator_.set_listener(this);
    const std::size_t events = std::min(history_.events.size(), options_.events);
    std::int64_t peak = allocator_.statistics().peak_reserved;
    for (index_ = 0; index_ < events; ++index_) {
      apply(history_.events[index_]);
      if (allocator_.statistics().peak_reserved == peak) continue;
      peak = allocator_.statistics().peak_reserved;
      result_.peak_event = index_;
    }
    result_.statistics = allocator_.statistics();
    result_.end = allocator_.segments();
    return std::move(result_);
  }

  void on_event(const AllocatorEvent& event) override {
    using Did = AllocatorEvent::Action;
    if (event.action == Did::free_completed) {
      const auto i = static_cast<std::size_t>(event.block);
      if (i < live_.size()) live_[i] = {};
    } else if (event.action == Did::segment_alloc || event.action == Did::segment_map) {
      decide(ReplayDecision::Kind::segment, event.bytes);
    } else if (event.action == Did::segment_free || event.action == Did::segment_unmap) {
      decide(ReplayDecision::Kind::release, event.bytes);
    }
  }

 private:
  static constexpr Address kNoName = -1;

  struct Live {
    Address name = kNoName;
    bool awaits_free = false;
  };

  void apply(const HistoryEvent& event) {
    switch (event.action) {
      case Action::alloc:
      case Action::oom: allocate(event); break;
      case Action::free_requested: request_free(find(event.address)); break;
      case Action::free_completed:
        if (const BlockId id = find(event.address); id != kNoBlock) {
          request_free(id);
          allocator_.complete_free(id);
        }
        blocks_.erase(event.address);
        break;
      case Action::segment_alloc:
      case Action::segment_map: driver_.offer(event.address); break;
      case Action::empty_cache:
        if (event.pool) {
          allocator_.empty_pool(*event.pool);
        } else {
          allocator_.empty_cache();
        }
        break;
      case Action::release_pool:
        if (event.pool) allocator_.release_pool(*event.pool);
        break;
      case Action::device_full:
        if (options_.honor_recorded_oom) driver_.refuse_next();
        break;
      case Action::segment_free:
      case Action::segment_unmap: break;
    }
  }

  void allocate(const HistoryEvent& event) {
    const bool was_served = event.action == Action::alloc;
    const auto allocation = allocator_.allocate(event.bytes, event.stream);
    driver_.forget_offers();
    result_.addresses_total += was_served;
    if (!allocation) {
      blocks_.erase(event.address);
      result_.failures.push_back(allocation.error());
      return decide(ReplayDecision::Kind::out_of_memory, 0);
    }
    if (allocation->block == kNoBlock) return;
    decide(ReplayDecision::Kind::address, allocation->address);
    if (was_served) {
      result_.addresses_equal += allocation->address == event.address;
      name(event.address, allocation->block);
    } else {
      // Nobody ever frees what was not served when recorded.
      allocator_.free(allocation->block);
    }
  }

  void decide(ReplayDecision::Kind kind, std::int64_t value) {
    result_.decisions.push_back({index_, kind, value});
  }

  void name(Address address, BlockId id, bool awaits_free = false) {
    const auto i = static_cast<std::size_t>(id);
    if (live_.size() <= i) live_.resize(i + 1);
    live_[i] = {address, awaits_free};
    blocks_[address] = id;
  }

  // The block of this name, unless its free has completed (a release completes pending ones).
  BlockId find(Address address) const {
    const auto found = blocks_.find(address);
    if (found == blocks_.end()) return kNoBlock;
    return live_[static_cast<std::size_t>(found->second)].name == address ? found->second
                                                                          : kNoBlock;
  }

  void request_free(BlockId id) {
    if (id == kNoBlock) return;
    bool& awaits_free = live_[static_cast<std::size_t>(id)].awaits_free;
    if (!std::exchange(awaits_free, true)) allocator_.request_free(id);
  }

  const AllocatorHistory& history_;
  const ReplayOptions& options_;
  AllocatorRules rules_;
  RecordedDriver driver_;
  CachingAllocator allocator_;
  std::size_t index_ = 0;
  std::unordered_map<Address, BlockId> blocks_;  // by name
  std::vector<Live> live_;                       // by block
  ReplayResult result_;
};

}  // namespace

Result<ReplayResult> replay(const AllocatorHistory& history, const ReplayOptions& options) {
  return Replay(history, options).run();
}

}  // namespace foreshard::traces
