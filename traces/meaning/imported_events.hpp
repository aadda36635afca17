// The events of a recording by their threads and streams, before it is known which of them belong
// together: what importers give to attribute() (attribution.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "traces/trace.hpp"

namespace foreshard::traces {

// What is needed of an event to attribute it, beside the event.
struct EventLinks {
  std::int64_t external_id = 0;  // the operator's number, or that of the operator it belongs to
  StringId cost_key_in_backward = 0;  // where autograd launched it; 0: as elsewhere
  std::uint32_t forward = 0;          // 1 + index of the operator whose backward it is; 0: none
  std::uint32_t collective_size = 0;  // see kineto/background_collectives.hpp
  bool communicates = false;          // of calls and operators: the kernels that they launch do
};

struct ImportedEvents {
  Strings strings;
  std::vector<Lane> lanes;
  std::vector<Event> events;            // in the order of the lanes
  std::vector<EventLinks> links;        // of each event
  std::vector<std::size_t> lane_begin;  // first event of each lane, and one more
};

// By start; of equal starts the longer first: what encloses stands before what it encloses.
void sort_lanes(ImportedEvents& imported);

// The events, lanes and strings of a trace, which has none until they are put back. `trace` is sorted.
ImportedEvents take_events(Trace& trace);
void put_events(Trace& trace, ImportedEvents imported);

}  // namespace foreshard::traces
