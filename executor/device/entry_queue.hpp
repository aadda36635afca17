// Entries of any size between the thread that adds them and the one that takes them in the same order, in
// chunks of memory that are used again: adding allocates nothing once the queue has reached its working
// length, and it grows without bound.
//
// That an entry is there the taker learns elsewhere (StreamWorker publishes counts). Entries are not
// destroyed.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

namespace foreshard::executor {

class EntryQueue {
 public:
  // By one thread: room for an entry, aligned to 8 bytes, until the one after it is taken.
  std::byte* add(std::size_t bytes);
  // By another: the next entry; there is one.
  std::byte* next();

 private:
  struct Chunk {
    std::size_t size = 0;
    std::unique_ptr<std::byte[]> bytes;
    Chunk* next = nullptr;
  };
  // Bytes from an entry's beginning to the next one's, before each; 0: that one is in the next chunk.
  using Step = std::size_t;
  static constexpr std::size_t kChunk = 16 << 10;

  Chunk* fresh_chunk(std::size_t at_least);

  // The adding thread's.
  std::vector<std::unique_ptr<Chunk>> chunks_;
  Chunk* unused_ = nullptr;
  Chunk* fill_ = nullptr;
  std::size_t filled_ = 0;  // bytes of it

  alignas(64) std::atomic<Chunk*> first_{nullptr};  // of all
  std::atomic<Chunk*> emptied_{nullptr};

  // The taking thread's.
  alignas(64) Chunk* drain_ = nullptr;
  std::size_t drained_ = 0;  // bytes of it
};

}  // namespace foreshard::executor
