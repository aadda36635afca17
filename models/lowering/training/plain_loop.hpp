// The training loop that users of PyTorch write: zero_grad, micro-batches of forward, loss and backward,
// clip_grad_norm_, optimizer.step(). An evaluation is the same forward without gradients.
#pragma once

#include "models/lowering/training/pytorch_loop.hpp"

namespace foreshard::lowering {

class PlainLoop final : public PyTorchLoop {
 public:
  using PyTorchLoop::PyTorchLoop;

 private:
  void train(std::int64_t number, MicroSteps form) override;
  void evaluate() override;

  void micro_step(int number);
  void load_batch();
  void enter_autocast();
  void load_mask();
  void free_batch();

  bool has_entered_autocast_ = false;
};

}  // namespace foreshard::lowering
