#include "models/lowering/lowering.hpp"

namespace foreshard::lowering {

void Lowering::allocate_activation_copies() {
  copies_.assign(layers_.size(), {});
  for (std::size_t i = 0; i + 1 < layers_.size(); ++i) {
    emit_.module = layers_[i];
    const auto& slots = operators_.block.slots;
    copies_[i].host.assign(slots.size(), kNone);
    for (std::size_t s = 0; s < slots.size(); ++s) {
      if (!kept_by(i)[s]) continue;
      copies_[i].host[s] = emit_.allocate({slots[s].bytes, Category::activations, Role::host_copy,
                                           kNone, Stream::compute, true, true});
    }
  }
}

void Lowering::offload_activations(std::size_t layer) {
  ActivationCopies& copies = copies_[layer];
  if (layer + 1 < layers_.size()) {
    emit_.wait_for(Stream::device_to_host, Stream::compute);
    for (std::size_t s = 0; s < copies.host.size(); ++s) {
      if (copies.host[s] == kNone) continue;
      emit_.copy(Stream::device_to_host, Operator::copy_device_to_host,
                 operators_.block.slots[s].bytes, blocks_[layer].live[s], copies.host[s]);
    }
    copies.on_host = emit_.record(Stream::device_to_host);
  }
  if (layer == 0) return;
  ActivationCopies& before = copies_[layer - 1];
  emit_.wait(Stream::compute, before.on_host);
  for (std::size_t s = 0; s < before.host.size(); ++s) {
    if (before.host[s] != kNone) emit_.free(std::exchange(blocks_[layer - 1].live[s], kNone));
  }
}

void Lowering::bring_back_activations(std::size_t layer) {
  if (layer > 0) fetch_activations(layer - 1);
  if (layer + 1 < layers_.size()) emit_.wait(Stream::compute, copies_[layer].on_device);
}

void Lowering::fetch_activations(std::size_t layer) {
  ActivationCopies& copies = copies_[layer];
  emit_.module = layers_[layer];
  std::vector<BufferId>& live = blocks_[layer].live;
  for (std::size_t s = 0; s < copies.host.size(); ++s) {
    if (copies.host[s] == kNone) continue;
    const SlotSpec& spec = operators_.block.slots[s];
    live[s] = emit_.allocate({spec.bytes, Category::activations, spec.role});
  }
  emit_.wait_for(Stream::host_to_device, Stream::compute);
  for (std::size_t s = 0; s < copies.host.size(); ++s) {
    if (copies.host[s] == kNone) continue;
    emit_.copy(Stream::host_to_device, Operator::copy_host_to_device,
               operators_.block.slots[s].bytes, copies.host[s], live[s]);
  }
  copies.on_device = emit_.record(Stream::host_to_device);
}

}  // namespace foreshard::lowering
