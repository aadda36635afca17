#include "executor/cuda/device/graph_marks.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "executor/cuda/device/events.hpp"
#include "executor/cuda/kernels/check.hpp"
#include "executor/cuda/kernels/word.hpp"

namespace foreshard::executor::cuda {

GraphMarks::GraphMarks(std::span<const cudaStream_t> streams) : loaded_(new_event()) {
  for (const cudaStream_t stream : streams) lanes_.push_back({stream});
  const std::size_t words = streams.size() * kApart;
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, words * sizeof(std::uint64_t), cudaHostAllocPortable),
        "cudaHostAlloc");
  words_ = static_cast<std::uint64_t*>(memory);
  std::fill_n(words_, words, std::uint64_t{0});
  // A kernel is loaded when it is first started, which is better not within a capture.
  write_word(streams[0], &word(0), 0);
  check(cudaEventRecord(loaded_, streams[0]), "cudaEventRecord");
}

// A graph whose capture was refused goes at once: the kernel that first writes to its words may
// still have to run.
GraphMarks::~GraphMarks() {
  constexpr std::chrono::microseconds kBetweenPolls{20};
  while (cudaEventQuery(loaded_) == cudaErrorNotReady) std::this_thread::sleep_for(kBetweenPolls);
  static_cast<void>(cudaEventDestroy(loaded_));
  static_cast<void>(cudaFreeHost(words_));
}

void GraphMarks::issued(std::size_t stream, Tag tag) {
  if (tag == kNoTag) return;
  Lane& lane = lanes_[stream];
  lane.last = tag & ~kUnreported;
  if (++lane.issued % kStride == 0) mark(stream, nullptr, nullptr);
}

void GraphMarks::collective(std::size_t stream, const void* communicator, const char* operation) {
  mark(stream, communicator, operation);
}

void GraphMarks::mark(std::size_t stream, const void* communicator, const char* operation) {
  Lane& lane = lanes_[stream];
  lane.marks.push_back({lane.issued, lane.last, communicator, operation});
  write_word(lane.stream, &word(stream), lane.marks.size());
}

void GraphMarks::begin(Tag later) {
  const std::scoped_lock lock(mutex_);
  for (std::size_t s = 0; s < lanes_.size(); ++s) {
    std::atomic_ref(word(s)).store(0, std::memory_order_relaxed);
  }
  ++launches_;
  later_ = later;
}

const GraphMarks::Mark* GraphMarks::reached(std::size_t stream) {
  const std::uint64_t count = std::atomic_ref(word(stream)).load(std::memory_order_relaxed);
  return count == 0 ? nullptr : &lanes_[stream].marks[count - 1];
}

Progress GraphMarks::progress() {
  const std::scoped_lock lock(mutex_);
  Progress all;
  if (launches_ == 0) return all;
  for (std::size_t s = 0; s < lanes_.size(); ++s) {
    all.retired += (launches_ - 1) * lanes_[s].issued;
    const Mark* const mark = reached(s);
    if (mark == nullptr) continue;
    all.retired += mark->count;
    all.last_instruction = std::max(all.last_instruction, mark->tag + later_);
  }
  return all;
}

const char* GraphMarks::running(const void* communicator) {
  const std::scoped_lock lock(mutex_);
  if (launches_ == 0) return nullptr;
  for (std::size_t s = 0; s < lanes_.size(); ++s) {
    const Mark* const mark = reached(s);
    if (mark != nullptr && mark->communicator == communicator) return mark->operation;
  }
  return nullptr;
}

}  // namespace foreshard::executor::cuda
