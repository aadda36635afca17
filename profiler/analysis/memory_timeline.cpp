#include "profiler/analysis/memory_timeline.hpp"

#include <algorithm>
#include <limits>

namespace foreshard::profiler {
namespace {

using traces::MemoryLevels;

void raise(MemoryLevels& highest, const MemoryLevels& levels) {
  highest.allocated = std::max(highest.allocated, levels.allocated);
  highest.reserved = std::max(highest.reserved, levels.reserved);
  highest.host = std::max(highest.host, levels.host);
  highest.outside = std::max(highest.outside, levels.outside);
}

void lower(MemoryLevels& lowest, const MemoryLevels& levels) {
  lowest.allocated = std::min(lowest.allocated, levels.allocated);
  lowest.reserved = std::min(lowest.reserved, levels.reserved);
  lowest.host = std::min(lowest.host, levels.host);
  lowest.outside = std::min(lowest.outside, levels.outside);
}

constexpr MemoryLevels all(std::int64_t bytes) {
  return {bytes, bytes, bytes, bytes};
}

// Times of damaged recordings may differ by more than a signed integer can hold.
std::uint64_t distance(std::int64_t from, std::int64_t to) {
  return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}

}  // namespace

traces::Interval memory_span(const traces::Trace& trace) {
  if (trace.memory.empty()) return {};
  const auto [first, last] =
      std::minmax_element(trace.memory.begin(), trace.memory.end(),
                          [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  std::int64_t end_ns = last->time_ns;
  for (const traces::Event& event : trace.events) end_ns = std::max(end_ns, event.end_ns);
  return {first->time_ns, end_ns};
}

MemoryTimelineBuilder::MemoryTimelineBuilder(const traces::Interval& span)
    : since_ns_(span.start_ns) {
  constexpr auto kMax = static_cast<std::uint64_t>(kTimelineBuckets);
  constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  const std::uint64_t length = distance(span.start_ns, span.end_ns);
  const std::uint64_t width = length / kMax + 1;
  timeline_.start_ns = span.start_ns;
  timeline_.bucket_ns = static_cast<std::int64_t>(width);
  timeline_.buckets.resize(static_cast<std::size_t>(length / width) + 1,
                           {all(-kHighest), all(kHighest)});
}

void MemoryTimelineBuilder::add(std::int64_t time_ns, const MemoryLevels& levels) {
  const std::uint64_t index = distance(timeline_.start_ns, std::max(time_ns, since_ns_)) /
                              static_cast<std::uint64_t>(timeline_.bucket_ns);
  if (time_ns > since_ns_) {
    hold_until(std::min(static_cast<std::size_t>(index), timeline_.buckets.size() - 1));
    since_ns_ = time_ns;
  }
  now_ = levels;
  raise(timeline_.buckets[bucket_].highest, now_);
}

MemoryTimeline MemoryTimelineBuilder::build() {
  hold_until(timeline_.buckets.size() - 1);
  return std::move(timeline_);
}

void MemoryTimelineBuilder::hold_until(std::size_t bucket) {
  for (;; ++bucket_) {
    raise(timeline_.buckets[bucket_].highest, now_);
    lower(timeline_.buckets[bucket_].lowest, now_);
    if (bucket_ >= bucket) return;
  }
}

}  // namespace foreshard::profiler
