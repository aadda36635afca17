// The part of CUPTI's activity interface that Foreshard calls, on the host: records of what the host's
// runtime did and when, in the caller's buffers. Records of devices and of the host stand in buffers of
// their own and devices' come first, so that nobody can rely on an order.
//
//   FORESHARD_HOST_CUPTI_TAKEN=1   another profiler has subscribed
//   FORESHARD_HOST_CUPTI_DROPS=N   every N-th record of device work finds no room
//   FORESHARD_HOST_CUPTI_REFUSES=N kinds of this number cannot be enabled
//   FORESHARD_HOST_CUPTI_VERSION=N it is CUPTI of that version
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <cupti.h>
#include <sys/types.h>
#include <unistd.h>

#include "tests/cuda/cupti/markers.hpp"
#include "tests/cuda/runtime/activities.hpp"

namespace foreshard::host_cuda {
namespace {

struct Call {
  const char* name;  // of CUPTI's, as it is versioned
  CUpti_CallbackId number;
};
constexpr Call kCalls[] = {
    {"cudaMalloc_v3020", CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020},
    {"cudaFree_v3020", CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020},
    {"cudaMallocAsync_v11020", CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_v11020},
    {"cudaFreeAsync_v11020", CUPTI_RUNTIME_TRACE_CBID_cudaFreeAsync_v11020},
    {"cudaMemPoolCreate_v11020", CUPTI_RUNTIME_TRACE_CBID_cudaMemPoolCreate_v11020},
    {"cudaMemPoolDestroy_v11020", CUPTI_RUNTIME_TRACE_CBID_cudaMemPoolDestroy_v11020},
    {"cudaMemPoolTrimTo_v11020", CUPTI_RUNTIME_TRACE_CBID_cudaMemPoolTrimTo_v11020},
    {"cudaMemcpyAsync_v3020", CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020},
    {"cudaMemsetAsync_v3020", CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020},
    {"cudaEventQuery_v3020", CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020},
    {"cudaLaunchKernelExC_v11060", CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060}};

std::size_t size_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_RUNTIME: return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_MEMORY2: return sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL: return sizeof(CUpti_ActivityMemoryPool3);
    case CUPTI_ACTIVITY_KIND_MARKER: return sizeof(CUpti_ActivityMarker2);
    default: return 0;
  }
}

struct Buffer {
  std::uint8_t* memory = nullptr;
  std::size_t bytes = 0, used = 0;
};

class HostCupti final : public Observer {
 public:
  std::int64_t now() override {
    return clock_ == nullptr ? 0 : static_cast<std::int64_t>(clock_());
  }

  std::uint32_t begin_call() override {
    const std::scoped_lock lock(mutex_);
    return ++last_correlation_;
  }

  void end_call(const std::string& call, std::uint32_t correlation,
                std::int64_t start_ns) override {
    if (!ids().empty()) {
      CUpti_ActivityExternalCorrelation id{};
      id.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
      id.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
      id.externalId = ids().back();
      id.correlationId = correlation;
      add(of_host_, id);
    }
    CUpti_ActivityAPI api{};
    api.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
    for (const Call& known : kCalls) {
      if (std::string(known.name).starts_with(call + "_v")) api.cbid = known.number;
    }
    api.start = static_cast<std::uint64_t>(start_ns);
    api.end = static_cast<std::uint64_t>(now());
    api.processId = static_cast<std::uint32_t>(getpid());
    api.threadId = static_cast<std::uint32_t>(gettid());
    api.correlationId = correlation;
    if (records_call(api.cbid)) add(of_host_, api);
  }

  void used(const MemoryUse& use, std::uint32_t correlation, std::int64_t start_ns) override {
    using Kind = MemoryUse::Kind;
    const auto fill = [&](auto record) {
      record.timestamp = static_cast<std::uint64_t>(start_ns);
      record.processId = static_cast<std::uint32_t>(getpid());
      record.deviceId = static_cast<std::uint32_t>(use.device);
      record.correlationId = correlation;
      return record;
    };
    if (use.kind == Kind::allocated || use.kind == Kind::freed) {
      CUpti_ActivityMemory4 record = fill(CUpti_ActivityMemory4{});
      record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
      record.memoryOperationType = use.kind == Kind::allocated
                                       ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION
                                       : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
      record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
      record.address = reinterpret_cast<std::uint64_t>(use.address);
      record.bytes = static_cast<std::uint64_t>(use.bytes);
      if (use.pool != nullptr) {
        record.isAsync = 1;
        record.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
        record.memoryPoolConfig.address = reinterpret_cast<std::uint64_t>(use.pool);
        record.memoryPoolConfig.pool.size = static_cast<std::uint64_t>(use.pool_bytes);
      }
      return add(of_host_, record);
    }
    CUpti_ActivityMemoryPool3 record = fill(CUpti_ActivityMemoryPool3{});
    record.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
    record.memoryPoolOperationType =
        use.kind == Kind::pool_created     ? CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED
        : use.kind == Kind::pool_destroyed ? CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED
                                           : CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED;
    record.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
    record.address = reinterpret_cast<std::uint64_t>(use.pool);
    record.size = static_cast<std::uint64_t>(use.pool_bytes);
    add(of_host_, record);
  }

  void worked(const Work& work, cudaStream_t stream, int device, std::uint32_t correlation,
              std::int64_t start_ns) override {
    const auto fill = [&](auto record) {
      record.start = static_cast<std::uint64_t>(start_ns);
      record.end = static_cast<std::uint64_t>(now());
      record.deviceId = static_cast<std::uint32_t>(device);
      record.contextId = 1;
      record.streamId = number_of(stream);
      record.correlationId = correlation;
      return record;
    };
    if (work.kind == Work::Kind::kernel) {
      CUpti_ActivityKernel10 record = fill(CUpti_ActivityKernel10{});
      record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
      record.name = name_of(work.name);
      add_work(record);
    } else if (work.kind == Work::Kind::copy) {
      CUpti_ActivityMemcpy6 record = fill(CUpti_ActivityMemcpy6{});
      record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
      record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
      record.srcKind = record.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
      record.bytes = static_cast<std::uint64_t>(work.bytes);
      add_work(record);
    } else {
      CUpti_ActivityMemset4 record = fill(CUpti_ActivityMemset4{});
      record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
      record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
      record.bytes = static_cast<std::uint64_t>(work.bytes);
      add_work(record);
    }
  }

  void enable(CUpti_ActivityKind kind, bool is_on) {
    const std::scoped_lock lock(mutex_);
    if (is_on) {
      kinds_.insert(kind);
      // cupti_activity.h: the kind "overrides the settings done by this API if it is called after".
      if (kind == CUPTI_ACTIVITY_KIND_RUNTIME) calls_left_out_.clear();
    } else {
      kinds_.erase(kind);
    }
    observe(kinds_.empty() ? nullptr : this);
  }

  void enable_call(CUpti_CallbackId call, bool is_on) {
    const std::scoped_lock lock(mutex_);
    if (is_on) {
      calls_left_out_.erase(call);
    } else {
      calls_left_out_.insert(call);
    }
  }

  void mark(std::uint32_t range, CUpti_ActivityFlag flag, const char* name) {
    CUpti_ActivityMarker2 record{};
    record.kind = CUPTI_ACTIVITY_KIND_MARKER;
    record.flags = flag;
    record.timestamp = static_cast<std::uint64_t>(now());
    record.id = range;
    record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
    record.objectId.pt.processId = static_cast<std::uint32_t>(getpid());
    record.objectId.pt.threadId = static_cast<std::uint32_t>(gettid());
    record.name = name == nullptr ? nullptr : name_of(name);
    add(of_host_, record);
  }

  void flush() {
    for (Buffer* buffer : {&of_device_, &of_host_}) {
      Buffer full;
      {
        const std::scoped_lock lock(mutex_);
        full = std::exchange(*buffer, {});
      }
      hand_over(full);
    }
  }

  std::size_t take_dropped() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(dropped_, 0);
  }

  static std::vector<std::uint64_t>& ids() {
    thread_local std::vector<std::uint64_t> stack;
    return stack;
  }

  CUpti_TimestampCallbackFunc clock_ = nullptr;
  CUpti_BuffersCallbackRequestFunc request_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete_ = nullptr;
  bool has_subscriber_ = false;

 private:
  bool records_call(CUpti_CallbackId call) {
    const std::scoped_lock lock(mutex_);
    return !calls_left_out_.contains(call);
  }

  template <class Record>
  void add_work(const Record& record) {
    const char* const every = std::getenv("FORESHARD_HOST_CUPTI_DROPS");
    {
      const std::scoped_lock lock(mutex_);
      if (every != nullptr && ++work_ % std::atoll(every) == 0) return void(++dropped_);
    }
    add(of_device_, record);
  }

  template <class Record>
  void add(Buffer& buffer, const Record& record) {
    Buffer full;
    {
      const std::scoped_lock lock(mutex_);
      if (!kinds_.contains(record.kind)) return;
      if (buffer.bytes - buffer.used < sizeof record) {
        full = std::exchange(buffer, {});
        std::size_t most = 0;
        request_(&buffer.memory, &buffer.bytes, &most);
      }
      if (buffer.memory == nullptr) {
        ++dropped_;
      } else {
        std::memcpy(buffer.memory + buffer.used, &record, sizeof record);
        buffer.used += sizeof record;
      }
    }
    hand_over(full);
  }

  void hand_over(const Buffer& full) {
    if (full.memory != nullptr) complete_(nullptr, 0, full.memory, full.bytes, full.used);
  }

  std::uint32_t number_of(cudaStream_t stream) {
    const std::scoped_lock lock(mutex_);
    return streams_.try_emplace(stream, static_cast<std::uint32_t>(streams_.size()) + 7)
        .first->second;
  }
  const char* name_of(const std::string& kernel) {
    const std::scoped_lock lock(mutex_);
    return names_.insert(kernel).first->c_str();
  }

  std::mutex mutex_;
  std::set<CUpti_ActivityKind> kinds_;
  std::set<CUpti_CallbackId> calls_left_out_;
  Buffer of_device_, of_host_;
  std::uint32_t last_correlation_ = 0;
  std::int64_t work_ = 0;
  std::size_t dropped_ = 0;
  std::map<cudaStream_t, std::uint32_t> streams_;
  std::set<std::string> names_;
};

// Streams may outlive everything else.
HostCupti& cupti() {
  static auto* const only = new HostCupti;
  return *only;
}

}  // namespace

void mark(std::uint32_t range, CUpti_ActivityFlag flag, const char* name) {
  cupti().mark(range, flag, name);
}

}  // namespace foreshard::host_cuda

using foreshard::host_cuda::cupti;
using foreshard::host_cuda::HostCupti;

extern "C" {

CUptiResult cuptiGetVersion(uint32_t* version) {
  const char* const said = std::getenv("FORESHARD_HOST_CUPTI_VERSION");
  *version = said == nullptr ? CUPTI_API_VERSION : static_cast<uint32_t>(std::atoi(said));
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetResultString(CUptiResult /*result*/, const char** text) {
  *text = "an error of the host's CUPTI";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc, void*) {
  if (cupti().has_subscriber_ || std::getenv("FORESHARD_HOST_CUPTI_TAKEN") != nullptr) {
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  cupti().has_subscriber_ = true;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&cupti());
  return CUPTI_SUCCESS;
}
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  cupti().has_subscriber_ = false;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
  cupti().clock_ = clock;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  cupti().request_ = request;
  cupti().complete_ = complete;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  const char* const refused = std::getenv("FORESHARD_HOST_CUPTI_REFUSES");
  if (refused != nullptr && kind == std::atoi(refused)) return CUPTI_ERROR_INVALID_KIND;
  cupti().enable(kind, true);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  cupti().enable(kind, false);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId, uint8_t) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId call, uint8_t is_on) {
  cupti().enable_call(call, is_on != 0);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushPeriod(uint32_t) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushAll(uint32_t) {
  cupti().flush();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind, uint64_t id) {
  HostCupti::ids().push_back(id);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind, uint64_t* last) {
  *last = HostCupti::ids().back();
  HostCupti::ids().pop_back();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  *dropped = cupti().take_dropped();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t bytes, CUpti_Activity** record) {
  uint8_t* next = buffer;
  if (*record != nullptr) {
    next = reinterpret_cast<uint8_t*>(*record) + foreshard::host_cuda::size_of((*record)->kind);
  }
  if (next >= buffer + bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain, uint32_t number, const char** name) {
  for (const auto& call : foreshard::host_cuda::kCalls) {
    if (call.number == number) *name = call.name;
  }
  return CUPTI_SUCCESS;
}

}  // extern "C"
