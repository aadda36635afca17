// CUPTI's activity interface: a profiler in the script, such as PyTorch's, gets a record for each
// kernel, copy and memset, with the correlation ids that lead to the operator. Callbacks are never
// called.
//
// Nothing here takes time: records say that work began when it was issued and took
// kNominalNanoseconds.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include <cupti.h>
#include <unistd.h>

#include "profiler/rehearsal/device/cupti_records.hpp"
#include "profiler/rehearsal/device/devices.hpp"
#include "profiler/rehearsal/device/streams.hpp"

namespace foreshard::rehearsal {
namespace {

constexpr std::uint64_t kNominalNanoseconds = 1'000;

std::array<std::atomic<bool>, CUPTI_ACTIVITY_KIND_COUNT> is_enabled;
std::atomic<CUpti_TimestampCallbackFunc> timestamp{nullptr};

struct External {
  CUpti_ExternalCorrelationKind kind;
  std::uint64_t id;
};
thread_local std::vector<External> externals;

// The buffer that the profiler gave last, and what is in it.
struct Records {
  std::mutex mutex;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0, used = 0;
  std::uint32_t correlation = 0;
  std::unordered_map<cudaStream_t, std::uint32_t> streams;

  void flush() {
    if (buffer == nullptr) return;
    std::uint8_t* const full = std::exchange(buffer, nullptr);
    complete(nullptr, 0, full, size, used);
  }

  template <class Record>
  void add(const Record& record) {
    if (request == nullptr || !is_enabled[static_cast<std::size_t>(record.kind)]) return;
    if (buffer != nullptr && used + sizeof record > size) flush();
    if (buffer == nullptr) {
      std::size_t most = 0;
      used = 0;
      request(&buffer, &size, &most);
      if (buffer == nullptr || size < sizeof record) return;
    }
    std::memcpy(buffer + used, &record, sizeof record);
    used += sizeof record;
  }

  // Numbers as real ones have: the default stream is 7.
  std::uint32_t stream_number(cudaStream_t stream) {
    constexpr std::uint32_t kDefault = 7;
    if (stream == nullptr) return kDefault;
    return streams.emplace(stream, kDefault + 1 + static_cast<std::uint32_t>(streams.size()))
        .first->second;
  }
};

Records& records() {
  static auto& records = *new Records;
  return records;
}

std::uint64_t now() {
  if (const CUpti_TimestampCallbackFunc callback = timestamp) return callback();
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

// The call that issues the work, and the innermost external id of each kind.
void add_call(Records& all, CUpti_runtime_api_trace_cbid call, std::uint64_t at) {
  ++all.correlation;
  std::vector<CUpti_ExternalCorrelationKind> seen;
  for (auto external = externals.rbegin(); external != externals.rend(); ++external) {
    if (std::ranges::find(seen, external->kind) != seen.end()) continue;
    seen.push_back(external->kind);
    CUpti_ActivityExternalCorrelation record{};
    record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    record.externalKind = external->kind;
    record.externalId = external->id;
    record.correlationId = all.correlation;
    all.add(record);
  }
  CUpti_ActivityAPI record{};
  record.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  record.cbid = call;
  record.start = at;
  record.end = at + kNominalNanoseconds;
  record.processId = static_cast<std::uint32_t>(::getpid());
  record.threadId = static_cast<std::uint32_t>(::pthread_self());
  record.correlationId = all.correlation;
  all.add(record);
}

// By the external id that the profiler pushed last, whatever its kind.
CallId last_call(const Records& all) {
  return {all.correlation, externals.empty() ? 0 : externals.back().id};
}

// A record of work with the fields that all have in common.
template <class Record>
Record work(Records& all, CUpti_ActivityKind kind, cudaStream_t stream, std::uint64_t at) {
  Record record{};
  record.kind = kind;
  record.start = at;
  record.end = at + kNominalNanoseconds;
  record.deviceId = static_cast<std::uint32_t>(current_device());
  record.contextId = record.deviceId + 1;
  record.streamId = all.stream_number(stream);
  record.correlationId = all.correlation;
  return record;
}

void add_kernel(Records& all, const char* name, const Launch& launch, std::uint64_t at) {
  auto record =
      work<CUpti_ActivityKernel10>(all, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, launch.stream, at);
  record.gridX = static_cast<std::int32_t>(launch.grid.x);
  record.gridY = static_cast<std::int32_t>(launch.grid.y);
  record.gridZ = static_cast<std::int32_t>(launch.grid.z);
  record.blockX = static_cast<std::int32_t>(launch.block.x);
  record.blockY = static_cast<std::int32_t>(launch.block.y);
  record.blockZ = static_cast<std::int32_t>(launch.block.z);
  record.dynamicSharedMemory = static_cast<std::int32_t>(launch.shared_bytes);
  record.registersPerThread = kRegistersPerThread;
  record.name = name;
  all.add(record);
}

CUpti_ActivityMemcpyKind copy_kind(bool is_to_device, bool is_from_device) {
  if (is_to_device)
    return is_from_device ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD : CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  return is_from_device ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH : CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
}

std::size_t bytes_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_RUNTIME: return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(CUpti_ActivityMemset4);
    default: return sizeof(CUpti_ActivityKernel10);
  }
}

}  // namespace

CallId record_kernel(const char* name, const Launch& launch) {
  const auto graph = captured_graph(launch.stream);
  Records& all = records();
  const std::lock_guard lock(all.mutex);
  if (graph != nullptr) graph->kernels.push_back({name, launch});
  if (!is_enabled[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL]) return {};
  const std::uint64_t at = now();
  add_call(all, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, at);
  add_kernel(all, name, launch, at);
  return last_call(all);
}

CallId record_graph(const std::vector<NamedLaunch>& kernels, cudaStream_t stream) {
  if (!is_enabled[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL]) return {};
  Records& all = records();
  const std::lock_guard lock(all.mutex);
  const std::uint64_t at = now();
  add_call(all, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, at);
  for (NamedLaunch kernel : kernels) {
    kernel.launch.stream = stream;
    add_kernel(all, kernel.name, kernel.launch, at);
  }
  return last_call(all);
}

CallId record_copy(cudaStream_t stream, bool is_to_device, bool is_from_device, std::size_t bytes) {
  if (!is_enabled[CUPTI_ACTIVITY_KIND_MEMCPY]) return {};
  Records& all = records();
  const std::lock_guard lock(all.mutex);
  const std::uint64_t at = now();
  add_call(all, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, at);
  auto record = work<CUpti_ActivityMemcpy6>(all, CUPTI_ACTIVITY_KIND_MEMCPY, stream, at);
  record.copyKind = static_cast<std::uint8_t>(copy_kind(is_to_device, is_from_device));
  record.bytes = bytes;
  all.add(record);
  return last_call(all);
}

CallId record_memset(cudaStream_t stream, int value, std::size_t bytes) {
  if (!is_enabled[CUPTI_ACTIVITY_KIND_MEMSET]) return {};
  Records& all = records();
  const std::lock_guard lock(all.mutex);
  const std::uint64_t at = now();
  add_call(all, CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020, at);
  auto record = work<CUpti_ActivityMemset4>(all, CUPTI_ACTIVITY_KIND_MEMSET, stream, at);
  record.value = static_cast<std::uint32_t>(value);
  record.bytes = bytes;
  all.add(record);
  return last_call(all);
}

CallId record_call(OrderingCall call) {
  if (!is_enabled[CUPTI_ACTIVITY_KIND_RUNTIME]) return {};
  constexpr std::array kCalls{
      CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020,
      CUPTI_RUNTIME_TRACE_CBID_cudaStreamWaitEvent_v3020,
      CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020,
      CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020,
      CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020,
  };
  Records& all = records();
  const std::lock_guard lock(all.mutex);
  add_call(all, kCalls[static_cast<std::size_t>(call)], now());
  return last_call(all);
}

}  // namespace foreshard::rehearsal

using namespace foreshard::rehearsal;

CUptiResult cuptiGetVersion(std::uint32_t* version) {
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  *text = result == CUPTI_SUCCESS ? "CUPTI_SUCCESS" : "CUPTI_ERROR_INVALID_PARAMETER";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc, void*) {
  static char one;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&one);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  const std::lock_guard lock(records().mutex);
  records().request = request;
  records().complete = complete;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc callback) {
  timestamp = callback;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  is_enabled[static_cast<std::size_t>(kind)] = true;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  is_enabled[static_cast<std::size_t>(kind)] = false;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                   std::uint64_t id) {
  externals.push_back({kind, id});
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                  std::uint64_t* last) {
  for (auto at = externals.rbegin(); at != externals.rend(); ++at) {
    if (at->kind != kind) continue;
    if (last != nullptr) *last = at->id;
    externals.erase(std::next(at).base());
    return CUPTI_SUCCESS;
  }
  return CUPTI_ERROR_QUEUE_EMPTY;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  *dropped = 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(std::uint32_t) {
  const std::lock_guard lock(records().mutex);
  records().flush();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid_bytes,
                                       CUpti_Activity** record) {
  std::uint8_t* next = buffer;
  if (*record != nullptr)
    next = reinterpret_cast<std::uint8_t*>(*record) + bytes_of((*record)->kind);
  if (next >= buffer + valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}
