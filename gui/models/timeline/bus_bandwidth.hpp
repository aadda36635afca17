// Bus bandwidth of collectives, as nccl-tests define it: what each rank's link carries in a second. It
// is comparable between collectives and between sizes of groups, and with what the link can do.
#pragma once

#include <cstdint>
#include <optional>

#include "traces/trace.hpp"

namespace foreshard::gui {

// Bytes that a collective moves over each rank's link; nothing where its cost key does not tell among
// how many ranks it is.
std::optional<double> bus_bytes(const traces::Trace& trace, const traces::Event& event);

// What the rank's link carries at best, by the hardware catalogue; nothing where the device is not
// known, or where the run is on several nodes: a group may then reach over the network.
std::optional<double> peak_bus_bandwidth(const traces::Trace& trace, int rank);

}  // namespace foreshard::gui
