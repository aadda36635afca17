// The machine of the hardware catalogue that a trace is of, whose data sheet says what its devices
// can do at best.
#pragma once

#include <cstdint>
#include <optional>

#include "models/hardware/hardware.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {

// The device that the trace names for the rank, else the machine that it was predicted for; nothing
// where the catalogue has neither.
std::optional<Machine> recorded_machine(const Trace& trace, std::int32_t rank);

}  // namespace foreshard::traces
