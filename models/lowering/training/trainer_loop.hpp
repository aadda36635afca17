// A step, and an evaluation, of transformers' Trainer on Accelerate (Trainer._inner_training_loop,
// training_step, evaluation_loop).
//
// All micro-batches of a step are on the device before the first forward, and live until those of the next
// step are there. The labels that count are counted over all ranks, for the loss to be divided by. The host
// looks at the loss after every micro-step. The last loss and the norm live until the next ones; gradients
// go right after the step.
#pragma once

#include <vector>

#include "models/lowering/training/pytorch_loop.hpp"
#include "models/lowering/training/pytorch_tensors.hpp"

namespace foreshard::lowering {

class TrainerLoop final : public PyTorchLoop {
 public:
  TrainerLoop(const Job& job, const RankPlace& place, Emitter& emit, ShardingRuntime& runtime,
              OperatorSet operators, OperatorSet evaluation);

 private:
  using Batch = std::vector<BufferId>;  // token ids, attention mask where there is one, labels

  void train(std::int64_t number, MicroSteps form) override;
  void evaluate() override;

  Batch load_batch();
  BufferId count_labels(const std::vector<Batch>& batches);  // get_batch_samples
  BufferId gathered(BufferId tensor);                        // Accelerator.gather
  void use(const Batch& batch);
  void micro_step(int number, const Batch& batch, bool has_loss_before);
  void look_at(BufferId loss);
  void log();

  PyTorchTensors tensors_;
  BufferId total_ = kNone;           // of the losses since the last report
  std::vector<BufferId> old_batch_;  // what the step before left: its batches' tensors, its loss
  BufferId old_loss_ = kNone;
};

}  // namespace foreshard::lowering
