// The events of a trace and those of its allocators, some 20 and 24 bytes each: large traces have tens
// of millions, of some ten thousand different facts.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "traces/compact_list.hpp"
#include "traces/event.hpp"

namespace foreshard::traces {

struct EventLayout {
  using Value = Event;
  // Of parts of four bytes, as a whole of eight would take room to be aligned.
  struct Row {
    std::array<std::uint32_t, 2> start_ns;
    std::uint32_t length_ns;
    std::int32_t step;
    std::uint32_t facts;
  };
  // Of events that last longer than four seconds, or end before they start: their end is a fact.
  static constexpr std::uint32_t kOtherLength = UINT32_MAX;
  struct Hash {
    std::size_t operator()(const Event& facts) const;
  };
  static constexpr std::array kRare{&Event::cpu_ns, &Event::correlation, &Event::sequence};

  static Row take(Event& event) {
    const auto start = static_cast<std::uint64_t>(event.start_ns);
    const std::uint64_t length = static_cast<std::uint64_t>(event.end_ns) - start;
    Row row{std::bit_cast<std::array<std::uint32_t, 2>>(start), kOtherLength, event.step, 0};
    if (length < kOtherLength) {
      row.length_ns = static_cast<std::uint32_t>(length);
      event.end_ns = 0;
    }
    event.start_ns = event.step = 0;
    return row;
  }
  static void put(const Row& row, Event& event) {
    event.start_ns = std::bit_cast<std::int64_t>(row.start_ns);
    if (row.length_ns != kOtherLength) event.end_ns = event.start_ns + row.length_ns;
    event.step = row.step;
  }
};

struct MemoryEventLayout {
  using Value = MemoryEvent;
  struct Row {
    std::int64_t time_ns, address;
    std::int32_t step;
    std::uint32_t facts;
  };
  struct Hash {
    std::size_t operator()(const MemoryEvent& facts) const;
  };
  static constexpr std::array<std::int64_t MemoryEvent::*, 0> kRare{};

  static Row take(MemoryEvent& event) {
    const Row row{event.time_ns, event.address, event.step, 0};
    event.time_ns = event.address = event.step = 0;
    return row;
  }
  static void put(const Row& row, MemoryEvent& event) {
    event.time_ns = row.time_ns;
    event.address = row.address;
    event.step = row.step;
  }
};

using EventList = CompactList<EventLayout>;
using EventPointer = EventList::Iterator;

using MemoryEventList = CompactList<MemoryEventLayout>;
using MemoryEventPointer = MemoryEventList::Iterator;
using MemoryEventSpan = MemoryEventList::Span;

}  // namespace foreshard::traces
