// One rank's GPU as a device: streams and events of CUDA, memory behind the caching allocator, and the
// kernels of executor/cuda/kernels. What calls come to where that is not plain:
//
//   launch        pointers are kernel arguments by value, as is what no step changes of KernelScalars
//   set_scalars   a kernel that stores its arguments in device memory
//   call          cudaLaunchHostFunc, which may not call CUDA and must not wait long; HostCommunicator's
//                 collectives do both, so ranks on GPUs have communicators of their own
//   begin         events are recorded again without a reset: which record a wait means is settled when it
//                 is issued
//   host_wait,    polling cudaEventQuery, with sleeps between that an abort ends: nothing here blocks in a
//   synchronize   call of CUDA but stop and the freeing of memory, which waits for the device first
//   stop          waits for the streams; after an abort they drain because of ncclCommAbort
//   has_finished, words of the host that streams write every few instructions (cuStreamWriteValue64)
//   progress
//   set_observer  nothing: CUPTI reports kernels to the recorder, by the tag as external correlation id
//
// The current device is set on every thread that calls it. What CUDA refuses is thrown as
// std::runtime_error, which ends the run.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "executor/cuda/device/cuda_graph.hpp"
#include "executor/cuda/device/cuda_memory.hpp"
#include "executor/cuda/device/stream_log.hpp"
#include "executor/cuda/kernels/kernel_backend.hpp"
#include "executor/cuda/kernels/kernels.hpp"
#include "executor/cuda/kernels/matmul.hpp"
#include "executor/device/device.hpp"
#include "executor/device/kernel_choices.hpp"

namespace foreshard::executor::cuda {

class CudaDevice : public Device {
 public:
  // On GPU number `gpu`. Throws std::runtime_error where CUDA refuses.
  CudaDevice(RunControl& run, int rank, int gpu, std::span<const StreamInfo> streams,
             const KernelChoices& choices = {});
  ~CudaDevice() override;

  void begin(const Program& program) override;
  void set_scalars(const KernelScalars& scalars) override;
  void launch(Stream stream, Tag tag, const KernelLaunch& launch) override;
  void copy(Stream stream, Tag tag, std::span<std::byte> to, const std::byte* from) override;
  void fill(Stream stream, Tag tag, std::span<std::byte> memory, std::byte value) override;
  void call(Stream stream, Tag tag, const StreamTask& task) override;
  void record(Stream stream, EventId event, Tag tag) override;
  void wait(Stream stream, EventId event, Tag tag) override;
  void host_wait(EventId event) override;
  void synchronize() override;
  void stops_issuing() override { logs_->mark(); }
  void stop() override;
  std::unique_ptr<DeviceGraph> capture(const std::function<void()>& issue) override;

  SegmentBacking& backing() override { return memory_; }
  std::byte* pointer(Address address) const override { return memory_.pointer(address); }
  std::byte* allocate_host(Bytes bytes) override;
  void free_host(std::byte* memory, Bytes bytes) override;

  bool has_finished(Tag last) const override { return logs_->has_finished(last); }
  Progress progress() const override;
  void set_observer(Stream, TaskObserver*) override {}
  // NVTX ranges of the domain "foreshard", with the tag as payload.
  void range_begin(std::string_view name, Tag tag) override;
  void range_end() override;

  // For communicators, which issue work of their own on the rank's streams.
  int gpu() const { return gpu_; }
  cudaStream_t native(Stream stream) const { return tools(stream).stream; }
  // Lets other GPUs read and write the rank's memory.
  void share_memory_with(const std::set<int>& gpus) { memory_.share_with(gpus); }
  // Something has been issued on the stream under this tag.
  void issued(Stream stream, Tag tag) { log(stream).issued(tag); }
  // Around a communicator's collective. `operation`: a literal.
  void begin_collective(Stream stream, const void* communicator, const char* operation);
  void end_collective(Stream stream, Tag tag);
  // The collective of the communicator that a stream is in; nullptr: none. Any thread.
  const char* collective(const void* communicator) const { return logs_->collective(communicator); }
  // The graph that what is issued now goes into; nullptr: it is done.
  CudaGraph* captured() const { return captured_; }

  // For graphs, which are launched on the first stream.
  void begin_launch(const std::shared_ptr<StreamLogs>& graph, Tag later);
  void end_launch(const CudaGraph& graph);

 private:
  const StreamTools& tools(Stream stream) const { return tools_[static_cast<std::size_t>(stream)]; }
  StreamLog& log(Stream stream);
  std::vector<cudaStream_t> streams() const;
  void write_scalars();
  void wait_for(cudaEvent_t event);  // throws Aborted
  cudaEvent_t& event(EventId id);

  RunControl& run_;
  const int gpu_;
  std::unique_ptr<MatrixProducts> products_;
  std::vector<std::unique_ptr<KernelBackend>> backends_;
  CudaMemory memory_;
  std::vector<StreamTools> tools_;  // by stream
  std::unique_ptr<StreamLogs> logs_;
  std::vector<cudaEvent_t> events_;   // of programs, by number; made when first recorded
  std::vector<cudaEvent_t> reached_;  // by stream: for synchronize
  const Program* program_ = nullptr;
  OptimizerScalars* scalars_ = nullptr;
  std::optional<KernelScalars> next_scalars_;  // that are not there yet

  CudaGraph* captured_ = nullptr;
  // By number of the event: that of the graph which recorded it last; nullptr: it was no graph.
  std::vector<cudaEvent_t> finished_with_;
};

}  // namespace foreshard::executor::cuda
