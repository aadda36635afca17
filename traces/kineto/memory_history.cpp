#include "traces/kineto/memory_history.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "traces/meaning/named_steps.hpp"

namespace foreshard::traces::kineto {
namespace {

constexpr std::int64_t kUnknown = AllocatorInstant::kUnknown;
constexpr const char* kBefore = "before the recording";
constexpr const char* kNotRecorded = "not recorded";

// One allocator: a device's, or the host's.
struct Pool {
  bool on_host = false;
  std::int64_t allocated = 0, reserved = 0;
  std::int64_t counted = 0, peak = 0;                // sum of the instants; the most allocated
  std::int64_t first_ns = 0, last_ns = 0;            // instants
  std::int64_t at_first = 0, reserved_at_first = 0;  // before the first instant
  std::unordered_set<std::int64_t> live;
  std::vector<std::pair<std::int64_t, std::int64_t>> older;  // address and bytes of older blocks
};

class History {
 public:
  History(Collected& recording, const Attribution& places)
      : recording_(recording), places_(places), order_(recording.memory.size()) {
    std::iota(order_.begin(), order_.end(), 0U);
    const auto& all = recording_.memory;
    std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return all[a].time_ns < all[b].time_ns;
    });
  }

  std::vector<MemoryEvent> run() {
    order_equal_times();
    find_what_was_there();
    keep_fullest_device();
    for (auto& [key, pool] : pools_) begin(pool);
    for (const std::uint32_t index : order_) replay(index);
    return std::move(out_);
  }

 private:
  Pool& pool_of(const AllocatorInstant& instant) {
    Pool& pool = pools_[{instant.on_host, instant.on_host ? -1 : instant.device}];
    pool.on_host = instant.on_host;
    return pool;
  }

  static bool follows(const Pool& pool, const AllocatorInstant& instant) {
    return instant.allocated == kUnknown || instant.is_out_of_memory ||
           instant.allocated - instant.bytes == pool.allocated;
  }

  // Threads' instants of one moment are in an order that only the totals determine.
  void order_equal_times() {
    const auto& all = recording_.memory;
    for (std::size_t first = 0; first < order_.size();) {
      std::size_t last = first + 1;
      while (last < order_.size() && all[order_[last]].time_ns == all[order_[first]].time_ns)
        ++last;
      constexpr std::size_t kMaxAtOnce = 256;
      const bool can_search = last - first > 1 && last - first <= kMaxAtOnce;
      for (std::size_t at = first; at < last; ++at) {
        auto next = order_.begin() + static_cast<std::ptrdiff_t>(at);
        const auto end = order_.begin() + static_cast<std::ptrdiff_t>(last);
        if (can_search) {
          const auto found = std::find_if(
              next, end, [&](std::uint32_t i) { return follows(pool_of(all[i]), all[i]); });
          if (found != end) std::rotate(next, found, found + 1);
        }
        const AllocatorInstant& instant = all[order_[at]];
        if (instant.allocated != kUnknown) pool_of(instant).allocated = instant.allocated;
      }
      first = last;
    }
    pools_.clear();
  }

  void find_what_was_there() {
    for (const std::uint32_t index : order_) {
      const AllocatorInstant& instant = recording_.memory[index];
      const bool is_first =
          !pools_.contains({instant.on_host, instant.on_host ? -1 : instant.device});
      Pool& pool = pool_of(instant);
      const std::int64_t change = instant.is_out_of_memory ? 0 : instant.bytes;
      pool.counted += change;
      pool.peak =
          std::max(pool.peak, instant.allocated == kUnknown ? pool.counted : instant.allocated);
      if (is_first) {
        pool.first_ns = instant.time_ns;
        if (instant.allocated != kUnknown) {
          pool.at_first = std::max<std::int64_t>(0, instant.allocated - change);
        }
        if (instant.reserved != kUnknown) pool.reserved_at_first = instant.reserved;
      }
      if (instant.address == 0 || instant.is_out_of_memory) continue;
      if (instant.bytes > 0) {
        pool.live.insert(instant.address);
      } else if (instant.bytes < 0 && pool.live.erase(instant.address) == 0) {
        pool.older.emplace_back(instant.address, -instant.bytes);
      }
    }
  }

  // The memory of two devices is not one: a rank has one device, of several the fullest.
  void keep_fullest_device() {
    const auto by_peak = [](const auto& a, const auto& b) {
      return std::pair(!a.second.on_host, a.second.peak) <
             std::pair(!b.second.on_host, b.second.peak);
    };
    const auto fullest = std::max_element(pools_.begin(), pools_.end(), by_peak);
    if (fullest == pools_.end() || fullest->second.on_host) return;
    const std::int32_t device = fullest->first.second;
    const auto is_left_out = [device](bool on_host, std::int32_t of) {
      return !on_host && of != device;
    };
    const std::size_t left_out = std::erase_if(order_, [&](std::uint32_t i) {
      const AllocatorInstant& instant = recording_.memory[i];
      return is_left_out(instant.on_host, instant.device);
    });
    if (left_out == 0) return;
    std::erase_if(
        pools_, [&](const auto& pool) { return is_left_out(pool.first.first, pool.first.second); });
    recording_.dropped["[memory] events of devices other than " + std::to_string(device) +
                       ", the fullest of the process"] += static_cast<std::int64_t>(left_out);
  }

  void begin(Pool& pool) {
    MemoryEvent event;
    event.time_ns = pool.first_ns;
    event.on_host = pool.on_host;
    event.step = step_at(places_.steps, event.time_ns);
    event.category = recording_.strings.intern(kBefore);
    if (pool.reserved_at_first > 0) {
      event.action = MemoryAction::segment_alloc;
      event.bytes = pool.reserved = pool.reserved_at_first;
      out_.push_back(event);
    }
    event.action = MemoryAction::alloc;
    for (const auto& [address, bytes] : pool.older) {
      if (bytes > pool.at_first - pool.allocated) continue;  // not in the total: never allocated
      event.address = address;
      event.bytes = event.requested = bytes;
      pool.allocated += bytes;
      older_.insert(address);
      out_.push_back(event);
    }
    if (pool.at_first > pool.allocated) {
      event.address = 0;
      event.bytes = event.requested = pool.at_first - pool.allocated;
      pool.allocated = pool.at_first;
      out_.push_back(event);
    }
    pool.live.clear();
    pool.last_ns = pool.first_ns;
  }

  void replay(std::uint32_t index) {
    const AllocatorInstant& instant = recording_.memory[index];
    const MomentContext& place = places_.moments[index];
    Pool& pool = pool_of(instant);
    MemoryEvent event;
    event.time_ns = instant.time_ns;
    event.on_host = instant.on_host;
    event.step = step_at(places_.steps, instant.time_ns);
    event.phase = place.phase;
    if (instant.reserved != kUnknown) follow_reserved(pool, instant.reserved, event);
    if (instant.is_out_of_memory) {
      event.action = MemoryAction::out_of_memory;
      event.address = instant.address;
      event.bytes = event.requested = std::max<std::int64_t>(0, instant.bytes);
      event.owner = owner_of(place);
      out_.push_back(event);
      return;
    }
    if (instant.allocated != kUnknown) {
      make_up(pool, instant.allocated - instant.bytes - pool.allocated, event);
    }
    event.address = instant.address;
    event.bytes = event.requested = std::max(instant.bytes, -instant.bytes);
    event.owner = owner_of(place);
    change(pool, instant.bytes, event);
    pool.last_ns = instant.time_ns;
  }

  void follow_reserved(Pool& pool, std::int64_t reserved, MemoryEvent event) {
    if (reserved == pool.reserved) return;
    const std::int64_t more = reserved - pool.reserved;
    event.action = more > 0 ? MemoryAction::segment_alloc : MemoryAction::segment_free;
    event.bytes = std::max(more, -more);
    pool.reserved = reserved;
    out_.push_back(event);
  }

  void make_up(Pool& pool, std::int64_t missing, MemoryEvent event) {
    if (missing == 0) return;
    ++recording_.dropped["missing [memory] events (lower bound)"];
    note_dropped(pool.last_ns, event.time_ns);
    event.category = recording_.strings.intern(kNotRecorded);
    event.bytes = event.requested = std::max(missing, -missing);
    change(pool, missing, event);
  }

  // Adjacent ranges are one.
  void note_dropped(std::int64_t start_ns, std::int64_t end_ns) {
    auto& ranges = recording_.dropped_ranges;
    if (ranges.empty() || ranges.back().end_ns < start_ns) {
      ranges.push_back({kNone, true, start_ns, end_ns, 0});
    }
    DroppedRange& last = ranges.back();
    last.start_ns = std::min(last.start_ns, start_ns);
    last.end_ns = std::max(last.end_ns, end_ns);
    ++last.records;
  }

  void change(Pool& pool, std::int64_t bytes, MemoryEvent event) {
    pool.allocated += bytes;
    if (bytes >= 0) {
      event.action = MemoryAction::alloc;
      out_.push_back(event);
      older_.erase(event.address);
      return;
    }
    if (event.address != 0 && older_.erase(event.address) > 0) {
      event.category = recording_.strings.intern(kBefore);
      event.owner = 0;
    }
    event.action = MemoryAction::free_requested;
    out_.push_back(event);
    event.action = MemoryAction::free_completed;
    out_.push_back(event);
  }

  // "layers.0: aten::mm", from the innermost operator that allocated.
  StringId owner_of(const MomentContext& place) {
    if (place.unit == 0) return place.inside;
    const auto [found, is_new] = owners_.try_emplace({place.unit, place.inside}, 0);
    if (is_new) {
      std::string text = recording_.strings[place.unit];
      if (place.inside != 0) text += ": " + recording_.strings[place.inside];
      found->second = recording_.strings.intern(text);
    }
    return found->second;
  }

  Collected& recording_;
  const Attribution& places_;
  std::vector<std::uint32_t> order_;
  std::map<std::pair<bool, std::int32_t>, Pool> pools_;
  std::unordered_set<std::int64_t> older_;  // addresses of blocks from before, as long as they live
  std::map<std::pair<StringId, StringId>, StringId> owners_;
  std::vector<MemoryEvent> out_;
};

}  // namespace

std::vector<MemoryEvent> memory_history(Collected& recording, const Attribution& places) {
  return History(recording, places).run();
}

}  // namespace foreshard::traces::kineto
