#include "simulator/search/bounds.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "models/lowering/lower.hpp"
#include "models/lowering/script/sharding_runtime.hpp"
#include "simulator/costs/key_facts.hpp"
#include "simulator/search/held_bytes.hpp"

namespace foreshard::simulator {
namespace {

// What operators of the model hold whatever shards it: activations, those that are not kept until backward among
// them, and their gradients.
bool is_of_model(const RankProgram& program, const Buffer& buffer) {
  if (buffer.category == Category::activations) return true;
  if (buffer.category != Category::temporaries || buffer.role == kNone) return false;
  const std::string_view role = program.name(buffer.role);
  return role == "activation" || role == "activation gradient";
}

// Parts of a micro-step; what is computed again is of backward.
std::optional<std::size_t> stage_of(Phase phase) {
  switch (phase) {
    case Phase::forward: return 0;
    case Phase::loss: return 1;
    case Phase::recompute:
    case Phase::backward: return 2;
    default: return {};
  }
}

StageBytes larger(const StageBytes& a, const StageBytes& b) {
  StageBytes larger;
  for (std::size_t s = 0; s < kStages; ++s) larger[s] = std::max(a[s], b[s]);
  return larger;
}

// What an instruction adds to the bytes that are held.
std::int64_t added(const Instruction& i, const Buffer& buffer) {
  return i.kind == Kind::alloc ? least_block(buffer) : -least_block(buffer);
}

// The most of the model's bytes that each stage holds at once.
StageBytes most_activations(const RankProgram& program, const Program& step) {
  std::vector<bool> counts(program.buffers.size());
  for (std::size_t b = 0; b < counts.size(); ++b)
    counts[b] = is_of_model(program, program.buffers[b]);
  StageBytes most{};
  std::int64_t held = 0;
  for (const Instruction& i : step.instructions) {
    if (i.kind == Kind::alloc || i.kind == Kind::free) {
      const auto b = static_cast<std::size_t>(i.target);
      if (counts[b]) held += added(i, program.buffers[b]);
    }
    if (const auto stage = stage_of(i.phase)) most[*stage] = std::max(most[*stage], held);
  }
  return most;
}

// Buffers that the first step leaves and the steps after it keep; without activations.
std::vector<char> kept_buffers(const RankProgram& program) {
  std::vector<char> is_held(program.buffers.size());
  const auto walk = [&](const Program& step, bool allocates) {
    for (const Instruction& i : step.instructions) {
      if (i.kind != Kind::alloc && i.kind != Kind::free) continue;
      const bool is_alloc = i.kind == Kind::alloc;
      if (allocates || !is_alloc) is_held[static_cast<std::size_t>(i.target)] = is_alloc;
    }
  };
  walk(program.programs[0], true);
  walk(program.programs[1], true);
  for (std::size_t p = 2; p < program.programs.size() - program.closing; ++p) {
    walk(program.programs[p], false);
  }
  for (std::size_t b = 0; b < is_held.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    is_held[b] = is_held[b] && buffer.persistent && buffer.category != Category::activations;
  }
  return is_held;
}

// The least of the state's bytes that each stage of a step holds throughout, by micro-step.
std::vector<StageBytes> least_states(const RankProgram& program, const Program& step) {
  const std::vector<char> is_kept = kept_buffers(program);
  std::int64_t held = 0;
  for (std::size_t b = 0; b < is_kept.size(); ++b) {
    if (is_kept[b]) held += least_block(program.buffers[b]);
  }
  const StageBytes kept{held, held, held};
  constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::max();
  std::vector<StageBytes> least;
  const Instruction* before = nullptr;
  for (const Instruction& i : step.instructions) {
    const Instruction* const last = std::exchange(before, &i);
    if (i.kind == Kind::alloc || i.kind == Kind::free) {
      const auto b = static_cast<std::size_t>(i.target);
      const Buffer& buffer = program.buffers[b];
      const bool is_of_state = buffer.category != Category::activations &&
                               buffer.category != Category::temporaries && !is_kept[b];
      if (is_of_state) held += added(i, buffer);
    } else if (last && last->phase == i.phase && last->micro_step == i.micro_step) {
      continue;
    }
    const auto stage = stage_of(i.phase);
    if (!stage) continue;
    const auto micro_step = static_cast<std::size_t>(std::max<std::int16_t>(0, i.micro_step));
    if (micro_step >= least.size()) least.resize(micro_step + 1, {kNothing, kNothing, kNothing});
    least[micro_step][*stage] = std::min(least[micro_step][*stage], held);
  }
  for (StageBytes& of : least) {
    for (std::int64_t& bytes : of) bytes = bytes == kNothing ? 0 : bytes;
    of = larger(of, kept);
  }
  return least;
}

bool is_on_compute_stream(const Instruction& i) {
  return i.kind == Kind::launch && i.stream == Stream::compute && i.cost_key != kNone;
}

// Kernels that the model's own operators launch, whatever shards it. FSDP1 and DDP launch kernels of their own
// that are bound by memory, FSDP2 those that have names.
bool is_kernel_of_model(Operator op, RuntimeName runtime) {
  switch (op) {
    case Operator::embedding:
    case Operator::embedding_backward:
    case Operator::rms_norm:
    case Operator::rms_norm_backward:
    case Operator::rope:
    case Operator::rope_backward:
    case Operator::swiglu:
    case Operator::swiglu_backward:
    case Operator::cross_entropy:
    case Operator::cross_entropy_backward:
    case Operator::bias_gradient: return true;
    case Operator::memory_bound: return runtime == RuntimeName::fsdp2;
    default: return is_arithmetic(op);
  }
}

// What observed runs showed of other steps holds in part, so that costs are at least those by the factors
// that shorten them; nullptr: no runs were observed.
std::unique_ptr<CostModel> least_costs(const CostModel& model) {
  const RateFactors* factors = model.factors();
  if (factors == nullptr) return nullptr;
  RateFactors least = *factors;
  for (double& logarithm : least.logarithm) logarithm = std::min(0.0, logarithm);
  return least.logarithm == factors->logarithm ? nullptr : model.with_factors(least);
}

// FSDP2 does the same in each micro-step behind the first, but for a last one that differs: the second stands
// for all of them.
bool repeats_micro_steps(const Plan& plan) {
  return plan.runtime == RuntimeName::fsdp2 && plan.batch.accumulation > 1;
}
std::int64_t micro_steps_of_state(const Plan& plan) {
  if (!repeats_micro_steps(plan)) return plan.batch.accumulation;
  return lowering::last_micro_step_differs(plan) ? 3 : 2;
}
std::int64_t repeated_micro_steps(const Plan& plan) {
  return repeats_micro_steps(plan) ? plan.batch.accumulation + 1 - micro_steps_of_state(plan) : 0;
}
bool is_repeated(const Plan& lowered, std::size_t micro_step) {
  return micro_step == 1 && repeats_micro_steps(lowered);
}

// The choice as far as the part depends on it.
std::string text_of(PlanPart part, const PlanChoice& choice) {
  std::string text;
  for (const PlanSetting& setting : choice) {
    if (!depends_on(part, setting.key->name())) continue;
    text.append(setting.key->name()).append("=").append(setting.spelt_value()).append("\n");
  }
  return text;
}

// By choice: the first that is the same to the part.
std::vector<std::size_t> same_choices(PlanPart part, const PlanAxis& axis) {
  std::map<std::string, std::size_t> first;
  std::vector<std::size_t> same;
  for (std::size_t c = 0; c < axis.choices.size(); ++c) {
    same.push_back(first.try_emplace(text_of(part, axis.choices[c]), c).first->second);
  }
  return same;
}

}  // namespace

Bounds::Bounds(const SearchRequest& request, const TargetKind& kind, const Candidates& candidates)
    : kind_(kind), costs_(request), jobs_(request, kind) {
  for (const PlanPart part : {PlanPart::work, PlanPart::state}) {
    for (const PlanAxis& axis : candidates.axes()) {
      same_choice_[static_cast<std::size_t>(part)].push_back(same_choices(part, axis));
    }
  }
}

PlanBounds Bounds::of(const std::vector<std::size_t>& choices, const Plan& plan) {
  const PartBounds& works = part(PlanPart::work, choices, plan);
  const PartBounds& states = part(PlanPart::state, choices, plan);
  const std::int64_t repeated = repeated_micro_steps(plan);
  PlanBounds bounds(kind_.targets.size());
  for (std::size_t t = 0; t < bounds.size(); ++t) {
    const PartBound work = works.empty() ? PartBound() : works[t];
    const PartBound state = states.empty() ? PartBound() : states[t];
    const StageBytes held = repeated > 0 ? larger(state.bytes, state.bytes_repeated) : state.bytes;
    std::int64_t bytes = 0;
    for (std::size_t s = 0; s < kStages; ++s) bytes = std::max(bytes, work.bytes[s] + held[s]);
    std::int64_t step_ns = plan.batch.accumulation * work.stream_ns + state.stream_ns;
    for (std::size_t g = 0; g < state.group_ns.size(); ++g) {
      step_ns = std::max(step_ns, state.group_ns[g] + repeated * state.group_ns_repeated[g]);
    }
    bounds[t] = {step_ns, bytes,
                 static_cast<double>(plan.tokens() * plan.batch.accumulation * kind_.gpus)};
  }
  return bounds;
}

// What the plan's part is bounded by on each target, which it has in common with other plans.
const Bounds::PartBounds& Bounds::part(PlanPart part, const std::vector<std::size_t>& choices,
                                       const Plan& plan) {
  const bool is_work = part == PlanPart::work;
  const auto& same_choice = same_choice_[static_cast<std::size_t>(part)];
  std::vector<std::size_t> common;
  for (std::size_t a = 0; a < choices.size(); ++a) common.push_back(same_choice[a][choices[a]]);
  if (!is_work) common.push_back(static_cast<std::size_t>(micro_steps_of_state(plan)));
  const auto [found, is_new] =
      parts_[static_cast<std::size_t>(part)].try_emplace(std::move(common));
  PartBounds& bounds = found->second;
  if (!is_new) return bounds;
  Plan lowered = alone(part, plan);
  if (!is_work) lowered.batch.accumulation = micro_steps_of_state(plan);
  const auto job = jobs_.job(lowered);
  if (!job) return bounds;
  program_ = lower_repeating(*job, 0, {}, std::move(program_));
  const Program& step = program_.step(2);
  PartBound bound;
  if (is_work) {
    bound.bytes = most_activations(program_, step);
  } else {
    const std::vector<StageBytes> least = least_states(program_, step);
    for (std::size_t m = 0; m < least.size(); ++m) {
      StageBytes& bytes = is_repeated(lowered, m) ? bound.bytes_repeated : bound.bytes;
      bytes = larger(bytes, least[m]);
    }
  }
  const ProgramCosts counted = counted_costs(program_);
  for (const std::size_t target : kind_.targets) {
    bounds.push_back(priced(part, *job, target, counted, bound));
  }
  return bounds;
}

Bounds::PartBound Bounds::priced(PlanPart part, const Job& job, std::size_t target,
                                 const ProgramCosts& counted, PartBound bound) {
  const RankProgram& program = program_;
  const CostModel& model = *costs_.of(target, job).model;
  const auto least = least_costs(model);
  const ProgramCosts costs = priced_costs(program, least ? *least : model, counted);
  const std::size_t places = cost_places(program.place);
  bound.group_ns.resize(program.place.groups.size());
  bound.group_ns_repeated = bound.group_ns;
  const Program& step = program.step(2);
  for (std::size_t n = 0; n < step.instructions.size(); ++n) {
    const Instruction& i = step.instructions[n];
    if (i.cost_key == kNone) continue;
    const std::int64_t ns = costs.costs[cost_index(i, places)].ns * step.repetition.times(n);
    if (i.kind == Kind::collective) {
      const bool repeats =
          stage_of(i.phase) && is_repeated(job.plan, static_cast<std::size_t>(i.micro_step));
      auto& of_groups = repeats ? bound.group_ns_repeated : bound.group_ns;
      of_groups[static_cast<std::size_t>(i.group)] += ns;
    }
    if (!is_on_compute_stream(i)) continue;
    const bool counts =
        part == PlanPart::work
            ? stage_of(i.phase) &&
                  is_kernel_of_model(program.cost_keys[static_cast<std::size_t>(i.cost_key)].op,
                                     job.plan.runtime)
            : i.phase == Phase::optimizer;
    if (counts) bound.stream_ns += ns;
  }
  return bound;
}

}  // namespace foreshard::simulator
