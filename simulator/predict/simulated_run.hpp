// A run as it was simulated: the programs of its ranks with their costs and memory, and when each task ran.
// A prediction is derived from it, and so are traces, listings of memory and the viewer's timeline. A run
// that is no longer wanted lends its memory to the next one.
#pragma once

#include <optional>
#include <vector>

#include "models/allocator/allocator_rules.hpp"
#include "models/program/step_program.hpp"
#include "simulator/costs/cost_model.hpp"
#include "simulator/engine/engine.hpp"
#include "simulator/predict/memory.hpp"

namespace foreshard::simulator {

// One class of ranks: equal programs, and so equal memory.
struct RankClass {
  RankProgram program;
  ProgramCosts costs;
  std::vector<IssueTimes> issue;  // empty: by kind of instruction, as the engine's options have it
  RankMemory memory;
};

// Programs and timelines write equal micro-steps down once, unless memory records were wanted or tasks
// slow each other down: `unrolled` gives them all.
struct SimulatedRun {
  std::vector<RankClass> classes;
  std::vector<int> class_of_rank;  // index into `classes`
  AllocatorRules allocator;
  bool has_memory = true;                // false: it was not walked
  MemoryOptions walk;                    // how memory was walked; without a stop
  std::optional<MemoryFailure> failure;  // of the class that runs out of memory first
  std::vector<int> simulated_ranks;      // the ranks that have a timeline
  std::vector<RankPlace> places;         // of those
  EngineOptions engine;                  // how they were simulated
  std::optional<bool> begins_idle;       // the last step, where that was of use (idle_steps.hpp)
  // Of the simulated ranks; empty without time. Of the last step and what follows where that begins with
  // an idle device and records are not kept.
  std::vector<RankTimeline> timelines;
};

// The programs of a run that is no longer wanted.
std::vector<RankProgram> take_programs(SimulatedRun& run);

// The ranks as the engine saw them, for a TaskGraph.
std::vector<SimulatedRank> simulated_ranks(const SimulatedRun& run);

}  // namespace foreshard::simulator
