#include "executor/cuda/device/cuda_device.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include <nvtx3/nvToolsExt.h>

#include "executor/cuda/device/events.hpp"
#include "executor/cuda/kernels/attention_backend.hpp"
#include "executor/device/clock.hpp"

namespace foreshard::executor::cuda {
namespace {

// A call of the host in stream order may not throw into CUDA: it becomes the rank's failure.
struct HostCall {
  RunControl& run;
  int rank;
  StreamTask task;
};

void CUDART_CB run_host_call(void* argument) {
  const std::unique_ptr<HostCall> call(static_cast<HostCall*>(argument));
  if (call->run.is_aborted()) return;
  try {
    call->task();
  } catch (const Aborted&) {
  } catch (const std::exception& error) {
    call->run.fail(call->rank, error.what());
  }
}

struct ResetOnExit {
  CudaGraph*& graph;
  ~ResetOnExit() { graph = nullptr; }
};

nvtxDomainHandle_t nvtx_domain() {
  static const nvtxDomainHandle_t domain = nvtxDomainCreateA("foreshard");
  return domain;
}

// Registered once: tools then take a handle instead of a text. Of the calling thread.
nvtxStringHandle_t registered(std::string_view name) {
  thread_local std::map<std::string, nvtxStringHandle_t, std::less<>> handles;
  const auto known = handles.find(name);
  if (known != handles.end()) return known->second;
  const std::string text(name);
  return handles[text] = nvtxDomainRegisterStringA(nvtx_domain(), text.c_str());
}

}  // namespace

CudaDevice::CudaDevice(RunControl& run, int rank, int gpu, std::span<const StreamInfo> streams,
                       const KernelChoices& choices)
    : Device(rank), run_(run), gpu_(gpu), memory_(gpu, [this] { synchronize(); }) {
  check(cudaSetDevice(gpu), "cudaSetDevice");
  products_ = std::make_unique<MatrixProducts>(run, choices);
  if (auto attention = make_attention_backend(choices.traits)) {
    backends_.push_back(std::move(attention));
  }
  int multiprocessors = 0, lowest = 0, highest = 0;
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, gpu),
        "cudaDeviceGetAttribute");
  check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "cudaDeviceGetStreamPriorityRange");
  void* scalars = nullptr;
  check(cudaMalloc(&scalars, sizeof(OptimizerScalars)), "cudaMalloc");
  scalars_ = static_cast<OptimizerScalars*>(scalars);
  for (const StreamInfo& info : streams) {
    StreamTools& tools = tools_.emplace_back();
    tools.products = products_.get();
    tools.backends = backends_;
    tools.run = &run;
    tools.multiprocessors = multiprocessors;
    tools.scalars = scalars_;
    check(cudaStreamCreateWithPriority(&tools.stream, cudaStreamNonBlocking,
                                       std::clamp(info.priority, highest, lowest)),
          "cudaStreamCreate");
    void* partials = nullptr;
    check(cudaMalloc(&partials, StreamTools::kPartials * sizeof(double)), "cudaMalloc");
    tools.partials = static_cast<double*>(partials);
    reached_.push_back(new_event());
  }
  logs_ = std::make_unique<StreamLogs>(this->streams());
}

CudaDevice::~CudaDevice() {
  stop();
  for (const cudaEvent_t event : events_) {
    if (event != nullptr) static_cast<void>(cudaEventDestroy(event));
  }
  for (const cudaEvent_t event : reached_) static_cast<void>(cudaEventDestroy(event));
  for (const StreamTools& tools : tools_) {
    static_cast<void>(cudaFree(tools.partials));
    static_cast<void>(cudaStreamDestroy(tools.stream));
  }
  static_cast<void>(cudaFree(scalars_));
}

cudaEvent_t& CudaDevice::event(EventId id) {
  return events_[static_cast<std::size_t>(id)];
}

// Which record a wait means is settled when it is issued, so events are recorded again as they are.
void CudaDevice::begin(const Program& program) {
  finished_with_.assign(static_cast<std::size_t>(program.events), nullptr);
  if (program_ == &program) return;
  check(cudaSetDevice(gpu_), "cudaSetDevice");
  synchronize();
  program_ = &program;
  events_.resize(std::max(events_.size(), static_cast<std::size_t>(program.events)));
}

void CudaDevice::set_scalars(const KernelScalars& scalars) {
  next_scalars_ = scalars;
}

// A kernel like others: it is of the instruction before whose work it comes.
void CudaDevice::write_scalars() {
  if (next_scalars_) cuda::set_scalars(tools(Stream::compute), *next_scalars_);
  next_scalars_.reset();
}

StreamLog& CudaDevice::log(Stream stream) {
  return (captured_ != nullptr ? captured_->logs() : *logs_)[static_cast<std::size_t>(stream)];
}

std::vector<cudaStream_t> CudaDevice::streams() const {
  std::vector<cudaStream_t> all;
  for (const StreamTools& tools : tools_) all.push_back(tools.stream);
  return all;
}

// The host may wait in it for others, and the stream.
void CudaDevice::begin_collective(Stream stream, const void* communicator, const char* operation) {
  if (captured_ == nullptr) logs_->mark();
  log(stream).begin_collective(communicator, operation);
}

void CudaDevice::end_collective(Stream stream, Tag tag) {
  issued(stream, tag);
  log(stream).end();
}

void CudaDevice::launch(Stream stream, Tag tag, const KernelLaunch& launch) {
  run_.throw_if_aborted();
  if (captured_ == nullptr && stream == Stream::compute) write_scalars();
  run_kernel({launch, tools(stream)});
  issued(stream, tag);
}

void CudaDevice::copy(Stream stream, Tag tag, std::span<std::byte> to, const std::byte* from) {
  check(cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDefault, native(stream)),
        "cudaMemcpyAsync");
  issued(stream, tag);
}

void CudaDevice::fill(Stream stream, Tag tag, std::span<std::byte> memory, std::byte value) {
  check(cudaMemsetAsync(memory.data(), std::to_integer<int>(value), memory.size(), native(stream)),
        "cudaMemsetAsync");
  issued(stream, tag);
}

void CudaDevice::call(Stream stream, Tag tag, const StreamTask& task) {
  if (captured_ != nullptr) throw std::runtime_error("work of the host cannot be in a graph");
  auto call = std::make_unique<HostCall>(HostCall{run_, rank(), task});
  check(cudaLaunchHostFunc(native(stream), run_host_call, call.get()), "cudaLaunchHostFunc");
  static_cast<void>(call.release());
  issued(stream, tag);
}

void CudaDevice::record(Stream stream, EventId id, Tag tag) {
  if (captured_ != nullptr) {
    captured_->record(static_cast<std::size_t>(stream), id);
  } else {
    if (event(id) == nullptr) event(id) = new_event();
    check(cudaEventRecord(event(id), native(stream)), "cudaEventRecord");
    finished_with_[static_cast<std::size_t>(id)] = nullptr;
  }
  issued(stream, tag);
}

// What is waited for may be behind a collective that some rank never comes to. What a graph has
// recorded comes before everything issued after it.
void CudaDevice::wait(Stream stream, EventId id, Tag tag) {
  if (captured_ == nullptr) log(stream).mark();
  if (captured_ != nullptr) {
    captured_->wait(static_cast<std::size_t>(stream), id);
  } else if (finished_with_[static_cast<std::size_t>(id)] == nullptr) {
    check(cudaStreamWaitEvent(native(stream), event(id), 0), "cudaStreamWaitEvent");
  }
  issued(stream, tag);
}

// Looks again after a thousandth of what it has waited, as the device idles until the host has seen it.
void CudaDevice::wait_for(cudaEvent_t event) {
  constexpr Nanoseconds kShortest{10'000}, kLongest{200'000};
  const Nanoseconds begin = monotonic_now();
  for (;;) {
    run_.throw_if_aborted();
    const cudaError_t state = cudaEventQuery(event);
    if (state == cudaSuccess) return;
    if (state != cudaErrorNotReady) check(state, "the device's work");
    run_.sleep_for(std::clamp((monotonic_now() - begin) / 1000, kShortest, kLongest));
  }
}

void CudaDevice::host_wait(EventId id) {
  logs_->mark();
  const cudaEvent_t of_graph = finished_with_[static_cast<std::size_t>(id)];
  wait_for(of_graph == nullptr ? event(id) : of_graph);
}

void CudaDevice::synchronize() {
  logs_->mark();
  for (std::size_t i = 0; i < tools_.size(); ++i) {
    check(cudaEventRecord(reached_[i], tools_[i].stream), "cudaEventRecord");
  }
  for (const cudaEvent_t event : reached_) wait_for(event);
}

// Streams finish what was issued, also after an abort: nothing on them waits for other ranks then,
// as communicators have given up.
void CudaDevice::stop() {
  static_cast<void>(cudaSetDevice(gpu_));
  for (const cudaStream_t stream : streams()) static_cast<void>(cudaStreamSynchronize(stream));
}

std::unique_ptr<DeviceGraph> CudaDevice::capture(const std::function<void()>& issue) {
  write_scalars();
  logs_->mark();
  auto graph = std::make_unique<CudaGraph>(*this, streams());
  captured_ = graph.get();
  const ResetOnExit reset{captured_};
  graph->capture(issue);
  return graph;
}

void CudaDevice::begin_launch(const std::shared_ptr<StreamLogs>& graph, Tag later) {
  write_scalars();
  logs_->mark();
  graph->begin_anew(tools_[0].stream);
  (*logs_)[0].begin_launch(graph, later);
}

void CudaDevice::end_launch(const CudaGraph& graph) {
  (*logs_)[0].end();
  for (const auto& [id, event] : graph.recorded()) {
    finished_with_[static_cast<std::size_t>(id)] = graph.finished();
  }
}

std::byte* CudaDevice::allocate_host(Bytes bytes) {
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, static_cast<std::size_t>(bytes.count), cudaHostAllocPortable),
        "cudaHostAlloc");
  return static_cast<std::byte*>(memory);
}

void CudaDevice::free_host(std::byte* memory, Bytes /*bytes*/) {
  static_cast<void>(cudaFreeHost(memory));
}

Progress CudaDevice::progress() const {
  Progress all = run_.progress(rank()).now();
  return all += logs_->progress();
}

void CudaDevice::range_begin(std::string_view name, Tag tag) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = registered(name);
  attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  attributes.payload.ullValue = tag;
  static_cast<void>(nvtxDomainRangePushEx(nvtx_domain(), &attributes));
}

void CudaDevice::range_end() {
  static_cast<void>(nvtxDomainRangePop(nvtx_domain()));
}

}  // namespace foreshard::executor::cuda
