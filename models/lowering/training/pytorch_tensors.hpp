// Tensors that PyTorch's operators make outside the model: each operator is a request, a kernel whose
// bytes decide how long it takes, and frees where Python drops the tensors.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "models/lowering/script/emitter.hpp"

namespace foreshard::lowering {

class PyTorchTensors {
 public:
  explicit PyTorchTensors(Emitter& emit) : emit_(emit) {}

  BufferId empty(std::int64_t bytes);
  // What `op` makes of `reads`; those that are kNone are not there.
  BufferId make(std::string_view op, std::int64_t bytes, std::initializer_list<BufferId> reads);
  void free(std::initializer_list<BufferId> tensors);
  void free_reversed(const std::vector<BufferId>& tensors);

 private:
  Emitter& emit_;
};

}  // namespace foreshard::lowering
