#include "tests/cuda/runtime/graphs.hpp"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "tests/cuda/runtime/streams.hpp"

namespace foreshard::host_cuda {
namespace {

thread_local std::shared_ptr<Capture> capture_of_this_thread;

std::vector<bool> ancestors(const std::vector<Node>& nodes, const Nodes& of) {
  std::vector<bool> found(nodes.size());
  for (const std::size_t n : of) found[n] = true;
  for (std::size_t n = nodes.size(); n-- > 0;) {
    if (!found[n]) continue;
    for (const std::size_t before : nodes[n].after) found[before] = true;
  }
  return found;
}

}  // namespace

std::size_t Capture::add(const Stream& stream, std::function<void()> task, Nodes after) {
  const std::scoped_lock lock(mutex_);
  const auto branch =
      static_cast<std::size_t>(std::ranges::find(streams_, &stream) - streams_.begin());
  nodes_.push_back({branch, std::move(task), std::move(after)});
  return nodes_.size() - 1;
}

void Capture::join(Stream& stream) {
  const std::scoped_lock lock(mutex_);
  streams_.push_back(&stream);
}

bool Capture::is_open() {
  const std::scoped_lock lock(mutex_);
  return is_open_;
}

bool Capture::is_valid() {
  const std::scoped_lock lock(mutex_);
  return is_valid_;
}

void Capture::invalidate() {
  const std::scoped_lock lock(mutex_);
  is_valid_ = false;
}

cudaError_t Capture::end(std::vector<Node>& graph) {
  std::vector<Stream*> streams;
  {
    const std::scoped_lock lock(mutex_);
    is_open_ = false;
    streams = streams_;
  }
  std::vector<Nodes> ends;
  for (Stream* stream : streams) ends.push_back(stream->leave_capture());
  if (!is_valid_) return cudaErrorStreamCaptureInvalidated;
  const std::vector<bool> joined = ancestors(nodes_, ends.front());
  for (const Nodes& end : ends) {
    if (!std::ranges::all_of(end, [&](std::size_t n) { return joined[n]; })) {
      return cudaErrorStreamCaptureUnjoined;
    }
  }
  graph = std::move(nodes_);
  return cudaSuccess;
}

cudaError_t check_capture() {
  if (!capture_of_this_thread) return cudaSuccess;
  capture_of_this_thread->invalidate();
  return cudaErrorStreamCaptureUnsupported;
}

ExecutableGraph::ExecutableGraph(std::vector<Node> nodes) : nodes_(std::move(nodes)) {
  std::size_t branches = 0;
  for (const Node& node : nodes_) branches = std::max(branches, node.branch + 1);
  for (std::size_t b = 0; b < branches; ++b) threads_.emplace_back([this, b] { work(b); });
}

ExecutableGraph::~ExecutableGraph() {
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void ExecutableGraph::run() {
  std::unique_lock lock(mutex_);
  done_.assign(nodes_.size(), false);
  left_ = nodes_.size();
  ++runs_;
  changed_.notify_all();
  changed_.wait(lock, [this] { return left_ == 0; });
}

void ExecutableGraph::work(std::size_t branch) {
  std::minstd_rand random(static_cast<unsigned>(branch + 1));
  std::unique_lock lock(mutex_);
  for (std::uint64_t run = 1;; ++run) {
    changed_.wait(lock, [&] { return ends_ || runs_ == run; });
    if (ends_) return;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const Node& node = nodes_[n];
      if (node.branch != branch) continue;
      changed_.wait(lock, [&] {
        return std::ranges::all_of(node.after, [this](std::size_t b) { return done_[b]; });
      });
      lock.unlock();
      if (random() % 8 == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 100));
      }
      node.task();
      lock.lock();
      done_[n] = true;
      --left_;
      changed_.notify_all();
    }
  }
}

}  // namespace foreshard::host_cuda

using namespace foreshard::host_cuda;

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode /*mode*/) {
  if (capture_of_this_thread) return cudaErrorIllegalState;
  const auto capture = std::make_shared<Capture>(of(stream));
  if (!of(stream).enter_capture(capture)) return cudaErrorIllegalState;
  capture_of_this_thread = capture;
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = of(stream).capture() ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  const auto capture = of(stream).capture();
  if (!capture) return cudaErrorIllegalState;
  if (capture != capture_of_this_thread) return cudaErrorStreamCaptureWrongThread;
  capture_of_this_thread.reset();
  auto nodes = std::make_unique<std::vector<Node>>();
  const cudaError_t error = capture->end(*nodes);
  if (error == cudaSuccess) *graph = reinterpret_cast<cudaGraph_t>(nodes.release());
  return error;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long /*flags*/) {
  auto made = std::make_shared<ExecutableGraph>(*reinterpret_cast<const std::vector<Node>*>(graph));
  *executable =
      reinterpret_cast<cudaGraphExec_t>(new std::shared_ptr<ExecutableGraph>(std::move(made)));
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<std::vector<Node>*>(graph);
  return cudaSuccess;
}
// A launch that has not run keeps what it needs.
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete reinterpret_cast<std::shared_ptr<ExecutableGraph>*>(executable);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  if (const auto capture = of(stream).capture()) {
    capture->invalidate();
    return cudaErrorStreamCaptureUnsupported;
  }
  return of(stream).issue(
      [graph = *reinterpret_cast<std::shared_ptr<ExecutableGraph>*>(executable)] { graph->run(); });
}

}  // extern "C"
