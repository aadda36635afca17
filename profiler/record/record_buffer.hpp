// A queue of records from one thread to the thread that writes the file, without locks and without
// waiting: a ring of chunks. The producer fills a chunk; when the next one in the ring has not been
// emptied yet it puts a new one in between, so a slow writer costs memory and never time. All memory
// is the producer's, so that the low-priority consumer holds no allocator lock anybody waits for.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <span>

#include "traces/fst_file.hpp"

namespace foreshard::profiler {

class RecordBuffer {
 public:
  RecordBuffer();
  ~RecordBuffer();
  RecordBuffer(const RecordBuffer&) = delete;
  RecordBuffer& operator=(const RecordBuffer&) = delete;

  // Producer only.
  void push(const traces::PackedRecord& record) {
    if (filled_ == kChunk) next_chunk();
    writing_->records[filled_] = record;
    writing_->published.store(++filled_, std::memory_order_release);
  }

  // Consumer only: hands over what has been pushed so far, piece by piece.
  template <typename Function>
  void drain(Function&& take) {
    while (true) {
      const std::size_t published = reading_->published.load(std::memory_order_acquire);
      if (published > taken_) {
        const std::span<const traces::PackedRecord> records(reading_->records);
        take(records.subspan(taken_, published - taken_));
        taken_ = published;
      }
      if (published < kChunk) return;
      Chunk* next = reading_->next.load(std::memory_order_acquire);
      if (next == reading_ || next->free.load(std::memory_order_acquire)) return;
      reading_->free.store(true, std::memory_order_release);
      reading_ = next;
      taken_ = 0;
    }
  }

 private:
  static constexpr std::size_t kChunk = 1024;  // records: 40 KiB, an L1 cache and no more

  struct Chunk {
    std::array<traces::PackedRecord, kChunk> records;
    std::atomic<std::size_t> published = 0;
    std::atomic<bool> free = true;  // nothing in it that the consumer has not taken
    std::atomic<Chunk*> next = nullptr;
  };

  void next_chunk();

  Chunk* writing_;
  std::size_t filled_ = 0;
  alignas(64) Chunk* reading_;  // the consumer's half, on a cache line of its own
  std::size_t taken_ = 0;
};

}  // namespace foreshard::profiler
