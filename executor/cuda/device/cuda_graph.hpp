// What a device has been issued as a CUDA graph.
//
// The first stream is captured, in thread-local mode, and all others join it at the beginning and
// are joined by it at the end, so that a graph stands between what was issued before it and after.
// In between, the program's own events order the streams. An event recorded before the graph is
// reached when the graph begins: nothing waits for it within.
//
// Events of a capture are the graph's own, as they may be neither queried nor waited for outside.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "executor/cuda/device/stream_log.hpp"
#include "executor/device/device_graph.hpp"
#include "executor/device/run_control.hpp"
#include "models/program/step_program.hpp"

namespace foreshard::executor::cuda {

class CudaDevice;

class CudaGraph final : public DeviceGraph {
 public:
  // Throws std::runtime_error where CUDA refuses.
  CudaGraph(CudaDevice& device, std::span<const cudaStream_t> streams);
  ~CudaGraph() override;

  // Captures what `issue` issues, once. Throws what it throws, and std::runtime_error where
  // something cannot be in a graph.
  void capture(const std::function<void()>& issue);
  void launch(Tag later) override;

  // While it is captured; streams by number.

  void record(std::size_t stream, EventId event);
  void wait(std::size_t stream, EventId event);
  StreamLogs& logs() { return *logs_; }

  const std::map<EventId, cudaEvent_t>& recorded() const { return recorded_; }
  cudaEvent_t finished() const { return finished_; }  // of the last launch

 private:
  CudaDevice& device_;
  const std::vector<cudaStream_t> streams_;
  std::vector<cudaEvent_t> joins_;  // by stream, around launches
  cudaEvent_t finished_ = nullptr;
  const std::shared_ptr<StreamLogs> logs_;   // whoever watches a launch may have them for longer
  std::vector<cudaEvent_t> captured_joins_;  // by stream
  std::map<EventId, cudaEvent_t> recorded_;
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace foreshard::executor::cuda
