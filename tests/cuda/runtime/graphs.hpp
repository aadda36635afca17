// CUDA graphs of the runtime on the host: what streams are given while they are captured becomes a
// graph's nodes, whose arguments are as they were then, and runs when the graph is launched.
//
// Each captured stream is a branch. A branch runs on a thread of its own, in order, and pauses now
// and then at random, so that an order among branches that no event enforces does not hold by
// chance.
//
// As with CUDA, a call that a capture does not allow is an error and makes the capture invalid: it
// returns errors from then on, and its end returns no graph. Captures are those of
// cudaStreamCaptureModeThreadLocal, whatever mode is asked for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>

namespace foreshard::host_cuda {

class Stream;

using Nodes = std::vector<std::size_t>;  // by number

struct Node {
  std::size_t branch;
  std::function<void()> task;
  Nodes after;
};

class Capture {
 public:
  explicit Capture(Stream& origin) : streams_{&origin} {}

  // A new node of the stream's branch, which runs after those.
  std::size_t add(const Stream& stream, std::function<void()> task, Nodes after);
  void join(Stream& stream);
  bool is_open();
  bool is_valid();
  void invalidate();
  // Takes all streams out. An error: there is no graph.
  cudaError_t end(std::vector<Node>& graph);

 private:
  std::mutex mutex_;
  std::vector<Stream*> streams_;  // by branch
  std::vector<Node> nodes_;
  bool is_open_ = true, is_valid_ = true;
};

// Where a stream is in the capture that it belongs to.
struct Place {
  std::shared_ptr<Capture> capture;  // nullptr: in none
  Nodes after;                       // what comes next runs after these
};

// A call that the calling thread may not make while it captures: an error then.
cudaError_t check_capture();

class ExecutableGraph {
 public:
  explicit ExecutableGraph(std::vector<Node> nodes);
  ~ExecutableGraph();
  ExecutableGraph(const ExecutableGraph&) = delete;
  ExecutableGraph& operator=(const ExecutableGraph&) = delete;

  void run();  // returns when all nodes have

 private:
  void work(std::size_t branch);

  const std::vector<Node> nodes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> done_;
  std::size_t left_ = 0;
  std::uint64_t runs_ = 0;
  bool ends_ = false;
  std::vector<std::thread> threads_;  // by branch
};

}  // namespace foreshard::host_cuda
