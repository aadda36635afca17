#include "traces/trace.hpp"

#include <algorithm>
#include <tuple>

#include "traces/metadata.hpp"

namespace foreshard::traces {

StringId Strings::intern(std::string_view text) {
  const auto [found, is_new] = index_.try_emplace(std::string(text), StringId(table_.size()));
  if (is_new) table_.emplace_back(text);
  return found->second;
}

void sort(Trace& trace) {
  // Longer first among equal starts: an enclosing range stands before what it encloses.
  const auto event_order = [](const Event& a, const Event& b) {
    return std::tuple(a.lane, a.start_ns, -a.end_ns) < std::tuple(b.lane, b.start_ns, -b.end_ns);
  };
  const auto memory_order = [](const MemoryEvent& a, const MemoryEvent& b) {
    return std::tie(a.rank, a.time_ns) < std::tie(b.rank, b.time_ns);
  };
  const auto step_order = [](const Step& a, const Step& b) {
    return std::tie(a.rank, a.step) < std::tie(b.rank, b.step);
  };
  trace.events.stable_sort(event_order);
  trace.memory.stable_sort(memory_order);
  std::stable_sort(trace.steps.begin(), trace.steps.end(), step_order);
  std::stable_sort(
      trace.dropped_ranges.begin(), trace.dropped_ranges.end(),
      [](const DroppedRange& a, const DroppedRange& b) { return a.start_ns < b.start_ns; });
  std::ranges::stable_sort(trace.counters, {}, &Counter::rank);
  for (Counter& counter : trace.counters) sort(counter);
}

namespace {

// What to add to a part's times so that they count from the whole's origin.
std::int64_t clock_offset(const Trace& whole, const Trace& part) {
  const auto id = whole.metadata.find("clock_id"), other = part.metadata.find("clock_id");
  if (id == whole.metadata.end() || other == part.metadata.end() || id->second.empty() ||
      id->second != other->second) {
    return 0;
  }
  const std::int64_t origin = integer(whole.metadata, "clock_origin_ns", 0);
  return integer(part.metadata, "clock_origin_ns", origin) - origin;
}

}  // namespace

Trace merge(std::vector<Trace> parts) {
  if (parts.empty()) return {};
  std::size_t events = 0, memory = 0;
  for (const Trace& part : parts) {
    events += part.events.size();
    memory += part.memory.size();
  }
  Trace whole = std::move(parts.front());
  whole.events.reserve(events);
  whole.memory.reserve(memory);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    Trace part = std::move(parts[i]);  // so that it goes as soon as it is taken over
    std::vector<StringId> text(part.strings.size());
    for (std::size_t id = 0; id < text.size(); ++id) {
      text[id] = whole.strings.intern(part.strings[static_cast<StringId>(id)]);
    }
    const auto renumber = [&](StringId& id) { id = text[static_cast<std::size_t>(id)]; };
    const std::int64_t later = clock_offset(whole, part);
    const auto first_lane = static_cast<std::int32_t>(whole.lanes.size());
    for (Lane lane : part.lanes) {
      renumber(lane.name);
      whole.lanes.push_back(lane);
    }
    for (Event event : part.events) {
      event.lane += first_lane;
      event.start_ns += later;
      event.end_ns += later;
      for (StringId* id : {&event.name, &event.phase, &event.unit, &event.stable_key,
                           &event.cost_key, &event.group}) {
        renumber(*id);
      }
      whole.events.push_back(event);
    }
    for (MemoryEvent event : part.memory) {
      if (event.lane != kNone) event.lane += first_lane;
      event.time_ns += later;
      for (StringId* id : {&event.category, &event.owner, &event.phase, &event.stack})
        renumber(*id);
      whole.memory.push_back(event);
    }
    for (Step step : part.steps) {
      step.start_ns += later;
      step.end_ns += later;
      renumber(step.label);
      whole.steps.push_back(step);
    }
    for (DroppedRange range : part.dropped_ranges) {
      range.start_ns += later;
      range.end_ns += later;
      whole.dropped_ranges.push_back(range);
    }
    for (Counter& counter : part.counters) {
      renumber(counter.name);
      renumber(counter.unit);
      for (CounterSample& sample : counter.samples) sample.time_ns += later;
      whole.counters.push_back(std::move(counter));
    }
    for (const auto& [key, value] : part.metadata) {
      if (key.starts_with(kGpuMemoryKey)) whole.metadata.try_emplace(key, value);
    }
    for (const auto& [reason, records] : part.dropped) whole.dropped[reason] += records;
    whole.complete = whole.complete && part.complete;
    whole.complete_until_ns = std::min(whole.complete_until_ns, part.complete_until_ns + later);
  }
  sort(whole);
  return whole;
}

}  // namespace foreshard::traces
