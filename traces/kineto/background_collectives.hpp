// Collectives that a backend runs on threads of its own, as gloo does: its ranges ("gloo:all_gather")
// do not name the call (c10d::_allgather_base_) that began them. They are related by what
// both have: what it is, how many elements, and the order. Where that leaves a choice, they are not.
#pragma once

#include <cstddef>
#include <cstdint>

#include "traces/kineto/collected.hpp"
#include "traces/kineto/json/raw_event.hpp"

namespace foreshard::traces::kineto {

// Of a call or a range: distinguishes sizes, 0 where it is neither or has none.
std::uint32_t collective_size_tag(const RawEvent& event);

// Gives ranges unit, phase and step of their calls. How many ranges could not be related.
std::int64_t relate_background_collectives(Collected& recording);

}  // namespace foreshard::traces::kineto
