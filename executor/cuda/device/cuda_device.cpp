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
                       MatmulPrecision precision)
    : Device(rank), run_(run), gpu_(gpu), memory_(gpu, [this] { synchronize(); }) {
  check(cudaSetDevice(gpu), "cudaSetDevice");
  products_ = std::make_unique<MatrixProducts>(precision);
  attention_ = load_fused_attention();
  int multiprocessors = 0, lowest = 0, highest = 0;
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, gpu),
        "cudaDeviceGetAttribute");
  check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "cudaDeviceGetStreamPriorityRange");
  void* scalars = nullptr;
  check(cudaMalloc(&scalars, sizeof(OptimizerScalars)), "cudaMalloc");
  scalars_ = static_cast<OptimizerScalars*>(scalars);
  for (const StreamInfo& info : streams) {
    Lane& lane = lanes_.emplace_back();
    lane.tools.products = products_.get();
    lane.tools.attention = attention_.get();
    lane.tools.multiprocessors = multiprocessors;
    lane.tools.scalars = scalars_;
    check(cudaStreamCreateWithPriority(&lane.tools.stream, cudaStreamNonBlocking,
                                       std::clamp(info.priority, highest, lowest)),
          "cudaStreamCreate");
    void* partials = nullptr;
    check(cudaMalloc(&partials, StreamTools::kPartials * sizeof(double)), "cudaMalloc");
    lane.tools.partials = static_cast<double*>(partials);
    lane.marks = std::make_unique<StreamMarks>(lane.tools.stream);
    reached_.push_back(new_event());
  }
}

CudaDevice::~CudaDevice() {
  stop();
  for (const cudaEvent_t event : events_) {
    if (event != nullptr) static_cast<void>(cudaEventDestroy(event));
  }
  for (const cudaEvent_t event : reached_) static_cast<void>(cudaEventDestroy(event));
  for (Lane& lane : lanes_) {
    lane.marks.reset();
    static_cast<void>(cudaFree(lane.tools.partials));
    static_cast<void>(cudaStreamDestroy(lane.tools.stream));
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
  cuda::set_scalars(lane(Stream::compute).tools, scalars);
}

void CudaDevice::may_stop_at(Stream stream) {
  if (captured_ == nullptr) lane(stream).marks->mark_all();
}

void CudaDevice::issued(Stream stream, Tag tag) {
  if (captured_ != nullptr) {
    captured_->marks().issued(static_cast<std::size_t>(stream), tag);
  } else {
    lane(stream).marks->issued(tag);
  }
}

void CudaDevice::launch(Stream stream, Tag tag, const KernelLaunch& launch) {
  run_.throw_if_aborted();
  cuda_kernel(launch.key.op)({launch, lane(stream).tools});
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
  may_stop_at(stream);
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
  const cudaEvent_t of_graph = finished_with_[static_cast<std::size_t>(id)];
  wait_for(of_graph == nullptr ? event(id) : of_graph);
}

void CudaDevice::synchronize() {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    check(cudaEventRecord(reached_[i], lanes_[i].tools.stream), "cudaEventRecord");
  }
  for (const cudaEvent_t event : reached_) wait_for(event);
}

// Streams finish what was issued, also after an abort: nothing on them waits for other ranks then,
// as communicators have given up.
void CudaDevice::stop() {
  static_cast<void>(cudaSetDevice(gpu_));
  for (const Lane& lane : lanes_) static_cast<void>(cudaStreamSynchronize(lane.tools.stream));
}

std::unique_ptr<DeviceGraph> CudaDevice::capture(const std::function<void()>& issue) {
  std::vector<cudaStream_t> streams;
  for (const Lane& lane : lanes_) streams.push_back(lane.tools.stream);
  auto graph = std::make_unique<CudaGraph>(*this, streams);
  {
    const std::scoped_lock lock(capturing_);
    captured_ = graph.get();
    const ResetOnExit reset{captured_};
    graph->capture(issue);
  }
  const std::scoped_lock lock(graphs_mutex_);
  graphs_.push_back(graph.get());
  return graph;
}

void CudaDevice::launched(const CudaGraph& graph) {
  for (const auto& [id, event] : graph.recorded()) {
    finished_with_[static_cast<std::size_t>(id)] = graph.finished();
  }
}

void CudaDevice::forget(CudaGraph& graph) {
  const std::scoped_lock lock(graphs_mutex_);
  if (std::erase(graphs_, &graph) > 0) retired_before_ += graph.marks().progress().retired;
}

const char* CudaDevice::collective_in_graph(const void* communicator) const {
  const std::scoped_lock lock(graphs_mutex_);
  for (CudaGraph* graph : graphs_) {
    if (const char* operation = graph->marks().running(communicator)) return operation;
  }
  return nullptr;
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

bool CudaDevice::has_finished(Tag last) const {
  const std::unique_lock lock(capturing_, std::try_to_lock);
  if (!lock) return false;
  return std::ranges::all_of(lanes_,
                             [last](const Lane& lane) { return lane.marks->has_finished(last); });
}

Progress CudaDevice::progress() const {
  Progress all = run_.progress(rank()).now();
  for (const Lane& lane : lanes_) {
    all.retired += lane.marks->finished();
    all.last_instruction = std::max(all.last_instruction, lane.marks->last_finished());
  }
  const std::scoped_lock lock(graphs_mutex_);
  all.retired += retired_before_;
  for (CudaGraph* graph : graphs_) {
    const Progress in_graph = graph->marks().progress();
    all.retired += in_graph.retired;
    all.last_instruction = std::max(all.last_instruction, in_graph.last_instruction);
  }
  return all;
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
