// A queue of records from one thread to the thread that writes the file, without locks and without
// waiting: a ring of chunks. The producer fills a chunk; when the next one in the ring has not been
// emptied yet it puts a new one in between, so a slow writer costs memory and never time. All memory
// is the producer's, so that the low-priority consumer holds no allocator lock anybody waits for.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <span>

namespace foreshard::profiler {

// kChunk records are handed over to memory and back at a time.
template <typename Record, std::size_t kChunk>
class RecordBuffer {
 public:
  RecordBuffer() : writing_(new Chunk), reading_(writing_) {
    writing_->is_free.store(false, std::memory_order_relaxed);
    writing_->next = writing_;
  }
  ~RecordBuffer() {
    Chunk* const first = writing_;
    for (Chunk* chunk = first->next; chunk != first;) {
      Chunk* const next = chunk->next;
      delete chunk;
      chunk = next;
    }
    delete first;
  }
  RecordBuffer(const RecordBuffer&) = delete;
  RecordBuffer& operator=(const RecordBuffer&) = delete;

  // Producer only.
  void push(const Record& record) {
    if (filled_ == kChunk) start_next_chunk();
    writing_->records[filled_] = record;
    writing_->published.store(++filled_, std::memory_order_release);
  }

  // Consumer only: hands over what has been pushed so far, piece by piece.
  template <typename Function>
  void drain(Function&& take) {
    while (true) {
      const std::size_t published = reading_->published.load(std::memory_order_acquire);
      if (published > taken_) {
        take(std::span<const Record>(reading_->records).subspan(taken_, published - taken_));
        taken_ = published;
      }
      if (published < kChunk || !reading_->is_left.load(std::memory_order_acquire)) return;
      Chunk* const next = reading_->next;
      reading_->is_free.store(true, std::memory_order_release);
      reading_ = next;
      taken_ = 0;
    }
  }

 private:
  struct Chunk {
    std::array<Record, kChunk> records;
    Chunk* next = nullptr;  // the consumer's to read once is_left
    std::atomic<std::size_t> published = 0;
    std::atomic<bool> is_left = false;  // full, and the producer writes to the next one
    std::atomic<bool> is_free = true;   // nothing in it that the consumer has not taken
  };

  void start_next_chunk() {
    Chunk* next = writing_->next;
    if (!next->is_free.load(std::memory_order_acquire)) {
      Chunk* const added = new Chunk;
      added->next = next;
      writing_->next = next = added;
    }
    next->published.store(0, std::memory_order_relaxed);
    next->is_left.store(false, std::memory_order_relaxed);
    next->is_free.store(false, std::memory_order_relaxed);
    // Only now may the consumer follow: it must neither take a next chunk that another one is being
    // put before, nor what was published in the chunk when it was last used.
    writing_->is_left.store(true, std::memory_order_release);
    writing_ = next;
    filled_ = 0;
  }

  Chunk* writing_;
  std::size_t filled_ = 0;
  alignas(64) Chunk* reading_;  // the consumer's half, on a cache line of its own
  std::size_t taken_ = 0;
};

}  // namespace foreshard::profiler
