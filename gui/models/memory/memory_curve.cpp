#include "gui/models/memory/memory_curve.hpp"

#include <algorithm>
#include <map>

#include "profiler/analysis/memory.hpp"
#include "traces/memory_tally.hpp"

namespace foreshard::gui {
namespace {

using traces::MemoryAction;
using traces::MemoryEvent;
using traces::MemoryEventPointer;
using traces::MemoryEventSpan;
using traces::StringId;

constexpr std::uint8_t kNoLayer = LevelHistory::kNoLayer;
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

// Adds what each event changes to the history of levels.
class LevelWriter {
 public:
  LevelWriter(const Layers& layers, LevelHistory& history) : layers_(layers), history_(history) {}

  void add(MemoryEventPointer at) {
    const MemoryEvent event = *at;
    const bool is_alloc = event.action == MemoryAction::alloc;
    LevelHistory::Change change;
    if (event.on_host || (!is_alloc && event.action != MemoryAction::free_requested)) {
      tally_.apply(at);
      return history_.add(change);
    }
    // What was at the address goes first: by a free, or in damaged recordings by the next
    // allocation.
    const auto& blocks = tally_.device_blocks();
    const auto block = event.address == 0 ? blocks.end() : blocks.find(event.address);
    const MemoryEventPointer gone = block == blocks.end() ? nullptr : block->second;
    if (is_alloc && gone != nullptr) change[1] = {layers_.of(gone->category), -gone->bytes};
    const StringId category = !is_alloc && gone != nullptr ? gone->category : event.category;
    const std::int64_t before = tally_.levels().allocated;
    tally_.apply(at);
    const std::int64_t by = tally_.levels().allocated - before;
    change[0] = {layers_.of(category), by - change[1].bytes};
    history_.add(change);
  }
  std::int64_t reserved() const { return tally_.levels().reserved; }

 private:
  const Layers& layers_;
  LevelHistory& history_;
  traces::MemoryTally tally_;
};

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
  const bool is_of_device = std::any_of(events.begin(), events.end(), [](const MemoryEvent& event) {
    return !event.on_host && event.action != MemoryAction::free_completed;
  });
  if (!is_of_device) return;
  levels_ = LevelHistory(layers_.size(), events.size());
  LevelWriter writer(layers, levels_);
  for (std::size_t n = 0; n < events.size(); ++n) {
    const MemoryEventPointer at = events.pointer_to(n);
    writer.add(at);
    reserved_.push_back(writer.reserved());
    const bool fails = at->action == MemoryAction::out_of_memory && !at->on_host;
    if (fails && !failure_) failure_ = n;
  }
  levels_.finish();
  reserved_.finish();
  device_times_ = device_times(trace, events);
  host_times_ = HostTimes(events);
  peak_ = levels_.highest(0, size());
  peak_reserved_ = reserved_.highest(0, size());
}

bool MemoryCurve::has(MemoryClock clock) const {
  switch (clock) {
    case MemoryClock::device_time: return device_times_.size() > 0;
    case MemoryClock::host_time: return size() > 0 && host_times_[size() - 1] > host_times_[0];
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
  return static_cast<std::int64_t>(sample) * kEventSpacingNs;
}

traces::Interval MemoryCurve::bounds(MemoryClock clock) const {
  if (size() == 0) return {};
  const std::int64_t length = clock == MemoryClock::event_order ? kEventSpacingNs : 0;
  return {position(clock, 0), position(clock, size() - 1) + length};
}

std::size_t MemoryCurve::first_at(MemoryClock clock, std::int64_t position,
                                  std::size_t from) const {
  switch (clock) {
    case MemoryClock::device_time: return device_times_.first_not_below(position, from);
    case MemoryClock::host_time: return host_times_.first_not_below(position, from);
    case MemoryClock::event_order: break;
  }
  const std::int64_t event =
      (std::max<std::int64_t>(position, 0) + kEventSpacingNs - 1) / kEventSpacingNs;
  return std::clamp(static_cast<std::size_t>(event), from, size());
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
  if (size() == 0 || (clock == MemoryClock::device_time && !has(clock))) return columns;

  std::vector<std::int64_t> levels;  // after `known`
  std::size_t known = MemoryColumns::kNothing;
  std::size_t first = first_at(clock, edges[0]);
  for (std::size_t n = 0; n < count; ++n) {
    const std::size_t last = first_at(clock, edges[n + 1], first);  // the end of those within it
    // What held before lasts into the column unless it changes at its very edge.
    const bool starts_new = first < last && position(clock, first) == edges[n];
    const std::size_t from = starts_new || first == 0 ? first : first - 1;
    first = last;
    if (from == last) continue;
    const std::size_t sample = levels_.highest(from, last);
    if (sample < known || sample - known > LevelHistory::kBetweenCheckPoints) {
      levels = bytes_by_layer(sample);
    } else {
      levels_.advance(known, sample, levels);
    }
    known = sample;
    columns.samples[n] = static_cast<std::uint32_t>(sample);
    columns.reserved[n] = reserved_.highest(from, last);
    std::int64_t top = 0;
    for (std::size_t layer = 0; layer < columns.layers; ++layer) {
      top += std::max<std::int64_t>(levels[layer], 0);
      columns.tops[n * columns.layers + layer] = top;
    }
  }
  return columns;
}

}  // namespace foreshard::gui
