#include "models/lowering/training/training_loop.hpp"

namespace foreshard::lowering {

TrainingLoop::TrainingLoop(const Job& job, const RankPlace& place, Emitter& emit,
                           ShardingRuntime& runtime, OperatorSet operators, const RunVariant& run)
    : job_(job),
      plan_(job.plan),
      emit_(emit),
      runtime_(runtime),
      operators_(std::move(operators)),
      optimizer_(job, place, emit, runtime, buffers_, run),
      hooks_(job),
      walk_(job, hooks_, emit, runtime),
      recompute_walk_(job, hooks_, emit, runtime),
      runner_(job, emit, runtime),
      kept_(kept_slots(operators_.block, operators_.block.forward)),
      kept_checkpointed_(kept_slots(operators_.block, operators_.block.checkpointed_forward)) {
  for (Segment* segment :
       {&operators_.embedding, &operators_.block, &operators_.head, &operators_.loss}) {
    ScriptRunner::bind(*segment, emit_);
  }
  place_segments();
  if (plan_.offload.activations) {
    std::vector<const std::vector<Slot>*> kept;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      kept.push_back(is_checkpointed(i) ? &kept_checkpointed_ : &kept_);
    }
    offload_.emplace(emit_, operators_.block, layers_, std::move(kept));
  }
}

// Blocks are alike, so that what is below each stands at the same distance from it.
void TrainingLoop::place_segments() {
  embedding_place_ = place(operators_.embedding, job_.tree, 0);
  head_place_ = place(operators_.head, job_.tree, 0);
  loss_place_ = place(operators_.loss, job_.tree, 0);
  for (std::size_t m = 0; m < job_.tree.modules.size(); ++m) {
    const ModuleId module = static_cast<ModuleId>(m);
    if (job_.tree.modules[m].kind == ModuleKind::rotary) rotary_ = module;
    if (job_.tree.modules[m].kind != ModuleKind::decoder_layer) continue;
    if (layers_.empty()) {
      layers_.push_back(place(operators_.block, job_.tree, module));
      continue;
    }
    Placement& next = layers_.emplace_back(layers_.front());
    for (ModuleId& inside : next.modules) inside += module - next.base;
    next.base = module;
  }
}

bool TrainingLoop::is_checkpointed(std::size_t layer) const {
  switch (plan_.checkpointing.mode) {
    case CheckpointMode::none: return false;
    case CheckpointMode::every:
      return (layer + 1) % static_cast<std::size_t>(plan_.checkpointing.every) == 0;
    default: return true;
  }
}

Frame TrainingLoop::frame(const Segment& segment, const Placement& placement) const {
  return {&segment, &placement, std::vector<BufferId>(segment.slots.size(), kNone)};
}

// The first micro-step finds no gradients, and the second what the first left; from the third on each
// does what the one before did, and so does the last where the runtime makes no difference.
constexpr int kRepeated = 2;

std::vector<int> TrainingLoop::written_micro_steps() const {
  std::vector<int> numbers{0, 1, kRepeated};
  if (runtime_.ends_differently())
    numbers.push_back(static_cast<int>(plan_.batch.accumulation) - 1);
  return numbers;
}

void TrainingLoop::step(Program& target, MicroSteps form) {
  emit_.begin(target);
  runtime_.begin_step();
  emit_.focus_on_step();
  emit_.phase = Phase::forward;
  emit_.micro_step = 0;
  const auto range = emit_.range(Range::step);
  emit_.launch(Stream::compute, key_of(Operator::fill_zero, DType::fp64, 8), {}, {buffers_.loss});
  micro_steps(form);
  optimizer_.step();
  report();
  runtime_.end_step();
}

void TrainingLoop::micro_steps(MicroSteps form) {
  const auto count = static_cast<int>(plan_.batch.accumulation);
  const std::vector<int> written = written_micro_steps();
  if (form == MicroSteps::each || count <= static_cast<int>(written.size())) {
    for (int m = 0; m < count; ++m) micro_step(m);
    return;
  }
  for (const int m : written) {
    if (m == kRepeated) emit_.begin_repetition();
    micro_step(m);
    if (m == kRepeated) emit_.end_repetition(count - static_cast<int>(written.size()));
  }
  emit_.micro_step = count - 1;
}

void TrainingLoop::micro_step(int number) {
  emit_.micro_step = number;
  emit_.focus_on_step();
  emit_.phase = Phase::forward;
  runtime_.begin_micro_step(number + 1 == plan_.batch.accumulation);
  load_batch(number);
  forward();
  loss();
  backward();
  emit_.free(runner_[Shared::tokens]);
  emit_.free(runner_[Shared::targets]);
}

void TrainingLoop::load_batch(int number) {
  const std::size_t m = static_cast<std::size_t>(number);
  const std::int64_t T = plan_.tokens();
  const BufferId staging[] = {buffers_.staging_tokens[m], buffers_.staging_targets[m]};
  emit_.host_compute(key_of(Operator::load_batch, DType::int32, T), {}, staging, number);
  BufferId& tokens = runner_[Shared::tokens];
  BufferId& targets = runner_[Shared::targets];
  tokens = emit_.allocate({4 * T, Category::inputs, Role::tokens});
  targets = emit_.allocate({4 * T, Category::inputs, Role::targets});
  emit_.copy(Stream::compute, Operator::copy_host_to_device, 4 * T, staging[0], tokens);
  emit_.copy(Stream::compute, Operator::copy_host_to_device, 4 * T, staging[1], targets);
}

void TrainingLoop::forward() {
  const auto range = emit_.range(Range::forward);
  if (plan_.prefetch.unshard_before_forward) runtime_.unshard_root_before_forward();
  walk_.begin(HookWalk::Mode::forward);
  Frame embedding = frame(operators_.embedding, embedding_place_);
  runner_.run(embedding, operators_.embedding.forward, walk_);
  if (rotary_ != kNone) walk_.enter(rotary_);
  BufferId stream = embedding.take(operators_.embedding.output);
  const Segment& segment = operators_.block;
  blocks_.clear();
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    Frame& block = blocks_.emplace_back(frame(segment, layers_[i]));
    block[segment.input] = stream;
    runner_.run(block, is_checkpointed(i) ? segment.checkpointed_forward : segment.forward, walk_);
    stream = block.take(segment.output);
    if (offload_) offload_->after_forward(blocks_, i);
  }
  head_ = frame(operators_.head, head_place_);
  head_[operators_.head.input] = stream;
  runner_.run(head_, operators_.head.forward, walk_);
  walk_.finish();
}

void TrainingLoop::loss() {
  emit_.phase = Phase::loss;
  emit_.focus(emit_.unit(), 0);
  Frame loss = frame(operators_.loss, loss_place_);
  loss[operators_.loss.input] = head_[operators_.head.output];
  walk_.begin(HookWalk::Mode::recompute, 0);  // the root's hooks are done
  runner_.run(loss, operators_.loss.forward, walk_);
  runner_.run(loss, operators_.loss.backward, walk_);
}

void TrainingLoop::backward() {
  emit_.phase = Phase::backward;
  const auto range = emit_.range(Range::backward);
  walk_.begin(HookWalk::Mode::backward);
  runner_.run(head_, operators_.head.backward, walk_);
  const BufferId gradient = head_[operators_.head.gradient];
  const Segment& segment = operators_.block;
  for (std::size_t i = layers_.size(); i-- > 0;) {
    Frame& block = blocks_[i];
    if (offload_) offload_->before_backward(blocks_, i);
    block[segment.gradient] = gradient;
    if (is_checkpointed(i)) {
      runner_.run(block, segment.recomputed_backward, walk_, [&] { recompute(block); });
    } else {
      runner_.run(block, segment.backward, walk_);
    }
  }
  Frame embedding = frame(operators_.embedding, embedding_place_);
  embedding[operators_.embedding.gradient] = gradient;
  runner_.run(embedding, operators_.embedding.backward, walk_);
  emit_.free(gradient);
  walk_.finish();
  runtime_.final_callback();
}

void TrainingLoop::recompute(Frame& block) {
  emit_.phase = Phase::recompute;
  {
    const auto range = emit_.range(Range::recompute);
    recompute_walk_.begin(HookWalk::Mode::recompute, block.place->base);
    runner_.run(block, operators_.block.recomputation, recompute_walk_);
    recompute_walk_.finish();
  }
  emit_.phase = Phase::backward;
}

void TrainingLoop::report() {
  emit_.phase = Phase::report;
  emit_.focus_on_step();
  if (job_.ranks > 1) {
    emit_.collective(Stream::compute, Group::world,
                     key_of(Operator::all_reduce, DType::fp64, 8, job_.ranks), buffers_.loss,
                     buffers_.loss, true);
  }
  emit_.copy(Stream::compute, Operator::copy_device_to_host, 8, buffers_.loss, buffers_.host_loss);
  if (!optimizes_on_host(plan_)) {
    emit_.copy(Stream::compute, Operator::copy_device_to_host, 16, buffers_.clip,
               buffers_.host_clip);
  }
  emit_.host_wait(emit_.record(Stream::compute));
  const BufferId reads[] = {buffers_.host_loss, buffers_.host_clip};
  emit_.host_compute(key_of(Operator::report, DType::fp64, 2), reads, {});
}

}  // namespace foreshard::lowering
