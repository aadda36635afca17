// The values parameters start from when no weights are given: distributed as Hugging Face draws
// them (normal with deviation `initializer_range` for embeddings and projections, ones for norms,
// zeros for biases).
//
// Every element is a function of (seed, parameter, position) alone, through a counter-based
// generator: whichever rank draws it, in whatever order, on whatever CPU, it is the same bit
// pattern. So runs on different numbers of ranks start from the same model.
#pragma once

#include <array>
#include <cstdint>

#include "models/llama/module_tree.hpp"

namespace foreshard::executor {

// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011).
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

enum class Distribution : std::uint8_t { zeros, ones, normal };

Distribution initial_distribution(const ModuleTree& tree, ParameterId parameter);

// Elements [first, first + count) of stream `stream` of standard-normal numbers times `deviation`.
// Four consecutive elements share one Philox block; Box-Muller in double, then one rounding.
void fill_normal(std::uint64_t seed, std::uint32_t stream, double deviation, std::int64_t first,
                 std::int64_t count, float* out);

struct InitialWeights {
  std::uint64_t seed = 0;
  double initializer_range = 0.02;

  // Elements [first, first + count) of the whole parameter, row by row.
  void fill(const ModuleTree& tree, ParameterId parameter, std::int64_t first, std::int64_t count,
            float* out) const;
};

}  // namespace foreshard::executor
