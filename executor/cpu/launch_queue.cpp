#include "executor/cpu/launch_queue.hpp"

#include <algorithm>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace foreshard::executor {
namespace {

// Copies a list to `at`, which moves behind it.
template <typename T>
std::span<const T> copy_list(std::span<const T> list, std::byte*& at) {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::max_align_t));
  T* const copy = reinterpret_cast<T*>(at);
  std::uninitialized_copy(list.begin(), list.end(), copy);
  at += list.size_bytes();
  return {copy, list.size()};
}

}  // namespace

const LaunchQueue::Entry& LaunchQueue::add(const KernelLaunch& launch) {
  static_assert(std::is_trivially_destructible_v<Entry> && alignof(Entry) == alignof(void*));
  const std::size_t bytes = sizeof(Entry) + launch.reads.size_bytes() + launch.writes.size_bytes();
  Chunk* left = nullptr;
  if (fill_ == nullptr || filled_ + bytes > fill_->size) {
    left = fill_;
    fill_ = &fresh_chunk(bytes);
    filled_ = 0;
  }
  std::byte* at = fill_->bytes.get() + filled_;
  filled_ += bytes;
  Entry* const entry = new (at) Entry{launch, left};
  at += sizeof(Entry);
  entry->launch.reads = copy_list(launch.reads, at);
  entry->launch.writes = copy_list(launch.writes, at);
  return *entry;
}

void LaunchQueue::begin(const Entry& entry) {
  Chunk* const left = entry.left;
  if (left == nullptr) return;
  left->next = emptied_.load(std::memory_order_relaxed);
  while (!emptied_.compare_exchange_weak(left->next, left, std::memory_order_release)) {
  }
}

// The first unused chunk that is large enough.
LaunchQueue::Chunk& LaunchQueue::fresh_chunk(std::size_t at_least) {
  for (Chunk* chunk = emptied_.exchange(nullptr, std::memory_order_acquire); chunk != nullptr;) {
    Chunk* const next = std::exchange(chunk->next, unused_);
    unused_ = std::exchange(chunk, next);
  }
  for (Chunk** link = &unused_; *link != nullptr; link = &(*link)->next) {
    if ((*link)->size >= at_least) return *std::exchange(*link, (*link)->next);
  }
  const std::size_t size = std::max(kChunk, at_least);
  chunks_.push_back(std::make_unique<Chunk>(Chunk{size, std::make_unique<std::byte[]>(size)}));
  return *chunks_.back();
}

}  // namespace foreshard::executor
