#include "executor/cuda/cuda_device.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include <nvtx3/nvToolsExt.h>

#include "executor/cuda/events.hpp"

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
  for (const StreamInfo& info : streams) {
    Lane& lane = lanes_.emplace_back();
    lane.tools.products = products_.get();
    lane.tools.attention = attention_.get();
    lane.tools.multiprocessors = multiprocessors;
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
}

cudaEvent_t& CudaDevice::event(EventId id) {
  return events_[static_cast<std::size_t>(id)];
}

// Which record a wait means is settled when it is issued, so events are recorded again as they are.
void CudaDevice::begin(const Program& program) {
  if (program_ == &program) return;
  check(cudaSetDevice(gpu_), "cudaSetDevice");
  synchronize();
  program_ = &program;
  events_.resize(std::max(events_.size(), static_cast<std::size_t>(program.events)));
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
  auto call = std::make_unique<HostCall>(HostCall{run_, rank(), task});
  check(cudaLaunchHostFunc(native(stream), run_host_call, call.get()), "cudaLaunchHostFunc");
  static_cast<void>(call.release());
  issued(stream, tag);
}

void CudaDevice::record(Stream stream, EventId id, Tag tag) {
  if (event(id) == nullptr) event(id) = new_event();
  check(cudaEventRecord(event(id), native(stream)), "cudaEventRecord");
  issued(stream, tag);
}

// What is waited for may be behind a collective that some rank never comes to.
void CudaDevice::wait(Stream stream, EventId id, Tag tag) {
  may_stop_at(stream);
  check(cudaStreamWaitEvent(native(stream), event(id), 0), "cudaStreamWaitEvent");
  issued(stream, tag);
}

void CudaDevice::wait_for(cudaEvent_t event) {
  constexpr Nanoseconds kShortest{5'000}, kLongest{200'000};
  for (Nanoseconds pause = kShortest;; pause = std::min(2 * pause, kLongest)) {
    run_.throw_if_aborted();
    const cudaError_t state = cudaEventQuery(event);
    if (state == cudaSuccess) return;
    if (state != cudaErrorNotReady) check(state, "the device's work");
    run_.sleep_for(pause);
  }
}

void CudaDevice::host_wait(EventId id) {
  wait_for(event(id));
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
  return std::ranges::all_of(lanes_,
                             [last](const Lane& lane) { return lane.marks->has_finished(last); });
}

Progress CudaDevice::progress() const {
  Progress all = run_.progress(rank()).now();
  for (const Lane& lane : lanes_) {
    all.retired += lane.marks->finished();
    all.last_instruction = std::max(all.last_instruction, lane.marks->last_finished());
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
