// Traces drawn at random: ranks with a host thread whose calls nest, a compute stream and one of
// collectives, some of whose events overlap; bursts and gaps, events without length, several steps.
#pragma once

#include <cstdint>
#include <memory>

#include "traces/trace.hpp"

namespace foreshard::gui::tests {

std::shared_ptr<const traces::Trace> random_events(int ranks, int events_per_lane,
                                                   std::uint32_t seed);

}  // namespace foreshard::gui::tests
