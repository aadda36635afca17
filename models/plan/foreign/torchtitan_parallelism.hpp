// How a torchtitan configuration spreads a model over ranks: degrees of parallelism, units, and what
// happens to them after forward. Only for the sources of this folder.
#pragma once

#include <cstdint>
#include <optional>

#include "models/plan/foreign/conversion.hpp"

namespace foreshard::foreign {

// How many ranks take different sequences, where the file specifies it.
std::optional<std::int64_t> read_torchtitan_parallelism(Conversion& c);

// Whether it is an object of the Python registry, since February 2026.
bool is_of_registry(const Conversion& c);

}  // namespace foreshard::foreign
