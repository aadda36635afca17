// Cost keys of copies, fills and collectives, which carry their own size.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "models/program/operators.hpp"
#include "traces/kineto/json/raw_event.hpp"

namespace foreshard::traces::kineto {

// A copy or a fill, by the name of the device's event.
std::optional<CostKey> copy_key(std::string_view name, std::int64_t bytes);

// By "Collective name", element type, elements and group.
std::optional<CostKey> collective_key(const RawEvent& event);

// Bytes of the larger side of a collective, 0 where unknown.
std::int64_t collective_bytes(const RawEvent& event);

}  // namespace foreshard::traces::kineto
