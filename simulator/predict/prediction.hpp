// The prediction: what is derived from a job that was put through the allocator and the engine.
//
// Memory first, one walk per class of ranks, without any notion of time; then time, with what the
// allocator cost the host. Both simulate the set-up and steps 1 to `steps`, as `train` runs them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/hardware/hardware.hpp"
#include "models/program/oom_report.hpp"
#include "models/program/step_program.hpp"
#include "models/sharding/job.hpp"
#include "simulator/costs/cost_model.hpp"
#include "simulator/costs/cost_table.hpp"
#include "simulator/costs/outside_memory.hpp"
#include "simulator/engine/critical_path.hpp"
#include "simulator/engine/engine.hpp"
#include "simulator/predict/checkpoint.hpp"
#include "simulator/predict/memory.hpp"
#include "simulator/predict/peak_explanation.hpp"
#include "simulator/predict/program_set.hpp"
#include "simulator/predict/simulated_run.hpp"
#include "simulator/predict/step_band.hpp"
#include "simulator/predict/time_basis.hpp"
#include "traces/trace.hpp"

namespace foreshard::simulator {

// Costs come from `costs` and, what those lack, from `machine`; from `machine` alone; or, with
// neither, they are those of the job's machine where it describes PyTorch, whose memory is no limit
// then, and otherwise this machine is guessed.
struct PredictionOptions {
  std::int64_t steps = 2;
  const CostTable* costs = nullptr;
  const Machine* machine = nullptr;
  std::optional<std::int64_t> device_memory;  // bytes per rank; nothing: the machine's, or no limit
  // What to_trace and memory listings are made of, timelines of all steps among it.
  bool keeps_memory_records = false;
  bool wants_time = true;  // false: memory only
  // False: time only, of a step that the allocator never keeps waiting; none where what came before the
  // last step matters to it.
  bool wants_memory = true;
  bool wants_band = true;          // and exposed communication, on which it rests
  bool wants_outside = true;       // what is held outside of the allocator
  bool wants_path = false;         // what the step's time consists of
  bool wants_explanation = false;  // what holds memory at the peak
  bool wants_time_basis = false;   // what the step's time rests on
  RunVariant run;                  // what a job's run does besides training
};

struct ChosenCosts;  // chosen_costs.hpp

struct RankPeaks {
  int rank = 0;
  MemoryPeaks peaks;
  std::int64_t peak_host = 0;
};

struct StepPeaks {
  std::int64_t step = 0;
  int rank = 0;
  MemoryPeaks peaks;
};

struct PeakReport {
  int rank = 0;  // whose peak is the highest
  std::string phase;
  std::string unit;
  std::map<std::string, std::int64_t> by_category;
};

// A change of the plan that lowers its memory (remedies.hpp).
struct Remedy {
  std::string change;              // as a plan file has it: "checkpointing.mode = \"full\""
  std::int64_t peak_reserved = 0;  // bytes, of the rank that reserves most
  bool fits = true;                // on the device; else `peak_reserved` is of one without limit
  std::optional<Nanoseconds> step_time = {};
};

struct Remedies {
  Remedy present{"(unchanged)"};
  std::vector<Remedy> changes;
};

// How many instructions of the last step each kind of source served.
struct SourceCounts {
  std::int64_t measured = 0, fitted = 0, modelled = 0, unknown = 0;
};

struct Prediction {
  bool fits = true;
  std::optional<OomReport> oom;
  // Of the last step; 0: no answer, because memory runs out or costs are unknown.
  Nanoseconds step_time{0}, step_time_low{0}, step_time_high{0};
  Nanoseconds closing_time{0};  // of what follows the last step, of the slowest rank
  double tokens_per_s = 0;
  double mfu = 0;  // model FLOPs (model_flops.hpp) over what the devices could do
  bool has_plausible_mfu() const { return mfu <= 1; }  // beyond it a warning has the figure
  Nanoseconds exposed_communication{0};                // of the last step, rank 0
  std::vector<RankPeaks> ranks_memory;
  std::vector<StepPeaks> steps_memory;
  std::optional<StepPath> path;         // of the last step, where it was wanted and has a time
  StepUncertainty uncertainty;          // what the band is made of
  Exercise exercise;                    // of the step, where costs rest on observed runs
  std::optional<TimeBasis> time_basis;  // where it was wanted and the step has a time
  PeakReport peak;
  std::optional<PeakExplanation> explanation;  // of that peak, where it was wanted
  std::optional<OutsideMemory> outside;      // of the rank of that peak; nothing: unknown, unwanted
  std::optional<Remedies> remedies;          // where somebody looked for them
  std::optional<CheckpointCost> checkpoint;  // likewise
  std::optional<std::int64_t> capacity;      // bytes for each rank's allocator; nothing: unlimited
  SourceCounts cost_sources;
  std::string data_sheet;  // the machine whose data sheet answers what no recording does; "": none
  Nanoseconds prediction_time{0};  // from the parsed inputs to this answer
  std::vector<std::string> warnings;

  SimulatedRun run;  // all of it was derived from this
};

// Of programs, and of the job that is lowered to them first. `scratch`: a run that is no longer wanted,
// whose memory this one takes over.
Prediction predict(ProgramSet set, const PredictionOptions& options, SimulatedRun scratch = {});
Prediction predict(const Job& job, const PredictionOptions& options, SimulatedRun scratch = {});

// What a search needs, which asks of many plans on many machines. The first: `programs` are those of
// `set`, whose own list they were moved out of; costs are at hand, so `options` names none. The second:
// those of the run `before`, of the same set but for the allocator's rules, with other costs. They are
// not lowered again, and their memory is walked only where it was not yet or could be another one.
Prediction predict(const ProgramSet& set, std::vector<RankProgram> programs,
                   const ChosenCosts& costs, const PredictionOptions& options,
                   SimulatedRun scratch = {});
Prediction predict_again(const ProgramSet& set, const ChosenCosts& costs,
                         const PredictionOptions& options, SimulatedRun before);

// The prediction as a recording of the run would look; needs keeps_memory_records. `command` goes
// into the metadata.
traces::Trace to_trace(const Job& job, const Prediction& prediction, const std::string& command);
// Of programs from elsewhere, which cannot be lowered again: the trace carries them.
traces::Trace to_trace(const Prediction& prediction, const std::string& command);

// Length of the union of collectives' intervals that no kernel of the rank overlaps.
std::int64_t exposed_communication_ns(const RankProgram& program, const RankTimeline& timeline,
                                      std::int64_t step);

}  // namespace foreshard::simulator
