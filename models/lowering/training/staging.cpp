#include "models/lowering/training/staging.hpp"

namespace foreshard::lowering {

Staging::Staging(Emitter& emit, std::span<const BufferId> buffers, bool persistent)
    : emit_(emit), buffers_(buffers.begin(), buffers.end()) {
  host_.reserve(buffers_.size());
  for (const BufferId id : buffers_) {
    const Buffer buffer = emit_.buffer(id);
    host_.push_back(buffer.on_host
                        ? id
                        : emit_.allocate({buffer.bytes, buffer.category, Role::staging,
                                          buffer.owner, Stream::compute, true, persistent}));
  }
}

void Staging::copy_to_device() {
  if (!is_apart()) return;
  for (std::size_t i = 0; i < host_.size(); ++i) {
    const std::int64_t bytes = emit_.buffer(buffers_[i]).bytes;
    if (bytes == 0) continue;
    emit_.copy(Stream::compute, Operator::copy_host_to_device, bytes, host_[i], buffers_[i]);
    is_copying_ = true;
  }
}

void Staging::copy_to_host() {
  if (!is_apart()) return;
  for (std::size_t i = 0; i < host_.size(); ++i) {
    const std::int64_t bytes = emit_.buffer(buffers_[i]).bytes;
    if (bytes == 0) continue;
    emit_.copy(Stream::compute, Operator::copy_device_to_host, bytes, buffers_[i], host_[i]);
    is_copying_ = true;
  }
}

void Staging::free() {
  if (!is_apart()) return;
  wait();
  for (const BufferId host : host_) emit_.free(host);
}

void Staging::wait() {
  if (std::exchange(is_copying_, false)) emit_.host_wait(emit_.record(Stream::compute));
}

}  // namespace foreshard::lowering
