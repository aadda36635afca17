#include "models/lowering/lower.hpp"

#include <algorithm>
#include <memory>
#include <type_traits>

#include "models/lowering/operators/foreshard.hpp"
#include "models/lowering/operators/pytorch/pytorch_operators.hpp"
#include "models/lowering/runtimes/ddp.hpp"
#include "models/lowering/runtimes/fsdp1_sharded.hpp"
#include "models/lowering/runtimes/fsdp1_whole.hpp"
#include "models/lowering/runtimes/fsdp2.hpp"
#include "models/lowering/training/plain_loop.hpp"
#include "models/lowering/training/trainer_loop.hpp"
#include "models/lowering/training/training_loop.hpp"
#include "models/sharding/accelerate.hpp"
#include "models/sharding/program_size.hpp"

namespace foreshard {
namespace {

using lowering::MicroSteps;

// Explicit prefetch is set on decoder blocks; those that are not units cannot be prefetched.
void warn_of_prefetch(const Job& job, std::vector<std::string>& warnings) {
  if (job.plan.runtime != RuntimeName::fsdp2) return;
  if (job.plan.prefetch.forward <= 0 && job.plan.prefetch.backward.value_or(0) <= 0) return;
  const auto blocks = std::count_if(job.units.begin(), job.units.end(), [&job](const Unit& u) {
    return u.modules.size() == 1 && job.tree.modules[static_cast<std::size_t>(u.modules[0])].kind ==
                                        ModuleKind::decoder_layer;
  });
  if (blocks == 0) {
    warnings.push_back(
        "prefetch: explicit prefetch is set on decoder blocks, which are not FSDP units under this "
        "wrap policy; it has no effect");
  } else if (blocks < job.model.layers) {
    warnings.push_back("prefetch: explicit prefetch is set on decoder blocks, of which " +
                       std::to_string(job.model.layers - blocks) + " of " +
                       std::to_string(job.model.layers) +
                       " are not FSDP units under this wrap policy; those keep PyTorch's "
                       "implicit rule");
  }
}

RankProgram emptied(RankProgram memory) {
  RankProgram program;
  program.programs = std::move(memory.programs);
  for (Program& step : program.programs) {
    step.instructions.clear();
    step.operands.clear();
    step.events = 0;
    step.repetition = {};
  }
  program.buffers = std::move(memory.buffers);
  program.buffers.clear();
  program.streams = std::move(memory.streams);
  program.cost_keys = std::move(memory.cost_keys);
  program.cost_keys.clear();
  program.carried = std::move(memory.carried);
  program.carried.clear();
  program.own_names = std::move(memory.own_names);  // the emitter's, to write over
  return program;
}

// What the first step takes is not moved about while it grows: the estimate is mostly within a third.
void reserve_first_step(RankProgram& program, const Job& job, MicroSteps form) {
  const std::int64_t all = job.plan.batch.accumulation;
  const std::int64_t written = form == MicroSteps::each ? all : std::min<std::int64_t>(all, 4);
  const auto most = static_cast<std::size_t>(estimated_instructions(job) / all * written * 4 / 3);
  Program& first = program.programs[1];
  first.instructions.reserve(most);
  first.operands.reserve(most);
  program.buffers.reserve(most / 2);
}

std::span<const StreamInfo> streams_of(const Job& job) {
  const int shard_ranks = shard_group_size(job);
  const bool is_hybrid = shard_ranks > 1 && shard_ranks < job.ranks;
  if (job.plan.runtime == RuntimeName::fsdp2) return fsdp2_streams();
  if (job.plan.runtime == RuntimeName::ddp) return lowering::ddp_streams();
  return is_hybrid ? lowering::fsdp1_hybrid_streams(job.plan.prefetch.limit_all_gathers)
                   : lowering::fsdp1_streams();
}

std::unique_ptr<lowering::ShardingRuntime> runtime_of(const Job& job, const RankProgram& program,
                                                      lowering::Emitter& emit) {
  if (job.plan.runtime == RuntimeName::fsdp2) {
    return std::make_unique<lowering::Fsdp2>(job, program, emit);
  }
  if (job.plan.runtime == RuntimeName::ddp) {
    return std::make_unique<lowering::Ddp>(job, program, emit);
  }
  if (shard_group_size(job) == 1) {
    return std::make_unique<lowering::Fsdp1Whole>(job, program.place, emit);
  }
  return std::make_unique<lowering::Fsdp1Sharded>(job, program.place, emit);
}

// With evaluations steps repeat from one to the next: those between that are alike are lowered once.
void lower_cycle(const Job& job, RankProgram& program, lowering::PyTorchLoop& loop,
                 MicroSteps form) {
  const std::int64_t cycle = job.plan.evaluation.every;
  if (cycle == 0) return;
  const std::size_t begin = program.programs.size(),
                    kinds = static_cast<std::size_t>(std::min(cycle, RankProgram::kMostOfCycle));
  program.cycle = cycle;
  program.programs.resize(begin + kinds);
  std::size_t lowered = 0;
  for (auto step = static_cast<std::int64_t>(begin); lowered < kinds;) {
    Program& kind = program.programs[program.number_of(step)];
    const std::int64_t in_cycle = step % cycle;
    if (kind.instructions.empty()) {
      loop.step(kind, step, form);
      ++lowered;
    }
    step += cycle > RankProgram::kMostOfCycle && in_cycle > 1 ? cycle - in_cycle : 1;
  }
}

// The set-up, the step that creates the optimizer's state, and as many later ones as differ.
RankProgram lower_pytorch(const Job& job, RankProgram program, MicroSteps form) {
  program.closing = 0;
  program.cycle = 1;
  program.programs.resize(2);
  reserve_first_step(program, job, form);
  lowering::Emitter emit(program, job.tree);
  const auto runtime = runtime_of(job, program, emit);
  lowering::OperatorSet evaluation;
  if (job.plan.evaluation.every > 0) {
    evaluation = lowering::pytorch_operators(job, lowering::GradMode::disabled);
  }
  lowering::OperatorSet operators =
      lowering::pytorch_operators(job, lowering::GradMode::enabled);
  const auto make = [&]<typename Loop>(std::type_identity<Loop>) {
    return std::make_unique<Loop>(job, program.place, emit, *runtime, std::move(operators),
                                  std::move(evaluation));
  };
  std::unique_ptr<lowering::PyTorchLoop> loop_of_plan;
  if (runs_in_trainer(job.plan)) {
    loop_of_plan = make(std::type_identity<lowering::TrainerLoop>());
  } else {
    loop_of_plan = make(std::type_identity<lowering::PlainLoop>());
  }
  lowering::PyTorchLoop& loop = *loop_of_plan;
  loop.setup(program.programs[0]);
  loop.step(program.programs[1], 1, form);
  do {
    const auto number = static_cast<int>(program.programs.size());
    loop.step(program.programs.emplace_back(), number, form);
  } while (!runtime->repeats());
  if (job.plan.evaluation.every > 0) {
    lower_cycle(job, program, loop, form);
  } else {
    program.cycle = runtime->cycle();
    for (std::int64_t more = 1; more < program.cycle; ++more) {
      const auto number = static_cast<std::int64_t>(program.programs.size());
      loop.step(program.programs.emplace_back(), number, form);
    }
  }
  warn_of_prefetch(job, program.warnings);
  return program;
}

RankProgram lower(const Job& job, int rank, const RunVariant& run, RankProgram memory,
                  MicroSteps form) {
  RankProgram program = emptied(std::move(memory));
  program.device = job.device;
  const auto streams = streams_of(job);
  program.streams.assign(streams.begin(), streams.end());
  program.groups = groups_of(job);
  program.place = place_in(program.groups, rank);
  program.units = unit_layouts(job, program.place);
  if (describes_pytorch(job.plan.operators)) return lower_pytorch(job, std::move(program), form);
  // The set-up, the step that creates the optimizer's state, any later one, and what follows the last.
  program.cycle = 1;
  program.closing = run.saves ? 2 : run.exports_weights ? 1 : 0;
  program.programs.resize(3 + program.closing);
  reserve_first_step(program, job, form);
  lowering::Emitter emit(program, job.tree);
  lowering::Fsdp2 runtime(job, program, emit);
  lowering::TrainingLoop loop(job, program.place, emit, runtime, lowering::foreshard_operators(job),
                              run);
  loop.setup(program.programs[0]);
  loop.step(program.programs[1], form);
  emit.repeat(program.programs[1], program.programs[2]);
  if (run.exports_weights || run.saves) loop.keep_parameters(program.programs[3]);
  if (run.saves) loop.keep_states(program.programs[4]);
  warn_of_prefetch(job, program.warnings);
  return program;
}

}  // namespace

RankProgram lower(const Job& job, int rank, const RunVariant& run, RankProgram memory) {
  return lower(job, rank, run, std::move(memory), MicroSteps::each);
}

RankProgram lower_repeating(const Job& job, int rank, const RunVariant& run, RankProgram memory) {
  return lower(job, rank, run, std::move(memory), MicroSteps::repeated);
}

}  // namespace foreshard
