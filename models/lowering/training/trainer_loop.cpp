#include "models/lowering/training/trainer_loop.hpp"

namespace foreshard::lowering {
namespace {

constexpr std::int64_t kCountBytes = 8;  // of int64

}  // namespace

TrainerLoop::TrainerLoop(const Job& job, const RankPlace& place, Emitter& emit,
                         ShardingRuntime& runtime, OperatorSet operators, OperatorSet evaluation)
    : PyTorchLoop(job, place, emit, runtime, std::move(operators), std::move(evaluation)),
      tensors_(emit) {}

void TrainerLoop::train(std::int64_t number, MicroSteps form) {
  if (total_ == kNone) total_ = copied_from_host(4, Category::temporaries, Role::loss, true);
  std::vector<Batch> batches;
  for (std::int64_t m = 0; m < plan_.batch.accumulation; ++m) batches.push_back(load_batch());
  const BufferId items = count_labels(batches);
  const bool is_first = old_loss_ == kNone;
  std::size_t n = 0;  // a list lets go of its last element first
  for (auto batch = batches.rbegin(); batch != batches.rend(); ++batch) {
    for (const BufferId tensor : *batch) {
      if (is_first) old_batch_.push_back(emit_.declare_like(tensor));
      if (number > 1) emit_.free(old_batch_[n]);
      emit_.carry(tensor, old_batch_[n++]);
    }
  }
  emit_micro_steps(emit_, runtime_, plan_, form, [&](int m) {
    micro_step(m, batches[static_cast<std::size_t>(m)], number > 1 || m > 0);
  });
  emit_.carry(std::exchange(pass_[Shared::loss], kNone), old_loss_);
  optimizer_.step();
  runtime_.zero_gradients();
  runtime_.end_step();
  log();
  tensors_.free({items});
}

void TrainerLoop::micro_step(int number, const Batch& batch, bool has_loss_before) {
  emit_.set_micro_step(number);
  emit_.focus_on_step();
  emit_.set_phase(Phase::forward);
  runtime_.begin_micro_step(number + 1 == plan_.batch.accumulation);
  use(batch);
  const BufferId before = std::exchange(pass_[Shared::loss], kNone);
  pass_.forward();
  pass_.backward();
  emit_.focus_on_step();
  free_shared(Shared::root_gradient);
  free_shared(Shared::scaled_loss);
  const BufferId loss = pass_[Shared::loss];
  if (old_loss_ == kNone) old_loss_ = emit_.declare_like(loss);
  if (has_loss_before) emit_.free(number == 0 ? old_loss_ : before);
  free_arguments();
  look_at(loss);
}

void TrainerLoop::use(const Batch& batch) {
  pass_[Shared::tokens] = batch.front();
  pass_[Shared::targets] = batch.back();
  if (batch.size() > 2) pass_[Shared::attention_mask] = batch[1];
}

TrainerLoop::Batch TrainerLoop::load_batch() {
  const std::int64_t bytes = kTokenBytes * plan_.tokens();
  Batch batch{copied_from_host(bytes, Category::inputs, Role::tokens)};
  if (plan_.pytorch.attention_mask != AttentionMask::none) {
    batch.push_back(copied_from_host(bytes, Category::inputs, Role::attention_mask));
  }
  batch.push_back(copied_from_host(bytes, Category::inputs, Role::targets));
  return batch;
}

// labels != -100 is summed batch by batch, and then over the ranks.
BufferId TrainerLoop::count_labels(const std::vector<Batch>& batches) {
  const std::int64_t tokens = plan_.tokens();
  BufferId sum = kNone;
  for (const Batch& batch : batches) {
    const BufferId differs = tensors_.make("aten::ne", tokens, {batch.back()});
    const BufferId count = tensors_.empty(kCountBytes);
    const BufferId wide = tensors_.make("aten::_to_copy", kCountBytes * tokens, {differs});
    tensors_.update("aten::sum", {&wide, 1}, kCountBytes * tokens, {&count, 1}, kCountBytes);
    tensors_.free({wide, differs});
    const BufferId next = tensors_.make("aten::add", kCountBytes, {count, sum});
    tensors_.free({std::exchange(sum, next), count});
  }
  if (job_.ranks == 1) return sum;
  const BufferId copy = tensors_.make("aten::clone", kCountBytes, {sum});
  const BufferId all = gathered(copy);
  const BufferId items = tensors_.make("aten::sum", kCountBytes, {all});
  tensors_.free({all, sum});
  return items;
}

// Frees what it is given.
BufferId TrainerLoop::gathered(BufferId tensor) {
  const std::int64_t bytes = emit_.buffer(tensor).bytes, ranks = job_.ranks;
  const BufferId all = tensors_.empty(bytes * ranks);
  emit_.collective(
      Stream::compute, Group::world,
      {Operator::all_gather, DType::fp32, DType::fp32, DType::fp32, {bytes * ranks, ranks}}, tensor,
      all);
  emit_.free(tensor);
  return all;
}

// logging_nan_inf_filter: torch.isnan and torch.isinf.
void TrainerLoop::look_at(BufferId loss) {
  emit_.set_phase(Phase::report);
  const BufferId is_nan = tensors_.make("aten::ne", 1, {loss});
  host_waits();
  emit_.free(is_nan);
  const BufferId magnitude = tensors_.make("aten::abs", emit_.buffer(loss).bytes, {loss});
  const BufferId is_infinite = tensors_.make("aten::eq", 1, {magnitude});
  tensors_.free({magnitude});
  host_waits();
  emit_.free(is_infinite);
}

// The mean of all ranks' losses, in every step.
void TrainerLoop::log() {
  emit_.set_phase(Phase::report);
  emit_.focus_on_step();
  const std::int64_t bytes = emit_.buffer(total_).bytes;
  const BufferId all =
      job_.ranks == 1 ? kNone : gathered(tensors_.make("aten::clone", bytes, {total_}));
  const BufferId mean = tensors_.make("aten::mean", bytes, {all == kNone ? total_ : all});
  tensors_.free({all});
  host_waits();
  emit_.free(mean);
}

void TrainerLoop::evaluate() {
  Batch batch;
  BufferId items = kNone, mean = kNone;
  std::vector<BufferId> losses;
  for (std::int64_t n = 0; n < plan_.evaluation.batches; ++n) {
    emit_.focus_on_step();
    for (const BufferId before : std::exchange(batch, load_batch())) emit_.free(before);
    tensors_.free({std::exchange(items, count_labels({batch}))});
    runtime_.begin_evaluation();
    use(batch);
    pass_.evaluate();
    emit_.focus_on_step();
    const BufferId loss = std::exchange(pass_[Shared::loss], kNone);
    const std::int64_t bytes = emit_.buffer(loss).bytes;
    const BufferId before = std::exchange(mean, tensors_.make("aten::mean", bytes, {loss}));
    tensors_.free({loss, before});
    const BufferId repeated =
        tensors_.make("aten::repeat", bytes * plan_.batch.micro_batch, {mean});
    losses.push_back(job_.ranks == 1 ? repeated : gathered(repeated));
  }
  std::int64_t bytes = 0;
  for (const BufferId loss : losses) bytes += emit_.buffer(loss).bytes;
  const BufferId all = tensors_.make("aten::cat", bytes, {losses.front()});
  const BufferId of_all = tensors_.make("aten::mean", emit_.buffer(mean).bytes, {all});
  tensors_.free({all});
  host_waits();
  emit_.free(of_all);
  tensors_.free_reversed(losses);
  for (const BufferId tensor : batch) emit_.free(tensor);
  tensors_.free({items, mean});
  runtime_.end_step();
}

}  // namespace foreshard::lowering
