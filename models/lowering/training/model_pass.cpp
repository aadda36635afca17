#include "models/lowering/training/model_pass.hpp"

#include "models/sharding/pytorch_support.hpp"

namespace foreshard::lowering {

ModelPass::ModelPass(const Job& job, Emitter& emit, ShardingRuntime& runtime, OperatorSet operators)
    : job_(job),
      emit_(emit),
      runtime_(runtime),
      operators_(std::move(operators)),
      hooks_(job),
      walk_(hooks_, emit, runtime),
      recompute_walk_(hooks_, emit, runtime),
      runner_(job, emit, runtime) {
  bind(operators_);
  place_segments();
  if (job_.plan.offload.activations) {
    const Segment& block = operators_.blocks.front();
    kept_ = kept_slots(block, block.forward);
    kept_checkpointed_ = kept_slots(block, block.checkpointed_forward);
    std::vector<const std::vector<Slot>*> kept;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      kept.push_back(is_checkpointed(job_, i) ? &kept_checkpointed_ : &kept_);
    }
    offload_.emplace(emit_, block, layers_, std::move(kept));
  }
}

void ModelPass::bind(OperatorSet& operators) {
  for (Segment* segment : {&operators.embedding, &operators.head, &operators.loss}) {
    ScriptRunner::bind(*segment, emit_);
  }
  for (Segment& block : operators.blocks) ScriptRunner::bind(block, emit_);
}

void ModelPass::add_evaluation(OperatorSet operators) {
  evaluation_ = std::move(operators);
  bind(evaluation_);
}

void ModelPass::allocate_host_copies() {
  if (offload_) offload_->allocate_host_copies();
}

// Blocks are alike, so that what is below each stands at the same distance from it.
void ModelPass::place_segments() {
  embedding_place_ = place(operators_.embedding, job_.tree, 0);
  head_place_ = place(operators_.head, job_.tree, 0);
  loss_place_ = place(operators_.loss, job_.tree, 0);
  std::vector<std::size_t> first_of_kind(operators_.blocks.size(), layers_.max_size());
  for (std::size_t m = 0; m < job_.tree.modules.size(); ++m) {
    const ModuleId module = static_cast<ModuleId>(m);
    if (job_.tree.modules[m].kind == ModuleKind::rotary) rotary_ = module;
    if (job_.tree.modules[m].kind != ModuleKind::decoder_layer) continue;
    const std::size_t layer = layers_.size();
    std::size_t& first = first_of_kind[static_cast<std::size_t>(operators_.block_kind[layer])];
    if (first == layers_.max_size()) {
      first = layer;
      layers_.push_back(place(operators_.block(layer), job_.tree, module));
      continue;
    }
    Placement next = layers_[first];
    for (ModuleId& inside : next.modules) inside += module - next.base;
    next.base = module;
    layers_.push_back(std::move(next));
  }
}

Frame ModelPass::frame(const Segment& segment, const Placement& placement) const {
  return {&segment, &placement, std::vector<BufferId>(segment.slots.size(), kNone)};
}

void ModelPass::forward() {
  forward(operators_, GradMode::enabled);
}

void ModelPass::evaluate() {
  forward(evaluation_, GradMode::disabled);
}

// Segments stand where those of training do: they name the same modules.
void ModelPass::forward(const OperatorSet& operators, GradMode grad) {
  {
    const auto range = emit_.range(Range::forward);
    if (job_.plan.prefetch.unshard_before_forward) runtime_.unshard_root_before_forward();
    walk_.begin(HookWalk::Mode::forward);
    Frame embedding = frame(operators.embedding, embedding_place_);
    runner_.run(embedding, operators.embedding.forward, walk_);
    if (rotary_ != kNone) walk_.enter(rotary_);
    BufferId stream = embedding.take(operators.embedding.output);
    blocks_.clear();
    const auto is_again = [&](std::size_t layer) {
      return grad == GradMode::enabled && is_checkpointed(job_, layer);
    };
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const Segment& segment = operators.block(i);
      Frame& block = blocks_.emplace_back(frame(segment, layers_[i]));
      block[segment.input] = stream;
      runner_.run(block, is_again(i) ? segment.checkpointed_forward : segment.forward, walk_);
      stream = block.take(segment.output);
      if (offload_ && grad == GradMode::enabled) offload_->after_forward(blocks_, i);
    }
    head_ = frame(operators.head, head_place_);
    head_[operators.head.input] = stream;
    runner_.run(head_, operators.head.forward, walk_);
    loss_ = frame(operators.loss, loss_place_);
    loss_[operators.loss.input] = head_.take(operators.head.output);
    if (operators.loss_in_model) loss(operators.loss.forward);
    walk_.finish();
  }
  if (operators.loss_in_model) return;
  emit_.focus(emit_.unit(), 0);
  BufferId* output = &loss_[operators.loss.input];
  runtime_.returned({&output, 1});
  walk_.begin(HookWalk::Mode::recompute, 0);  // the root's hooks are done
  loss(operators.loss.forward);
}

void ModelPass::loss(const Script& script) {
  const Phase before = emit_.phase();
  emit_.set_phase(Phase::loss);
  runner_.run(loss_, script, walk_, [&] { leave_autocast(); });
  emit_.set_phase(before);
}

void ModelPass::backward() {
  if (!operators_.loss_in_model) loss(operators_.loss.backward);
  emit_.set_phase(Phase::backward);
  const auto range = emit_.range(Range::backward);
  walk_.begin(HookWalk::Mode::backward);
  if (operators_.loss_in_model) loss(operators_.loss.backward);
  // A loss whose gradient has no tensor of its own writes it where its input was.
  const Segment& loss = operators_.loss;
  head_[operators_.head.output] = loss_.take(loss.gradient == kNone ? loss.input : loss.gradient);
  runner_.run(head_, operators_.head.backward, walk_);
  const Slot given = operators_.head.gradient;
  BufferId gradient = given == kNone ? kNone : head_[given];
  bool goes_on = operators_.head.has_input_gradient;
  for (std::size_t i = layers_.size(); goes_on && i-- > 0;) {
    const Segment& segment = operators_.block(i);
    Frame& block = blocks_[i];
    if (offload_) offload_->before_backward(blocks_, i);
    block[segment.gradient] = gradient;
    if (is_checkpointed(job_, i)) {
      runner_.run(block, segment.recomputed_backward, walk_, [&] { recompute(block); });
    } else {
      runner_.run(block, segment.backward, walk_);
    }
    if (segment.new_gradient != kNone) gradient = block.take(segment.new_gradient);
    goes_on = segment.has_input_gradient;
  }
  if (goes_on) embedding_backward(gradient);
  walk_.finish();
  runtime_.final_callback();
}

void ModelPass::embedding_backward(BufferId gradient) {
  Frame embedding = frame(operators_.embedding, embedding_place_);
  const Slot given = operators_.embedding.gradient;
  embedding[given] = gradient;
  runner_.run(embedding, operators_.embedding.backward, walk_);
  if (embedding[given] != kNone) emit_.free(gradient);
}

void ModelPass::leave_autocast() {
  for (Frame& block : blocks_) runner_.run(block, block.segment->end_of_autocast, walk_);
  runner_.run(head_, head_.segment->end_of_autocast, walk_);
}

void ModelPass::recompute(Frame& block) {
  emit_.set_phase(Phase::recompute);
  {
    const auto range = emit_.range(Range::recompute);
    const ModuleId base = block.place->base;
    recompute_walk_.begin(HookWalk::Mode::recompute,
                          recomputes_with_hooks(job_.plan)
                              ? hooks_.parent_of[static_cast<std::size_t>(base)]
                              : base);
    runner_.run(block, block.segment->recomputation, recompute_walk_);
    recompute_walk_.finish();
  }
  emit_.set_phase(Phase::backward);
}

}  // namespace foreshard::lowering
