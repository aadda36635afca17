// What streams have been issued, and how far they have come, for whoever watches: the watchdog, and ranks
// that are out of memory.
//
// A stream's instructions are taken together into stretches of a few. At the end of each the stream writes
// the stretch's number into a word in memory of the host (cuStreamWriteValue64), so that any thread can
// read how far it is without a call of CUDA. Such a write takes no place on a multiprocessor, is no kernel
// in recordings, and can be part of a graph, in which events cannot be asked.
//
// A collective is a stretch of its own, and so is the launch of a graph: the first stretch that a stream
// has not come to the end of says whom it waits for. Within a graph that is told by logs of the graph's
// own, which are written while it is captured; each launch sets their words to zero.
//
// The rank's host thread writes; any thread may ask. No lock is held while CUDA is called, which may wait
// for the device.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "executor/device/progress.hpp"
#include "executor/device/task.hpp"

namespace foreshard::executor::cuda {

class StreamLogs;

// Of one stream. What CUDA refuses is thrown as std::runtime_error.
class StreamLog {
 public:
  // `word`: zero, in pinned memory of the host; it outlives what the stream has been issued.
  StreamLog(cudaStream_t stream, std::uint64_t& word) : stream_(stream), word_(word) {}

  // Work of this tag has been issued.
  void issued(Tag tag);
  // A stretch ends with what has been issued: what comes next may never finish, or never come.
  void mark();
  // What comes next is a collective, up to end(). `operation`: a literal.
  void begin_collective(const void* communicator, const char* operation);
  // What comes next is a launch of a graph, whose tags count as `later` greater, up to end().
  void begin_launch(std::shared_ptr<StreamLogs> graph, Tag later);
  void end();

  // What has certainly finished: how much, and the last of it.
  Progress progress();
  // Whether everything of tags up to `last` that has been issued has certainly finished. Graphs count as
  // finished.
  bool has_finished(Tag last);
  // The communicator's collective that the stream is in; nullptr: none.
  const char* collective(const void* communicator);
  Progress all();  // as if everything that has been issued had finished

 private:
  friend class StreamLogs;
  static constexpr std::uint64_t kLongest = 32;  // instructions
  struct Stretch {
    std::uint64_t count = 0;  // of the stream's instructions up to its end
    Tag first = kNoTag;       // of its own
    Tag last = 0;             // before its end
    const void* communicator = nullptr;
    const char* operation = nullptr;
    std::shared_ptr<StreamLogs> graph{};
    Tag later = 0;
  };
  void end(Stretch next);
  void write(std::uint64_t value);
  // By number from the first that is kept; the lock is held.
  std::size_t reached() const;
  const Stretch& stretch(std::size_t i) const { return i < ended_.size() ? ended_[i] : open_; }

  const cudaStream_t stream_;
  std::uint64_t& word_;
  std::mutex mutex_;
  std::uint64_t first_kept_ = 0;  // number
  std::deque<Stretch> ended_ =
      std::deque<Stretch>(1);  // from the last that the stream has come to the end of
  Stretch open_;
};

// Of the streams of a device or of a graph.
class StreamLogs {
 public:
  explicit StreamLogs(std::span<const cudaStream_t> streams);
  ~StreamLogs();  // once the streams have finished
  StreamLogs(const StreamLogs&) = delete;
  StreamLogs& operator=(const StreamLogs&) = delete;

  StreamLog& operator[](std::size_t stream) { return logs_[stream]; }
  void mark();
  // Of a graph: what `stream` is issued next is the graph from its beginning.
  void begin_anew(cudaStream_t stream);

  Progress progress(Tag later = 0);
  bool has_finished(Tag last);
  const char* collective(const void* communicator);
  Progress all();

 private:
  std::uint64_t* words_ = nullptr;
  std::deque<StreamLog> logs_;  // by stream
};

}  // namespace foreshard::executor::cuda
