// How far the streams of a device have come, for whoever watches: after every few instructions an event
// is recorded, and what has been issued before it has finished when the event is reached.
//
// The rank's host thread marks; any thread may ask. Whoever asks about work behind the last mark records
// one more, as the host thread may never issue anything again.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include <cuda_runtime_api.h>

#include "executor/device/task.hpp"

namespace foreshard::executor::cuda {

// Of one stream.
class StreamMarks {
 public:
  explicit StreamMarks(cudaStream_t stream) : stream_(stream) {}
  ~StreamMarks();
  StreamMarks(const StreamMarks&) = delete;
  StreamMarks& operator=(const StreamMarks&) = delete;

  // Work of this tag has been issued.
  void issued(Tag tag);
  // Marks the work that has been issued: what comes next may never finish.
  void mark_all();
  // Whether all work of tags up to `last` that has been issued has finished.
  bool has_finished(Tag last);
  // Instructions that have certainly finished, and the last one of them.
  std::uint64_t finished();
  Tag last_finished() const { return last_finished_; }

 private:
  static constexpr int kStride = 16;  // instructions between marks
  struct Mark {
    Tag tag = 0;
    std::uint64_t count = 0;  // of instructions up to it
    cudaEvent_t event = nullptr;
    Tag next = 0;  // of the first instruction behind it
  };
  void mark();
  void look();  // takes out the marks that have been reached

  cudaStream_t stream_;
  std::mutex mutex_;
  std::deque<Mark> marks_;
  std::vector<cudaEvent_t> unused_;
  Tag last_issued_ = 0, last_finished_ = 0, next_ = 0;
  std::uint64_t issued_ = 0, finished_ = 0;
};

}  // namespace foreshard::executor::cuda
