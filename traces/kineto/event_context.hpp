// Assigns context to events: nesting on the host's threads, launches and the work they launched,
// steps, FSDP units and phases, cost keys.
//
// A host event has the unit and phase of the innermost range around it that has any; outside of
// FSDP's ranges, those of the unit whose own work it is (annotations.hpp). An event of the device has
// those of the call that launched it or, without one, of the operator it names. Cost keys go from
// operators to their kernels (kernel_costs.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "traces/kineto/collected.hpp"

namespace foreshard::traces::kineto {

// Where an instant of the allocator belongs.
struct EventContext {
  StringId unit = 0, phase = 0;
  StringId inside = 0;  // name of the innermost host event around it
};

struct EventContexts {
  std::vector<Step> steps;           // by start; rank is not set
  std::vector<EventContext> memory;  // of each instant
  std::int64_t cost_keys_mapped = 0;
  std::int64_t cost_keys_unmapped = 0;     // device work, and operators that models/ has by name
  std::int64_t unrelated_collectives = 0;  // see background_collectives.hpp
};

// Sorts the events of each lane, and sets step, unit, phase and the missing cost keys and bytes.
EventContexts attribute(Collected& recording);

}  // namespace foreshard::traces::kineto
