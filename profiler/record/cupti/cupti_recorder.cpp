// libforeshard_cupti.so and libforeshard_cupti12.so: the recorder of activities by the CUPTI of CUDA 13 or 12.
#include <atomic>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cupti.h>

#include "models/base/shared_library.hpp"
#include "profiler/record/cupti/activity_recorder.hpp"
#include "profiler/record/cupti/buffer_pool.hpp"
#include "profiler/record/cupti/decode.hpp"

// Not in CUPTI before CUDA 12.6: null there.
extern "C" {
[[gnu::weak]] CUptiResult CUPTIAPI cuptiActivityEnableRuntimeApi(CUpti_CallbackId, std::uint8_t);
[[gnu::weak]] CUptiResult CUPTIAPI cuptiActivityEnableDriverApi(CUpti_CallbackId, std::uint8_t);
}

namespace foreshard::profiler {
namespace {

constexpr std::uint32_t kFlushPeriodMs = 200;
constexpr auto kIdKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;

// Without these there is no recording. Ids are of calls that are recorded themselves (cupti_activity.h,
// cuptiActivityPushExternalCorrelationId), so the runtime's are.
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                         CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMCPY2,
                                         CUPTI_ACTIVITY_KIND_MEMSET,
                                         CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                         CUPTI_ACTIVITY_KIND_RUNTIME};

// What a driver or a device may not offer. Only the first two are for recordings of instructions too.
struct OptionalKind {
  CUpti_ActivityKind kind;
  const char* records;
};
constexpr OptionalKind kOptionalKinds[] = {
    {CUPTI_ACTIVITY_KIND_MEMORY2, "device allocations"},
    {CUPTI_ACTIVITY_KIND_MEMORY_POOL, "memory pools"},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, "waits for the device"},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, "costs of the recording"},
    {CUPTI_ACTIVITY_KIND_MARKER, "NVTX ranges"}};

// Calls that only ask, often in a loop or at every launch: they would fill the buffers.
constexpr CUpti_runtime_api_trace_cbid kPolls[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamQuery_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamQuery_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaGetErrorString_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamIsCapturing_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamIsCapturing_ptsz_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaThreadExchangeStreamCaptureMode_v10010,
    CUPTI_RUNTIME_TRACE_CBID_cudaGetFuncBySymbol_v11000};

// The driver's calls with which libraries launch work of their own beside the runtime's.
constexpr CUpti_driver_api_trace_cbid kDriverCalls[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch};

void enable_driver_calls(std::uint8_t is_enabled) {
  for (const CUpti_driver_api_trace_cbid call : kDriverCalls) {
    static_cast<void>(
        cuptiActivityEnableDriverApi(static_cast<CUpti_CallbackId>(call), is_enabled));
  }
}

std::string message_of(CUptiResult result) {
  const char* text = nullptr;
  if (cuptiGetResultString(result, &text) != CUPTI_SUCCESS || text == nullptr) text = "unknown";
  return text;
}

Result<void> check(CUptiResult result, const char* what) {
  if (result == CUPTI_SUCCESS) return {};
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    return fail("CUPTI", "",
                "another profiler already records this process (Nsight, or the program's own); "
                "expected none, as CUPTI serves one at a time");
  }
  if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES) {
    return fail("CUPTI", "",
                "the driver lets only administrators profile; expected its option "
                "NVreg_RestrictProfilingToAdminUsers to be 0");
  }
  return fail("CUPTI", what, "failed with " + message_of(result) + "; expected it to succeed");
}

void CUPTIAPI ignore_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

// CUPTI's callbacks have no argument of ours: there is one recording in a process.
class CuptiRecorder final : public ActivityRecorder {
 public:
  ~CuptiRecorder() override {
    stop();
    CuptiRecorder* self = this;
    current_.compare_exchange_strong(self, nullptr);
  }

  Result<void> start(const ActivitySettings& settings, ActivityListener& listener) override;
  void push_id(std::uint64_t id) override {
    static_cast<void>(cuptiActivityPushExternalCorrelationId(kIdKind, id));
  }
  void pop_id() override {
    std::uint64_t last = 0;
    static_cast<void>(cuptiActivityPopExternalCorrelationId(kIdKind, &last));
  }
  void flush() override { static_cast<void>(cuptiActivityFlushAll(0)); }
  void stop() override;
  std::vector<std::string> missing() const override { return missing_; }
  std::uint32_t version() const override;
  std::string library() const override;

 private:
  Result<void> enable();
  std::span<const OptionalKind> optional_kinds() const;
  void completed(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes);
  void hand_over(std::uint8_t* buffer, std::size_t bytes);

  static std::uint64_t CUPTIAPI now() { return static_cast<std::uint64_t>(clock_.load()()); }
  static void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* bytes,
                                        std::size_t* most_records) {
    CuptiRecorder* const recorder = current_.load();
    *buffer = recorder == nullptr ? nullptr : recorder->pool_->take();
    *bytes = *buffer == nullptr ? 0 : BufferPool::kBytes;
    *most_records = 0;  // as many as fit
  }
  static void CUPTIAPI buffer_completed(CUcontext context, std::uint32_t stream,
                                        std::uint8_t* buffer, std::size_t /*size*/,
                                        std::size_t bytes) {
    if (CuptiRecorder* const recorder = current_.load()) {
      recorder->completed(context, stream, buffer, bytes);
    }
  }

  static inline std::atomic<CuptiRecorder*> current_{nullptr};
  // Apart from the recorder: CUPTI asks for the time on its own threads, also after the end.
  static inline std::atomic<std::int64_t (*)()> clock_{nullptr};

  ActivitySettings settings_;
  ActivityListener* listener_ = nullptr;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::optional<BufferPool>
      pool_;  // from start() on: many a process loads this and records nothing
  std::mutex
      mutex_;  // of the listener and what follows; never held in a call of CUPTI's that locks
  std::vector<Activity> batch_;
  std::vector<std::string> missing_;
};

Result<void> CuptiRecorder::start(const ActivitySettings& settings, ActivityListener& listener) {
  CuptiRecorder* other = nullptr;
  if (!current_.compare_exchange_strong(other, this) && other != this) {
    return fail("CUPTI", "", "already records this process; expected one recording at a time");
  }
  settings_ = settings;
  clock_ = settings.clock;
  listener_ = &listener;
  pool_.emplace();
  batch_.reserve(BufferPool::kBytes / sizeof(CUpti_ActivityExternalCorrelation));
  auto started = enable();
  if (!started) stop();
  return started;
}

std::span<const OptionalKind> CuptiRecorder::optional_kinds() const {
  return std::span(kOptionalKinds).first(settings_.whole_program ? std::size(kOptionalKinds) : 2);
}

// The clock comes before the first kind: records keep the clock with which they were enabled. Single
// calls come after their kind, which overrides them.
Result<void> CuptiRecorder::enable() {
  if (auto ok = check(cuptiSubscribe(&subscriber_, ignore_callback, nullptr), "cuptiSubscribe");
      !ok) {
    return ok;
  }
  if (auto ok = check(cuptiActivityRegisterTimestampCallback(now), "the clock"); !ok) return ok;
  if (auto ok = check(cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed),
                      "cuptiActivityRegisterCallbacks");
      !ok) {
    return ok;
  }
  for (const CUpti_ActivityKind kind : kKinds) {
    if (auto ok = check(cuptiActivityEnable(kind), "cuptiActivityEnable"); !ok) return ok;
  }
  for (const auto& [kind, records] : optional_kinds()) {
    const CUptiResult result = cuptiActivityEnable(kind);
    if (result == CUPTI_SUCCESS) continue;
    missing_.push_back(std::string(records) + " are not recorded: CUPTI refuses them (" +
                       message_of(result) + ")");
  }
  if (&cuptiActivityEnableDriverApi == nullptr || &cuptiActivityEnableRuntimeApi == nullptr) {
    missing_.emplace_back(
        "launches by the driver's own calls are not recorded: CUPTI of CUDA before 12.6 cannot "
        "choose calls");
  } else {
    for (const CUpti_runtime_api_trace_cbid call : kPolls) {
      static_cast<void>(cuptiActivityEnableRuntimeApi(static_cast<CUpti_CallbackId>(call), 0));
    }
    enable_driver_calls(1);
  }
  return check(cuptiActivityFlushPeriod(kFlushPeriodMs), "cuptiActivityFlushPeriod");
}

void CuptiRecorder::stop() {
  if (subscriber_ == nullptr) return;
  static_cast<void>(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
  for (const CUpti_ActivityKind kind : kKinds) static_cast<void>(cuptiActivityDisable(kind));
  for (const auto& [kind, records] : optional_kinds()) {
    static_cast<void>(cuptiActivityDisable(kind));
  }
  if (&cuptiActivityEnableDriverApi != nullptr) enable_driver_calls(0);
  static_cast<void>(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
  static_cast<void>(cuptiActivityFlushPeriod(0));
  static_cast<void>(cuptiUnsubscribe(std::exchange(subscriber_, nullptr)));
}

void CuptiRecorder::completed(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                              std::size_t bytes) {
  std::size_t dropped = 0;
  static_cast<void>(cuptiActivityGetNumDroppedRecords(context, stream, &dropped));
  {
    const std::scoped_lock lock(mutex_);
    if (buffer != nullptr && bytes > 0) hand_over(buffer, bytes);
    if (dropped > 0) listener_->dropped(static_cast<std::int64_t>(dropped));
  }
  if (buffer != nullptr) pool_->give_back(buffer);
}

const char* name_of_call(const Activity& call) {
  const char* name = nullptr;
  const auto domain = call.kind == ActivityKind::driver_call ? CUPTI_CB_DOMAIN_DRIVER_API
                                                             : CUPTI_CB_DOMAIN_RUNTIME_API;
  static_cast<void>(cuptiGetCallbackName(domain, static_cast<std::uint32_t>(call.id), &name));
  return name;
}

void CuptiRecorder::hand_over(std::uint8_t* buffer, std::size_t bytes) {
  batch_.clear();
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, bytes, &record) == CUPTI_SUCCESS) {
    const auto* const at = reinterpret_cast<const std::uint8_t*>(record);
    auto activity =
        decode(std::as_bytes(std::span(at, bytes - static_cast<std::size_t>(at - buffer))));
    if (!activity) continue;
    if (activity->kind == ActivityKind::runtime_call ||
        activity->kind == ActivityKind::driver_call) {
      activity->name = name_of_call(*activity);
    }
    batch_.push_back(*activity);
  }
  listener_->take(batch_);
}

std::uint32_t CuptiRecorder::version() const {
  std::uint32_t version = 0;
  static_cast<void>(cuptiGetVersion(&version));
  return version;
}

std::string CuptiRecorder::library() const {
  return library_of(reinterpret_cast<const void*>(&cuptiGetVersion));
}

}  // namespace
}  // namespace foreshard::profiler

extern "C" __attribute__((visibility("default"))) foreshard::profiler::ActivityRecorder*
foreshard_make_activity_recorder() {
  return new foreshard::profiler::CuptiRecorder;
}
