// Why a rank's allocated memory is highest where it is: the request that gets it there, what is alive
// then, by what it is to the training step, and what the allocator reserves beyond that.
//
// Buffers count with their blocks, so that what is held adds up to what is allocated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/predict/held_memory.hpp"

namespace foreshard::simulator {

struct PoolMemory : StreamMemory {
  std::string stream;
};

struct PeakExplanation {
  std::int64_t step = 0;
  int micro_step = 0, micro_steps = 1;  // counted from 1; micro_step 0: outside of them
  std::string phase, unit;
  std::string operator_name;  // that the request is for; "": it is for several
  std::int64_t requested = 0, allocated = 0, reserved = 0;
  std::vector<HeldMemory> held;   // largest first
  std::size_t requester = 0;      // of `held`: what the request belongs to
  std::vector<PoolMemory> pools;  // most unused memory first

  std::int64_t unused() const;
};

// `memory`: of so many steps of the program, with the list of its peak.
PeakExplanation explain_peak(const RankProgram& program, const RankMemory& memory,
                             std::int64_t steps);

// One sentence: where, at what, and what is alive beside it.
std::string peak_sentence(const PeakExplanation& peak);

}  // namespace foreshard::simulator
