#include "gui/models/memory/memory_curve.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "profiler/analysis/memory.hpp"
#include "traces/memory_tally.hpp"

namespace foreshard::gui {
namespace {

using traces::MemoryAction;
using traces::MemoryEvent;
using traces::MemoryEventPointer;
using traces::MemoryEventSpan;
using traces::StringId;

constexpr std::size_t kBetweenLevels = 64;  // samples
constexpr std::uint8_t kNoLayer = UINT8_MAX;
constexpr std::size_t kMaxLayers = kNoLayer;  // further categories share the last one

// The layer of each category that a rank's events have, bottom to top.
class Layers {
 public:
  Layers(const traces::Trace& trace, MemoryEventSpan events) {
    std::vector<StringId> ids;
    for (const MemoryEvent& event : events) {
      if (event.action != MemoryAction::alloc && event.action != MemoryAction::free_requested)
        continue;
      if (layer_of_.try_emplace(event.category, kNoLayer).second) ids.push_back(event.category);
    }
    std::vector<std::pair<MemoryCategory, StringId>> found;
    for (const StringId id : ids) found.emplace_back(memory_category(trace.strings[id]), id);
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return is_below(a.first, b.first); });
    for (const auto& [category, id] : found) {
      if (categories_.size() < kMaxLayers) categories_.push_back(category);
      layer_of_[id] = static_cast<std::uint8_t>(categories_.size() - 1);
    }
  }

  std::uint8_t of(StringId category) const { return layer_of_.at(category); }
  const std::vector<MemoryCategory>& categories() const { return categories_; }

 private:
  std::map<StringId, std::uint8_t> layer_of_;
  std::vector<MemoryCategory> categories_;
};

// The first of ascending values from `from` on that is not below a limit: by strides that double, so
// that what lies near is found among what lies near.
template <typename Value>
std::size_t first_not_below(const std::vector<Value>& values, std::int64_t limit,
                            std::size_t from) {
  std::size_t stride = 1;
  while (from + stride < values.size() && values[from + stride] < limit) {
    from += stride;
    stride *= 2;
  }
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(from);
  const auto end =
      values.begin() + static_cast<std::ptrdiff_t>(std::min(from + stride, values.size()));
  return static_cast<std::size_t>(std::lower_bound(begin, end, limit) - values.begin());
}

}  // namespace

MemoryEventSpan memory_of_rank(const traces::Trace& trace, int rank) {
  const auto ranks = profiler::by_rank(trace);
  const auto found = ranks.find(rank);
  return found == ranks.end() ? MemoryEventSpan() : found->second;
}

MemoryCurve::MemoryCurve(const traces::Trace& trace, int rank) : rank_(rank) {
  const auto source = trace.metadata.find("source");
  is_snapshot_ = source != trace.metadata.end() &&
                 (source->second == "snapshot" || source->second == "event_list");
  const MemoryEventSpan events = memory_of_rank(trace, rank);
  const Layers layers(trace, events);
  layers_ = layers.categories();
  const std::vector<std::int64_t> device = device_times(trace, events), host = host_times(events);
  std::vector<std::int64_t> now(layers_.size());
  traces::MemoryTally tally;
  std::int64_t before = 0;  // allocated

  const auto add_sample = [&](std::size_t event, std::uint8_t layer, std::int64_t allocated) {
    const std::size_t sample = allocated_.size();
    if (layer != kNoLayer) now[layer] += allocated - before;
    before = allocated;
    allocated_.push_back(allocated);
    changed_.push_back(layer);
    events_.push_back(static_cast<std::uint32_t>(event));
    host_times_.push_back(host[event]);
    if (!device.empty()) device_times_.push_back(device[event]);
    if (sample % kBetweenLevels == 0) levels_.insert(levels_.end(), now.begin(), now.end());
    const std::int64_t reserved = tally.levels().reserved;
    if (reserved_.empty() || reserved_.back() != reserved) {
      reserved_.push_back(reserved);
      reserved_from_.push_back(static_cast<std::uint32_t>(sample));
    }
  };

  for (std::size_t n = 0; n < events.size(); ++n) {
    const MemoryEventPointer at = events.pointer_to(n);
    const MemoryEvent event = *at;
    if (event.on_host || event.action == MemoryAction::free_completed) continue;
    const bool is_alloc = event.action == MemoryAction::alloc;
    if (!is_alloc && event.action != MemoryAction::free_requested) {
      tally.apply(at);
      if (event.action == MemoryAction::out_of_memory && !failure_) failure_ = allocated_.size();
      add_sample(n, kNoLayer, tally.levels().allocated);
      continue;
    }
    // What was at the address goes first: by a free, or in damaged recordings by the next
    // allocation.
    const auto& blocks = tally.device_blocks();
    const auto block = event.address == 0 ? blocks.end() : blocks.find(event.address);
    const MemoryEventPointer gone = block == blocks.end() ? nullptr : block->second;
    if (is_alloc && gone != nullptr) {
      add_sample(n, layers.of(gone->category), tally.levels().allocated - gone->bytes);
    }
    tally.apply(at);
    const StringId category = !is_alloc && gone != nullptr ? gone->category : event.category;
    add_sample(n, layers.of(category), tally.levels().allocated);
  }

  highest_allocated_ = HighestOf(allocated_);
  highest_reserved_ = HighestOf(reserved_);
  if (size() == 0) return;
  peak_ = highest_allocated_.find(allocated_, 0, size());
  peak_reserved_ = *std::max_element(reserved_.begin(), reserved_.end());
}

std::int64_t MemoryCurve::reserved(std::size_t sample) const {
  return most_reserved(sample, sample + 1);
}

// In force at any of these samples.
std::int64_t MemoryCurve::most_reserved(std::size_t first, std::size_t last) const {
  const auto from = [&](std::size_t sample) {
    return static_cast<std::size_t>(
        std::upper_bound(reserved_from_.begin(), reserved_from_.end(), sample) -
        reserved_from_.begin());
  };
  return reserved_[highest_reserved_.find(reserved_, from(first) - 1, from(last - 1))];
}

// Adds to the levels after sample `first` what the samples up to `last` changed.
void MemoryCurve::add_levels(std::size_t first, std::size_t last,
                             std::span<std::int64_t> levels) const {
  for (std::size_t n = first + 1; n <= last; ++n) {
    if (changed_[n] != kNoLayer) levels[changed_[n]] += allocated_[n] - allocated_[n - 1];
  }
}

std::vector<std::int64_t> MemoryCurve::bytes_by_layer(std::size_t sample) const {
  const std::size_t known = sample / kBetweenLevels;
  const auto begin = levels_.begin() + static_cast<std::ptrdiff_t>(known * layers_.size());
  std::vector<std::int64_t> levels(begin, begin + static_cast<std::ptrdiff_t>(layers_.size()));
  add_levels(known * kBetweenLevels, sample, levels);
  return levels;
}

bool MemoryCurve::has(MemoryClock clock) const {
  switch (clock) {
    case MemoryClock::device_time: return !device_times_.empty();
    case MemoryClock::host_time: return size() > 0 && host_times_.back() > host_times_.front();
    case MemoryClock::event_order: break;
  }
  return true;
}

MemoryClock MemoryCurve::best_clock() const {
  if (is_snapshot_) return MemoryClock::event_order;
  if (has(MemoryClock::device_time)) return MemoryClock::device_time;
  return has(MemoryClock::host_time) ? MemoryClock::host_time : MemoryClock::event_order;
}

std::int64_t MemoryCurve::position(MemoryClock clock, std::size_t sample) const {
  switch (clock) {
    case MemoryClock::device_time: return device_times_[sample];
    case MemoryClock::host_time: return host_times_[sample];
    case MemoryClock::event_order: break;
  }
  return static_cast<std::int64_t>(events_[sample]) * kEventSpacingNs;
}

traces::Interval MemoryCurve::bounds(MemoryClock clock) const {
  if (size() == 0) return {};
  const std::int64_t length = clock == MemoryClock::event_order ? kEventSpacingNs : 0;
  return {position(clock, 0), position(clock, size() - 1) + length};
}

std::size_t MemoryCurve::first_at(MemoryClock clock, std::int64_t position,
                                  std::size_t from) const {
  if (clock == MemoryClock::event_order) {
    const std::int64_t event =
        (std::max<std::int64_t>(position, 0) + kEventSpacingNs - 1) / kEventSpacingNs;
    return first_not_below(events_, event, from);
  }
  const auto& times = clock == MemoryClock::device_time ? device_times_ : host_times_;
  return first_not_below(times, position, from);
}

std::optional<std::size_t> MemoryCurve::sample_at(MemoryClock clock, std::int64_t position) const {
  const std::size_t next = first_at(clock, position + 1);
  return next == 0 ? std::nullopt : std::optional(next - 1);
}

MemoryColumns MemoryCurve::columns(MemoryClock clock, std::span<const std::int64_t> edges) const {
  MemoryColumns columns;
  columns.layers = layers_.size();
  if (edges.size() < 2) return columns;
  const std::size_t count = edges.size() - 1;
  columns.samples.assign(count, MemoryColumns::kNothing);
  columns.tops.assign(count * columns.layers, 0);
  columns.reserved.assign(count, 0);
  if (size() == 0 || (clock == MemoryClock::device_time && device_times_.empty())) return columns;

  std::vector<std::int64_t> levels;  // after `known`
  std::size_t known = MemoryColumns::kNothing;
  std::size_t first = first_at(clock, edges[0]);
  for (std::size_t n = 0; n < count; ++n) {
    std::size_t last = first;  // the end of those within the column
    if (first < size() && position(clock, first) < edges[n + 1])
      last = first_at(clock, edges[n + 1], first);
    // What held before lasts into the column unless it changes at its very edge.
    const bool starts_new = first < last && position(clock, first) == edges[n];
    const std::size_t from = starts_new || first == 0 ? first : first - 1;
    first = last;
    if (from == last) continue;
    const std::size_t sample = highest_allocated_.find(allocated_, from, last);
    if (sample < known || sample - known > kBetweenLevels) {
      levels = bytes_by_layer(sample);
    } else {
      add_levels(known, sample, levels);
    }
    known = sample;
    columns.samples[n] = static_cast<std::uint32_t>(sample);
    columns.reserved[n] = most_reserved(from, last);
    std::int64_t top = 0;
    for (std::size_t layer = 0; layer < columns.layers; ++layer) {
      top += std::max<std::int64_t>(levels[layer], 0);
      columns.tops[n * columns.layers + layer] = top;
    }
  }
  return columns;
}

}  // namespace foreshard::gui
