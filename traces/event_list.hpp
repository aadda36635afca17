// The events of a trace and those of its allocators, some 24 bytes each: large traces have tens of
// millions, of some ten thousand different facts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "traces/compact_list.hpp"
#include "traces/event.hpp"

namespace foreshard::traces {

struct EventLayout {
  using Value = Event;
  struct Row {
    std::int64_t start_ns, end_ns;
    std::int32_t step;
    std::uint32_t facts;
  };
  struct Hash {
    std::size_t operator()(const Event& facts) const;
  };
  static constexpr std::array kRare{&Event::cpu_ns, &Event::correlation};

  static Row take(Event& event) {
    const Row row{event.start_ns, event.end_ns, event.step, 0};
    event.start_ns = event.end_ns = event.step = 0;
    return row;
  }
  static void put(const Row& row, Event& event) {
    event.start_ns = row.start_ns;
    event.end_ns = row.end_ns;
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
