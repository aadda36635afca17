// CUPTI's records as activities, from records built here.
#include "profiler/record/cupti/decode.hpp"

#include <cstring>
#include <vector>

#include <cupti.h>
#include <gtest/gtest.h>

namespace foreshard::profiler {
namespace {

template <class Record>
std::vector<std::byte> bytes_of(const Record& record) {
  std::vector<std::byte> bytes(sizeof record);
  std::memcpy(bytes.data(), &record, sizeof record);
  return bytes;
}

template <class Record>
Record placed(CUpti_ActivityKind kind) {
  Record record{};
  record.kind = kind;
  record.start = 1000;
  record.end = 1500;
  record.deviceId = 2;
  record.contextId = 3;
  record.streamId = 13;
  record.correlationId = 99;
  return record;
}

void expect_place(const Activity& activity) {
  EXPECT_EQ(activity.start_ns, 1000);
  EXPECT_EQ(activity.end_ns, 1500);
  EXPECT_EQ(activity.device, 2u);
  EXPECT_EQ(activity.context, 3u);
  EXPECT_EQ(activity.stream, 13u);
  EXPECT_EQ(activity.correlation, 99u);
}

TEST(Decode, ReadsKernels) {
  auto record = placed<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  record.name = "_Z3addPf";
  record.gridX = 7;
  record.blockX = 256;
  const auto activity = decode(bytes_of(record));
  ASSERT_TRUE(activity);
  EXPECT_EQ(activity->kind, ActivityKind::kernel);
  expect_place(*activity);
  EXPECT_STREQ(activity->name, "_Z3addPf");
  EXPECT_EQ(activity->grid[0], 7u);
  EXPECT_EQ(activity->block[0], 256u);
}

TEST(Decode, ReadsCopiesAndFills) {
  auto copy = placed<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY);
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.bytes = 4096;
  auto peers = placed<CUpti_ActivityMemcpyPtoP4>(CUPTI_ACTIVITY_KIND_MEMCPY2);
  peers.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  peers.bytes = 8192;
  auto fill = placed<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET);
  fill.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  fill.bytes = 512;
  const auto copied = decode(bytes_of(copy)), sent = decode(bytes_of(peers)),
             filled = decode(bytes_of(fill));
  ASSERT_TRUE(copied && sent && filled);
  for (const auto& one : {*copied, *sent, *filled}) expect_place(one);
  EXPECT_EQ(copied->kind, ActivityKind::copy);
  EXPECT_EQ(copied->detail, 1u);
  EXPECT_EQ(copied->from_memory, 2);
  EXPECT_EQ(copied->to_memory, 3);
  EXPECT_EQ(copied->bytes, 4096);
  EXPECT_EQ(sent->detail, 10u);
  EXPECT_EQ(sent->bytes, 8192);
  EXPECT_EQ(filled->kind, ActivityKind::fill);
  EXPECT_EQ(filled->to_memory, 3);
  EXPECT_EQ(filled->bytes, 512);
}

TEST(Decode, ReadsCallsIdsAndMarkers) {
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_DRIVER;
  call.cbid = 307;
  call.start = 5;
  call.end = 9;
  call.processId = 4000;
  call.threadId = 4001;
  call.correlationId = 8;
  CUpti_ActivityExternalCorrelation id{};
  id.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  id.externalId = std::uint64_t{1} << 60;
  id.correlationId = 8;
  CUpti_ActivityMarker2 marker{};
  marker.kind = CUPTI_ACTIVITY_KIND_MARKER;
  marker.flags = CUPTI_ACTIVITY_FLAG_MARKER_START;
  marker.timestamp = 77;
  marker.id = 6;
  marker.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  marker.objectId.pt.processId = 4000;
  marker.objectId.pt.threadId = 4001;
  marker.name = "forward";
  const auto called = decode(bytes_of(call)), joined = decode(bytes_of(id)),
             marked = decode(bytes_of(marker));
  ASSERT_TRUE(called && joined && marked);
  EXPECT_EQ(called->kind, ActivityKind::driver_call);
  EXPECT_EQ(called->id, 307u);
  EXPECT_EQ(called->thread, 4001u);
  EXPECT_EQ(joined->kind, ActivityKind::external_id);
  EXPECT_EQ(joined->id, std::uint64_t{1} << 60);
  EXPECT_EQ(joined->correlation, 8u);
  EXPECT_EQ(marked->kind, ActivityKind::marker);
  EXPECT_EQ(marked->start_ns, 77);
  EXPECT_EQ(marked->thread, 4001u);
  EXPECT_STREQ(marked->name, "forward");
}

TEST(Decode, ReadsAllocationsAndPools) {
  CUpti_ActivityMemory4 alone{};
  alone.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  alone.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  alone.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  alone.address = 0x7000;
  alone.bytes = 4096;
  alone.timestamp = 50;
  alone.deviceId = 2;
  alone.correlationId = 9;
  CUpti_ActivityMemory4 pooled = alone;
  pooled.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  pooled.memoryPoolConfig.address = 0x100;
  pooled.memoryPoolConfig.pool.size = 1 << 21;
  CUpti_ActivityMemory4 imported = pooled;  // its size is another process' number
  imported.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED;
  CUpti_ActivityMemoryPool3 trimmed{};
  trimmed.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
  trimmed.memoryPoolOperationType = CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED;
  trimmed.address = 0x100;
  trimmed.size = 8192;
  trimmed.timestamp = 60;
  for (const auto& record : {alone, pooled, imported}) {
    const auto allocation = decode(bytes_of(record));
    ASSERT_TRUE(allocation);
    EXPECT_EQ(allocation->kind, ActivityKind::allocation);
    EXPECT_EQ(allocation->detail, 1u);
    EXPECT_EQ(allocation->to_memory, 3);
    EXPECT_EQ(allocation->start_ns, 50);
    EXPECT_EQ(allocation->device, 2u);
    EXPECT_EQ(allocation->correlation, 9u);
    EXPECT_EQ(allocation->id, 0x7000u);
    EXPECT_EQ(allocation->bytes, 4096);
  }
  EXPECT_EQ(decode(bytes_of(pooled))->pool, 0x100u);
  EXPECT_EQ(decode(bytes_of(pooled))->pool_bytes, 1 << 21);
  EXPECT_EQ(decode(bytes_of(imported))->pool_bytes, 0);
  const auto trim = decode(bytes_of(trimmed));
  ASSERT_TRUE(trim);
  EXPECT_EQ(trim->kind, ActivityKind::memory_pool);
  EXPECT_EQ(trim->detail, 3u);
  EXPECT_EQ(trim->id, 0x100u);
  EXPECT_EQ(trim->bytes, 8192);
  EXPECT_EQ(trim->start_ns, 60);
}

TEST(Decode, RefusesWhatIsCutShortOrUnknown) {
  const auto bytes = bytes_of(placed<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode(std::span(bytes).first(size))) << size;
  }
  EXPECT_TRUE(decode(bytes));
  CUpti_Activity unknown{};
  unknown.kind = CUPTI_ACTIVITY_KIND_NVLINK;
  EXPECT_FALSE(decode(bytes_of(unknown)));
}

}  // namespace
}  // namespace foreshard::profiler
