#include "profiler/record/cupti/decode.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include <cupti.h>

namespace foreshard::profiler {
namespace {

// Reads through a copy: bytes need not be aligned, and may end early.
template <class Record>
bool read(std::span<const std::byte> bytes, Record& record) {
  if (bytes.size() < sizeof record) return false;
  std::memcpy(&record, bytes.data(), sizeof record);
  return true;
}

std::int64_t as_signed(std::uint64_t number) {
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(std::min(number, kLargest));
}

template <class Record>
void take_times(const Record& record, Activity& activity) {
  activity.start_ns = as_signed(record.start);
  activity.end_ns = as_signed(record.end);
}

template <class Record>
void take_place(const Record& record, Activity& activity) {
  activity.device = record.deviceId;
  activity.context = record.contextId;
  activity.stream = record.streamId;
  activity.correlation = record.correlationId;
}

void take(const CUpti_ActivityKernel9& record, Activity& activity) {
  activity.kind = ActivityKind::kernel;
  take_times(record, activity);
  take_place(record, activity);
  activity.name = record.name;
  const auto size = [](std::int32_t n) { return static_cast<std::uint32_t>(std::max(n, 0)); };
  activity.grid = {size(record.gridX), size(record.gridY), size(record.gridZ)};
  activity.block = {size(record.blockX), size(record.blockY), size(record.blockZ)};
}

template <class Record>
void take_copy(const Record& record, Activity& activity) {
  activity.kind = ActivityKind::copy;
  activity.detail = record.copyKind;
  activity.from_memory = record.srcKind;
  activity.to_memory = record.dstKind;
  take_times(record, activity);
  take_place(record, activity);
  activity.bytes = as_signed(record.bytes);
}
void take(const CUpti_ActivityMemcpy5& record, Activity& activity) {
  take_copy(record, activity);
}
void take(const CUpti_ActivityMemcpyPtoP4& record, Activity& activity) {
  take_copy(record, activity);
}

void take(const CUpti_ActivityMemset4& record, Activity& activity) {
  activity.kind = ActivityKind::fill;
  activity.to_memory = static_cast<std::uint8_t>(record.memoryKind);
  take_times(record, activity);
  take_place(record, activity);
  activity.bytes = as_signed(record.bytes);
}

void take(const CUpti_ActivityAPI& record, Activity& activity) {
  activity.kind = record.kind == CUPTI_ACTIVITY_KIND_DRIVER ? ActivityKind::driver_call
                                                            : ActivityKind::runtime_call;
  take_times(record, activity);
  activity.process = record.processId;
  activity.thread = record.threadId;
  activity.correlation = record.correlationId;
  activity.id = record.cbid;
}

void take(const CUpti_ActivitySynchronization& record, Activity& activity) {
  activity.kind = ActivityKind::synchronization;
  activity.detail = static_cast<std::uint32_t>(record.type);
  take_times(record, activity);
  activity.context = record.contextId;
  activity.stream = record.streamId;
  activity.correlation = record.correlationId;
  activity.id = record.cudaEventId;
}

void take(const CUpti_ActivityExternalCorrelation& record, Activity& activity) {
  activity.kind = ActivityKind::external_id;
  activity.correlation = record.correlationId;
  activity.id = record.externalId;
}

void take(const CUpti_ActivityOverhead& record, Activity& activity) {
  activity.kind = ActivityKind::overhead;
  activity.detail = static_cast<std::uint32_t>(record.overheadKind);
  take_times(record, activity);
}

void take(const CUpti_ActivityMemory3& record, Activity& activity) {
  activity.kind = ActivityKind::allocation;
  activity.detail = static_cast<std::uint32_t>(record.memoryOperationType);
  activity.to_memory = static_cast<std::uint8_t>(record.memoryKind);
  activity.start_ns = activity.end_ns = as_signed(record.timestamp);
  activity.process = record.processId;
  take_place(record, activity);
  activity.id = record.address;
  activity.bytes = as_signed(record.bytes);
  const auto& pool = record.memoryPoolConfig;
  if (pool.memoryPoolType != CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL) return;
  activity.pool = pool.address;
  activity.pool_bytes = as_signed(pool.pool.size);
}

void take(const CUpti_ActivityMemoryPool2& record, Activity& activity) {
  activity.kind = ActivityKind::memory_pool;
  activity.detail = static_cast<std::uint32_t>(record.memoryPoolOperationType);
  activity.start_ns = activity.end_ns = as_signed(record.timestamp);
  activity.process = record.processId;
  activity.device = record.deviceId;
  activity.correlation = record.correlationId;
  activity.id = record.address;
  activity.bytes = as_signed(record.size);
}

void take(const CUpti_ActivityMarker2& record, Activity& activity) {
  activity.kind = ActivityKind::marker;
  activity.detail = static_cast<std::uint32_t>(record.flags);
  activity.start_ns = activity.end_ns = as_signed(record.timestamp);
  if (record.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD) {
    activity.process = record.objectId.pt.processId;
    activity.thread = record.objectId.pt.threadId;
  }
  activity.id = record.id;
  activity.name = record.name;
  activity.domain = record.domain;
}

template <class Record>
std::optional<Activity> decode_as(std::span<const std::byte> bytes) {
  Record record;
  if (!read(bytes, record)) return std::nullopt;
  Activity activity;
  take(record, activity);
  return activity;
}

}  // namespace

std::optional<Activity> decode(std::span<const std::byte> bytes) {
  CUpti_Activity record;
  if (!read(bytes, record)) return std::nullopt;
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return decode_as<CUpti_ActivityKernel9>(bytes);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return decode_as<CUpti_ActivityMemcpy5>(bytes);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return decode_as<CUpti_ActivityMemcpyPtoP4>(bytes);
    case CUPTI_ACTIVITY_KIND_MEMSET: return decode_as<CUpti_ActivityMemset4>(bytes);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: return decode_as<CUpti_ActivityAPI>(bytes);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return decode_as<CUpti_ActivitySynchronization>(bytes);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return decode_as<CUpti_ActivityExternalCorrelation>(bytes);
    case CUPTI_ACTIVITY_KIND_OVERHEAD: return decode_as<CUpti_ActivityOverhead>(bytes);
    case CUPTI_ACTIVITY_KIND_MEMORY2: return decode_as<CUpti_ActivityMemory3>(bytes);
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL: return decode_as<CUpti_ActivityMemoryPool2>(bytes);
    case CUPTI_ACTIVITY_KIND_MARKER: return decode_as<CUpti_ActivityMarker2>(bytes);
    default: return std::nullopt;
  }
}

}  // namespace foreshard::profiler
