#include "models/lowering/training/activation_offload.hpp"

namespace foreshard::lowering {

ActivationOffload::ActivationOffload(Emitter& emit, const Segment& block,
                                     const std::vector<Placement>& layers,
                                     std::vector<const std::vector<Slot>*> kept)
    : emit_(emit), block_(block), layers_(layers), kept_(std::move(kept)), copies_(layers.size()) {}

void ActivationOffload::allocate_host_copies() {
  for (std::size_t i = 0; i + 1 < layers_.size(); ++i) {
    emit_.focus(emit_.unit(), layers_[i].base);
    for (const Slot slot : *kept_[i]) {
      copies_[i].host.push_back(
          emit_.allocate({spec(slot).bytes, Category::activations, Role::host_copy, kNone,
                          Stream::compute, true, true}));
    }
  }
}

void ActivationOffload::after_forward(std::vector<Frame>& blocks, std::size_t layer) {
  if (!is_last(layer)) {
    Copies& copies = copies_[layer];
    const std::vector<Slot>& kept = *kept_[layer];
    emit_.wait_for(Stream::device_to_host, Stream::compute);
    for (std::size_t k = 0; k < kept.size(); ++k) {
      emit_.copy(Stream::device_to_host, Operator::copy_device_to_host, spec(kept[k]).bytes,
                 blocks[layer].live[static_cast<std::size_t>(kept[k])], copies.host[k]);
    }
    copies.on_host = emit_.record(Stream::device_to_host);
  }
  if (layer == 0) return;
  emit_.wait(Stream::compute, copies_[layer - 1].on_host);
  for (const Slot slot : *kept_[layer - 1]) emit_.free(blocks[layer - 1].take(slot));
}

void ActivationOffload::before_backward(std::vector<Frame>& blocks, std::size_t layer) {
  if (layer > 0) fetch(blocks[layer - 1], layer - 1);
  if (!is_last(layer)) emit_.wait(Stream::compute, copies_[layer].on_device);
}

void ActivationOffload::fetch(Frame& block, std::size_t layer) {
  Copies& copies = copies_[layer];
  const std::vector<Slot>& kept = *kept_[layer];
  emit_.focus(emit_.unit(), layers_[layer].base);
  for (const Slot slot : kept) {
    block.live[static_cast<std::size_t>(slot)] =
        emit_.allocate({spec(slot).bytes, Category::activations, spec(slot).role});
  }
  emit_.wait_for(Stream::host_to_device, Stream::compute);
  for (std::size_t k = 0; k < kept.size(); ++k) {
    emit_.copy(Stream::host_to_device, Operator::copy_host_to_device, spec(kept[k]).bytes,
               copies.host[k], block.live[static_cast<std::size_t>(kept[k])]);
  }
  copies.on_device = emit_.record(Stream::host_to_device);
}

}  // namespace foreshard::lowering
