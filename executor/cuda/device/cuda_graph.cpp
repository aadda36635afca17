#include "executor/cuda/device/cuda_graph.hpp"

#include "executor/cuda/device/cuda_device.hpp"
#include "executor/cuda/device/events.hpp"

namespace foreshard::executor::cuda {

CudaGraph::CudaGraph(CudaDevice& device, std::span<const cudaStream_t> streams)
    : device_(device),
      streams_(streams.begin(), streams.end()),
      finished_(new_event()),
      logs_(std::make_shared<StreamLogs>(streams)) {
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    joins_.push_back(new_event());
    captured_joins_.push_back(new_event());
  }
}

CudaGraph::~CudaGraph() {
  if (graph_ != nullptr) static_cast<void>(cudaGraphExecDestroy(graph_));
  static_cast<void>(cudaEventDestroy(finished_));
  for (const cudaEvent_t event : joins_) static_cast<void>(cudaEventDestroy(event));
  for (const cudaEvent_t event : captured_joins_) static_cast<void>(cudaEventDestroy(event));
  for (const auto& [id, event] : recorded_) static_cast<void>(cudaEventDestroy(event));
}

void CudaGraph::capture(const std::function<void()>& issue) {
  check(cudaStreamBeginCapture(streams_[0], cudaStreamCaptureModeThreadLocal),
        "cudaStreamBeginCapture");
  cudaGraph_t captured = nullptr;
  try {
    check(cudaEventRecord(captured_joins_[0], streams_[0]), "cudaEventRecord");
    for (std::size_t s = 1; s < streams_.size(); ++s) {
      check(cudaStreamWaitEvent(streams_[s], captured_joins_[0], 0), "cudaStreamWaitEvent");
    }
    issue();
    for (std::size_t s = 1; s < streams_.size(); ++s) {
      check(cudaEventRecord(captured_joins_[s], streams_[s]), "cudaEventRecord");
      check(cudaStreamWaitEvent(streams_[0], captured_joins_[s], 0), "cudaStreamWaitEvent");
    }
  } catch (...) {
    if (cudaStreamEndCapture(streams_[0], &captured) == cudaSuccess) {
      static_cast<void>(cudaGraphDestroy(captured));
    }
    static_cast<void>(cudaGetLastError());  // it is not an error of the next call
    throw;
  }
  check(cudaStreamEndCapture(streams_[0], &captured), "cudaStreamEndCapture");
  // Nodes keep the priorities of the streams that they were captured on.
  const cudaError_t error =
      cudaGraphInstantiate(&graph_, captured, cudaGraphInstantiateFlagUseNodePriority);
  static_cast<void>(cudaGraphDestroy(captured));
  check(error, "cudaGraphInstantiate");
}

void CudaGraph::launch(Tag later) {
  device_.begin_launch(logs_, later);
  for (std::size_t s = 1; s < streams_.size(); ++s) {
    check(cudaEventRecord(joins_[s], streams_[s]), "cudaEventRecord");
    check(cudaStreamWaitEvent(streams_[0], joins_[s], 0), "cudaStreamWaitEvent");
  }
  check(cudaGraphLaunch(graph_, streams_[0]), "cudaGraphLaunch");
  check(cudaEventRecord(finished_, streams_[0]), "cudaEventRecord");
  for (std::size_t s = 1; s < streams_.size(); ++s) {
    check(cudaStreamWaitEvent(streams_[s], finished_, 0), "cudaStreamWaitEvent");
  }
  device_.end_launch(*this);
}

void CudaGraph::record(std::size_t stream, EventId id) {
  cudaEvent_t& event = recorded_[id];
  if (event == nullptr) event = new_event();
  check(cudaEventRecord(event, streams_[stream]), "cudaEventRecord");
}

void CudaGraph::wait(std::size_t stream, EventId id) {
  const auto found = recorded_.find(id);
  if (found == recorded_.end()) return;
  check(cudaStreamWaitEvent(streams_[stream], found->second, 0), "cudaStreamWaitEvent");
}

}  // namespace foreshard::executor::cuda
