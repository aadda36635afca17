#include "executor/device/entry_queue.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace foreshard::executor {

std::byte* EntryQueue::add(std::size_t bytes) {
  const Step step = sizeof(Step) + (bytes + 7) / 8 * 8;
  if (fill_ == nullptr || filled_ + step + sizeof(Step) > fill_->size) {
    Chunk* const chunk = fresh_chunk(step + sizeof(Step));
    if (fill_ == nullptr) {
      first_ = chunk;
    } else {
      fill_->next = chunk;
      std::memset(fill_->bytes.get() + filled_, 0, sizeof(Step));
    }
    fill_ = chunk;
    filled_ = 0;
  }
  std::byte* const at = fill_->bytes.get() + filled_;
  std::memcpy(at, &step, sizeof step);
  filled_ += step;
  return at + sizeof step;
}

std::byte* EntryQueue::next() {
  if (drain_ == nullptr) drain_ = first_;
  Step step = 0;
  std::memcpy(&step, drain_->bytes.get() + drained_, sizeof step);
  if (step == 0) {
    Chunk* const empty = std::exchange(drain_, drain_->next);
    empty->next = emptied_.load(std::memory_order_relaxed);
    while (!emptied_.compare_exchange_weak(empty->next, empty, std::memory_order_release)) {
    }
    drained_ = 0;
    std::memcpy(&step, drain_->bytes.get(), sizeof step);
  }
  return drain_->bytes.get() + std::exchange(drained_, drained_ + step) + sizeof step;
}

// The first unused chunk that is large enough.
EntryQueue::Chunk* EntryQueue::fresh_chunk(std::size_t at_least) {
  for (Chunk* chunk = emptied_.exchange(nullptr, std::memory_order_acquire); chunk != nullptr;) {
    Chunk* const next = std::exchange(chunk->next, unused_);
    unused_ = std::exchange(chunk, next);
  }
  for (Chunk** link = &unused_; *link != nullptr; link = &(*link)->next) {
    if ((*link)->size >= at_least) return std::exchange(*link, (*link)->next);
  }
  const std::size_t size = std::max(kChunk, at_least);
  chunks_.push_back(std::make_unique<Chunk>(Chunk{size, std::make_unique<std::byte[]>(size)}));
  return chunks_.back().get();
}

}  // namespace foreshard::executor
