// A small allocator's life, drawn at random: segments of two streams, blocks of several categories
// in them, requests and completions of frees, an address used again, and the kernels that use the
// blocks.
#pragma once

#include <cstdint>

#include "traces/trace.hpp"

namespace foreshard::gui::tests {

traces::Trace random_memory(int events, std::uint32_t seed);

}  // namespace foreshard::gui::tests
