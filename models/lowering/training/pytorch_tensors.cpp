#include "models/lowering/training/pytorch_tensors.hpp"

namespace foreshard::lowering {

BufferId PyTorchTensors::empty(std::int64_t bytes) {
  return emit_.allocate({bytes, Category::temporaries, Role::scratch});
}

BufferId PyTorchTensors::make(std::string_view op, std::int64_t bytes,
                              std::initializer_list<BufferId> reads) {
  const BufferId out = empty(bytes);
  std::int64_t read = 0;
  std::vector<BufferId> operands;
  for (const BufferId buffer : reads) {
    if (buffer == kNone) continue;
    read += emit_.buffer(buffer).bytes;
    operands.push_back(buffer);
  }
  update(op, operands, read, {&out, 1}, bytes);
  return out;
}

BufferId PyTorchTensors::make_of_part(std::string_view op, std::int64_t bytes, BufferId of,
                                      std::int64_t read) {
  const BufferId out = empty(bytes);
  update(op, {&of, 1}, read, {&out, 1}, bytes);
  return out;
}

void PyTorchTensors::update(std::string_view op, Emitter::Buffers reads, std::int64_t read,
                            Emitter::Buffers writes, std::int64_t written) {
  const DType fp32 = DType::fp32;
  emit_.launch(Stream::compute,
               emit_.intern({Operator::memory_bound, fp32, fp32, fp32, {read, written}}),
               emit_.intern_operator(op), reads, writes);
}

void PyTorchTensors::free(std::initializer_list<BufferId> tensors) {
  for (const BufferId tensor : tensors) {
    if (tensor != kNone) emit_.free(tensor);
  }
}

void PyTorchTensors::free_reversed(const std::vector<BufferId>& tensors) {
  for (auto tensor = tensors.rbegin(); tensor != tensors.rend(); ++tensor) emit_.free(*tensor);
}

}  // namespace foreshard::lowering
