#include "simulator/search/bounds.hpp"

#include <algorithm>

#include "models/allocator/allocator_rules.hpp"
#include "models/lowering/lower.hpp"
#include "simulator/costs/key_facts.hpp"

namespace foreshard::simulator {
namespace {

// What each request takes at least, whatever the allocator's settings.
std::int64_t least_block(const Buffer& buffer) {
  if (buffer.on_host || buffer.bytes <= 0) return 0;
  return round_up(buffer.bytes, AllocatorRules::kMinBlock);
}

// The most bytes of activations that are held at once.
std::int64_t most_activations(const RankProgram& program, const Program& step) {
  std::int64_t held = 0, most = 0;
  for (const Instruction& i : step.instructions) {
    if (i.kind != Kind::alloc && i.kind != Kind::free) continue;
    const Buffer& buffer = program.buffers[static_cast<std::size_t>(i.target)];
    if (buffer.category != Category::activations) continue;
    held += i.kind == Kind::alloc ? least_block(buffer) : -least_block(buffer);
    most = std::max(most, held);
  }
  return most;
}

// Bytes that the first step leaves and the steps after it keep; without activations.
std::int64_t kept_bytes(const RankProgram& program) {
  std::vector<bool> is_held(program.buffers.size());
  const auto walk = [&](const Program& step, bool allocates) {
    for (const Instruction& i : step.instructions) {
      if (i.kind == Kind::free) is_held[static_cast<std::size_t>(i.target)] = false;
      if (i.kind == Kind::alloc && allocates) is_held[static_cast<std::size_t>(i.target)] = true;
    }
  };
  walk(program.programs[0], true);
  walk(program.programs[1], true);
  for (std::size_t p = 2; p < program.programs.size() - program.closing; ++p) {
    walk(program.programs[p], false);
  }
  std::int64_t bytes = 0;
  for (std::size_t b = 0; b < is_held.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    if (is_held[b] && buffer.persistent && buffer.category != Category::activations)
      bytes += least_block(buffer);
  }
  return bytes;
}

bool is_on_compute_stream(const Instruction& i) {
  return i.kind == Kind::launch && i.stream == Stream::compute && i.cost_key != kNone;
}

}  // namespace

Bounds::Bounds(const SearchRequest& request, const Candidates& candidates)
    : request_(request), candidates_(candidates), costs_(request) {}

PlanBound Bounds::of(std::size_t number, const Plan& plan, const TargetKind& kind,
                     std::size_t target) {
  const std::vector<std::size_t> digits = candidates_.digits(number);
  PlanBound bound;
  if (const PartBound* const work = part(PlanPart::work, digits, plan, kind)) {
    bound.step_ns += plan.batch.accumulation * work->stream_ns.at(target);
    bound.reserved += work->bytes;
  }
  if (const PartBound* const state = part(PlanPart::state, digits, plan, kind)) {
    bound.step_ns =
        std::max(bound.step_ns + state->stream_ns.at(target), state->communicator_ns.at(target));
    bound.reserved += state->bytes;
  }
  return bound;
}

// The part that the plan has in common with others; null where it is no job by itself.
const Bounds::PartBound* Bounds::part(PlanPart part, const std::vector<std::size_t>& digits,
                                      const Plan& plan, const TargetKind& kind) {
  std::vector<std::size_t> common = {kind.targets.front()};
  for (std::size_t a = 0; a < digits.size(); ++a) {
    if (depends_on(part, candidates_.axes()[a].front().key())) common.push_back(digits[a]);
  }
  if (part == PlanPart::state) {
    common.push_back(static_cast<std::size_t>(plan.batch.accumulation));
  }
  const bool is_work = part == PlanPart::work;
  const auto [found, is_new] = (is_work ? works_ : states_).try_emplace(std::move(common));
  std::optional<PartBound>& bound = found->second;
  if (is_new) {
    const auto job = make_job(request_.model, alone(part, plan), request_.base_file, kind.gpus,
                              kind.nodes, kind.machine);
    if (job) {
      program_ = lower_repeating(*job, 0, {}, std::move(program_));
      bound.emplace();
      bound->bytes = is_work ? most_activations(program_, program_.step(2)) : kept_bytes(program_);
      for (const std::size_t target : kind.targets) price(*bound, part, *job, target);
    }
  }
  return bound ? &*bound : nullptr;
}

void Bounds::price(PartBound& bound, PlanPart part, const Job& job, std::size_t target) {
  std::int64_t& stream_ns = bound.stream_ns[target];
  const RankProgram& program = program_;
  const ProgramCosts costs = program_costs(program, *costs_.of(target, job).model);
  const std::size_t places = cost_places(program.place);
  std::vector<std::int64_t> of_group(program.place.groups.size());
  const Program& step = program.step(2);
  for (std::size_t n = 0; n < step.instructions.size(); ++n) {
    const Instruction& i = step.instructions[n];
    if (i.cost_key == kNone) continue;
    const std::int64_t ns = costs.costs[cost_index(i, places)].ns * step.repetition.times(n);
    if (i.kind == Kind::collective) of_group[static_cast<std::size_t>(i.group)] += ns;
    if (!is_on_compute_stream(i)) continue;
    const bool counts =
        part == PlanPart::work
            ? is_arithmetic(program.cost_keys[static_cast<std::size_t>(i.cost_key)].op)
            : i.phase == Phase::optimizer;
    if (counts) stream_ns += ns;
  }
  bound.communicator_ns[target] = *std::max_element(of_group.begin(), of_group.end());
}

}  // namespace foreshard::simulator
