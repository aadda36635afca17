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
  // The same of so many bytes of a buffer.
  BufferId make_of_part(std::string_view op, std::int64_t bytes, BufferId of, std::int64_t read);
  // Changes `written` bytes of buffers, of which and of `reads` it reads so many.
  void update(std::string_view op, Emitter::Buffers reads, std::int64_t read,
              Emitter::Buffers writes, std::int64_t written);
  void free(std::initializer_list<BufferId> tensors);
  void free_reversed(const std::vector<BufferId>& tensors);

 private:
  Emitter& emit_;
};

}  // namespace foreshard::lowering
