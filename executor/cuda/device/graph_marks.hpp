// How far the launches of a graph have come: after every few instructions, and around each
// collective, the graph writes a number into a word of the host's. Events cannot tell, as those
// recorded within a graph may not be queried.
//
// The rank's host thread makes marks and begins launches; any thread may ask.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include <cuda_runtime_api.h>

#include "executor/device/progress.hpp"
#include "executor/device/task.hpp"

namespace foreshard::executor::cuda {

class GraphMarks {
 public:
  explicit GraphMarks(std::span<const cudaStream_t> streams);
  ~GraphMarks();
  GraphMarks(const GraphMarks&) = delete;
  GraphMarks& operator=(const GraphMarks&) = delete;

  // While the graph is captured. Streams by number.

  void issued(std::size_t stream, Tag tag);
  // A communicator's collective begins, or ends (nullptr). `operation`: a literal.
  void collective(std::size_t stream, const void* communicator, const char* operation);

  // A launch comes, after the one before has finished. `later`: as of DeviceGraph.
  void begin(Tag later);
  // Of all launches: instructions that have certainly finished, and the last one of them.
  Progress progress();
  // The collective of a communicator that a launch is in; nullptr: none.
  const char* running(const void* communicator);

 private:
  static constexpr std::uint64_t kStride = 64;  // instructions between marks
  static constexpr std::size_t kApart = 8;      // words; each has a cache line
  struct Mark {
    std::uint64_t count = 0;  // of the stream's instructions up to it
    Tag tag = 0;
    const void* communicator = nullptr;
    const char* operation = nullptr;
  };
  struct Lane {
    cudaStream_t stream = nullptr;
    std::vector<Mark> marks{};
    std::uint64_t issued = 0;
    Tag last = 0;
  };
  void mark(std::size_t stream, const void* communicator, const char* operation);
  std::uint64_t& word(std::size_t stream) { return words_[stream * kApart]; }
  // The last mark that the launch has come to; nullptr: none.
  const Mark* reached(std::size_t stream);

  std::mutex mutex_;
  std::vector<Lane> lanes_;
  std::uint64_t* words_ = nullptr;  // for each stream, the number of marks it has come to
  cudaEvent_t loaded_;              // the kernel that marks
  std::uint64_t launches_ = 0;
  Tag later_ = 0;
};

}  // namespace foreshard::executor::cuda
