#include "profiler/record/record_buffer.hpp"

namespace foreshard::profiler {

RecordBuffer::RecordBuffer() : writing_(new Chunk), reading_(writing_) {
  writing_->free.store(false, std::memory_order_relaxed);
  writing_->next.store(writing_, std::memory_order_relaxed);
}

RecordBuffer::~RecordBuffer() {
  Chunk* const first = writing_;
  for (Chunk* chunk = first->next; chunk != first;) {
    Chunk* const next = chunk->next;
    delete chunk;
    chunk = next;
  }
  delete first;
}

void RecordBuffer::next_chunk() {
  Chunk* next = writing_->next.load(std::memory_order_relaxed);
  if (!next->free.load(std::memory_order_acquire)) {
    Chunk* const added = new Chunk;
    added->next.store(next, std::memory_order_relaxed);
    next = added;
  }
  next->published.store(0, std::memory_order_relaxed);
  // Release: a consumer that sees the chunk in use must not see what was published in it before.
  next->free.store(false, std::memory_order_release);
  writing_->next.store(next, std::memory_order_release);
  writing_ = next;
  filled_ = 0;
}

}  // namespace foreshard::profiler
