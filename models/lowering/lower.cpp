// The lowering's skeleton: a set-up and two kinds of step, each a walk through the model that issues
// the operator set's nodes and fires the sharding runtime's hooks.
#include "models/lowering/lower.hpp"

#include "models/lowering/lowering.hpp"

namespace foreshard {
namespace lowering {

Lowering::Lowering(const Job& job, RankProgram& program)
    : job_(job),
      plan_(job.plan),
      program_(program),
      emit_(program, job.tree),
      operators_(foreshard_operators(job.model, job.plan)),
      runtime_(job, program, emit_, persistent_),
      runner_(job, emit_, runtime_, persistent_) {
  for (Segment* segment :
       {&operators_.embedding, &operators_.block, &operators_.head, &operators_.loss}) {
    SegmentRunner::bind(*segment, emit_);
  }
  block_needs_ = needed_by_backward(operators_.block);
  std::vector<Slot> kept;
  if (plan_.checkpointing.mode == CheckpointMode::selective) {
    const auto add = [&kept](const std::vector<Slot>& slots) {
      kept.insert(kept.end(), slots.begin(), slots.end());
    };
    if (plan_.checkpointing.save_attention) add(operators_.attention_outputs);
    if (plan_.checkpointing.save_matmul) add(operators_.matmul_outputs);
    if (plan_.checkpointing.save_every_second_matmul) add(operators_.second_matmul_outputs);
  }
  checkpointed_ = recompute_all_but(operators_.block, kept);
  for (std::size_t m = 0; m < job.tree.modules.size(); ++m) {
    const ModuleKind kind = job.tree.modules[m].kind;
    if (kind == ModuleKind::decoder_layer) layers_.push_back(static_cast<ModuleId>(m));
    if (kind == ModuleKind::rotary) rotary_ = static_cast<ModuleId>(m);
  }
}

bool Lowering::is_checkpointed(std::size_t layer) const {
  switch (plan_.checkpointing.mode) {
    case CheckpointMode::none: return false;
    case CheckpointMode::every:
      return (layer + 1) % static_cast<std::size_t>(plan_.checkpointing.every) == 0;
    default: return true;
  }
}

const std::vector<bool>& Lowering::kept_by(std::size_t layer) const {
  return is_checkpointed(layer) ? checkpointed_.keeps : block_needs_;
}

void Lowering::step(Program& target, bool is_first) {
  emit_.begin(target);
  runtime_.begin_step();
  emit_.unit = kNone;
  emit_.module = 0;
  emit_.phase = Phase::forward;
  emit_.micro_step = 0;
  const auto range = emit_.range(Range::step);
  emit_.launch(Stream::compute, {Operator::fill_zero, DType::fp64, DType::fp64, DType::fp64, {8}},
               {}, {persistent_.loss});
  for (int m = 0; m < plan_.batch.accumulation; ++m) micro_step(m);
  optimizer_step(is_first);
  report();
  runtime_.end_step();
}

void Lowering::micro_step(int number) {
  emit_.micro_step = number;
  emit_.module = 0;
  emit_.unit = kNone;
  emit_.phase = Phase::forward;
  runtime_.begin_micro_step(number);
  const std::size_t m = static_cast<std::size_t>(number);
  const std::int64_t T = plan_.tokens();
  const BufferId staging[] = {persistent_.staging_tokens[m], persistent_.staging_targets[m]};
  emit_.host_compute({Operator::load_batch, DType::int32, DType::int32, DType::int32, {T}}, {},
                     staging, number);
  runner_.tokens = emit_.allocate({4 * T, Category::inputs, Role::tokens});
  runner_.targets = emit_.allocate({4 * T, Category::inputs, Role::targets});
  emit_.copy(Stream::compute, Operator::copy_host_to_device, 4 * T, staging[0], runner_.tokens);
  emit_.copy(Stream::compute, Operator::copy_host_to_device, 4 * T, staging[1], runner_.targets);
  forward();
  loss();
  backward();
  emit_.free(runner_.tokens);
  emit_.free(runner_.targets);
}

void Lowering::forward() {
  const auto range = emit_.range(Range::forward);
  if (plan_.prefetch.unshard_before_forward) runtime_.unshard_root_before_forward();
  HookWalk walk(job_, emit_, runtime_, HookWalk::Mode::forward);
  PlacedSegment embedding = runner_.place(operators_.embedding, 0);
  runner_.forward(embedding, walk, std::vector<bool>(embedding.live.size(), true));
  if (rotary_ != kNone) walk.go_to(rotary_);
  BufferId stream = embedding.live[kStreamIn];
  blocks_.clear();
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    blocks_.push_back(runner_.place(operators_.block, layers_[i]));
    PlacedSegment& block = blocks_.back();
    block.live[kStreamIn] = stream;
    runner_.forward(block, walk, kept_by(i));
    stream = std::exchange(block.live[operators_.block_output], kNone);
    if (plan_.offload.activations) offload_activations(i);
  }
  head_ = runner_.place(operators_.head, 0);
  head_.live[kStreamIn] = stream;
  runner_.forward(head_, walk, needed_by_backward(operators_.head));
  walk.finish();
}

void Lowering::loss() {
  emit_.phase = Phase::loss;
  emit_.module = 0;
  PlacedSegment loss = runner_.place(operators_.loss, 0);
  loss.live[0] = head_.live[operators_.logits];
  HookWalk walk(job_, emit_, runtime_, HookWalk::Mode::recompute, 0);  // the root's hooks are done
  runner_.forward(loss, walk, needed_by_backward(operators_.loss));
  runner_.backward(loss, walk);
}

void Lowering::backward() {
  emit_.phase = Phase::backward;
  const auto range = emit_.range(Range::backward);
  HookWalk walk(job_, emit_, runtime_, HookWalk::Mode::backward);
  runner_.backward(head_, walk);
  const BufferId gradient = head_.live[operators_.head_gradient];
  for (std::size_t i = layers_.size(); i-- > 0;) {
    PlacedSegment& block = blocks_[i];
    if (plan_.offload.activations) bring_back_activations(i);
    block.live[operators_.block_gradient] = gradient;
    if (is_checkpointed(i)) {
      runner_.backward(block, walk, [this, &block] { recompute(block); });
    } else {
      runner_.backward(block, walk);
    }
  }
  PlacedSegment embedding = runner_.place(operators_.embedding, 0);
  embedding.live[operators_.embedding_gradient] = gradient;
  runner_.backward(embedding, walk);
  emit_.free(gradient);
  walk.finish();
  runtime_.final_callback();
}

void Lowering::recompute(PlacedSegment& block) {
  emit_.phase = Phase::recompute;
  {
    const auto range = emit_.range(Range::recompute);
    HookWalk walk(job_, emit_, runtime_, HookWalk::Mode::recompute, block.base);
    runner_.forward(block, walk, block_needs_, &checkpointed_.reruns);
    walk.finish();
  }
  emit_.phase = Phase::backward;
}

}  // namespace lowering

RankProgram lower(const Job& job, int rank) {
  RankProgram program;
  program.place = place_of(job, rank);
  program.units = unit_layouts(job, program.place);
  lowering::Lowering lowering(job, program);
  program.programs.resize(3);
  lowering.setup(program.programs[0]);
  lowering.step(program.programs[1], true);
  lowering.step(program.programs[2], false);
  const bool sets_prefetch =
      job.plan.prefetch.forward > 0 || job.plan.prefetch.backward.value_or(0) > 0;
  const auto blocks = std::count_if(job.units.begin(), job.units.end(), [&job](const Unit& u) {
    return u.modules.size() == 1 && job.tree.modules[static_cast<std::size_t>(u.modules[0])].kind ==
                                        ModuleKind::decoder_layer;
  });
  if (sets_prefetch && blocks == 0) {
    program.warnings.push_back(
        "prefetch: explicit prefetch is set on decoder blocks, which are not FSDP units under this "
        "wrap policy; it has no effect");
  } else if (sets_prefetch && blocks < job.model.layers) {
    program.warnings.push_back("prefetch: explicit prefetch is set on decoder blocks, of which " +
                               std::to_string(job.model.layers - blocks) + " of " +
                               std::to_string(job.model.layers) +
                               " are not FSDP units under this wrap policy; those keep PyTorch's "
                               "implicit rule");
  }
  return program;
}

}  // namespace foreshard
