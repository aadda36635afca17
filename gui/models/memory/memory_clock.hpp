// Three clocks that memory can be drawn against. The host runs far ahead of the device: all of a
// step's allocations may happen in its first milliseconds. In the device's time each stands where
// the first kernel of the same or a later instruction starts on the compute stream, so that memory
// lies below the work that it is for. The order of events stays, and so do all heights, and the
// peak.
#pragma once

#include <QString>
#include <cstdint>

#include "gui/models/memory/held_values.hpp"
#include "traces/trace.hpp"

namespace foreshard::gui {

enum class MemoryClock : std::uint8_t {
  device_time,
  host_time,    // when the allocator was asked
  event_order,  // one place for each event, as snapshots have no useful time
};
constexpr int kMemoryClocks = 3;

QString name_of(MemoryClock clock);  // "Device time"

// How far events in their order lie apart on a TimeAxis.
constexpr std::int64_t kEventSpacingNs = 1000;

// Moments of the events of one rank on the device, in their order and never decreasing; none where
// the events have no instructions or the rank has no kernels.
HeldValues device_times(const traces::Trace& trace, traces::MemoryEventSpan events);

}  // namespace foreshard::gui
