// The one pass that gives the events of an imported recording their meaning: steps, FSDP units and
// phases, the launches of the device's work, and cost keys.
//
// A host event has the unit and phase of the innermost range around it that has any; outside of
// FSDP's ranges, those of the unit whose own work it is (annotations.hpp). Where no range names a unit,
// units are the model's blocks (module_units.hpp), and backward work has those of the operators that it
// is the backward of. What still has no phase, as
// on autograd's threads, has the one in which another thread of its rank is. An event of the device
// has those of the call that launched it or, without one, of the operator it names. Work is
// communication where its kernel (communication.hpp), the recording or the operator that launched it says so.
// An operator's cost key is that of all kernels that it launched: only their sum is its cost. None has
// it where one of them is missing from the recording, or may be.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traces/meaning/imported_events.hpp"

namespace foreshard::traces {

// A moment of a host thread, such as one of the allocator's.
struct Moment {
  std::int64_t time_ns = 0;
  std::int32_t lane = 0;
};

struct MomentContext {
  StringId unit = 0, phase = 0;
  StringId inside = 0;  // name of the innermost host event around it
};

struct Attribution {
  std::vector<Step> steps;             // by rank, then by start
  std::vector<MomentContext> moments;  // of each moment
};

// Sets step, unit, phase and the missing cost keys and bytes. The events of each lane are sorted.
Attribution attribute(ImportedEvents& imported, std::span<const Moment> moments = {});

// The same for a sorted trace, which then has its steps.
void attribute(Trace& trace);

}  // namespace foreshard::traces
