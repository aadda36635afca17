// NCCL's collectives: counted, and done where they are small as if every rank held what this one
// holds, so that shapes, flags and objects that ranks agree on arrive.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <nccl.h>

#include "profiler/rehearsal/device/copies.hpp"
#include "profiler/rehearsal/device/counts.hpp"
#include "profiler/rehearsal/device/cupti_records.hpp"
#include "profiler/rehearsal/device/durations.hpp"
#include "profiler/rehearsal/device/kernels.hpp"
#include "profiler/rehearsal/device/log.hpp"
#include "profiler/rehearsal/device/nccl_communicator.hpp"
#include "profiler/rehearsal/device/refusal.hpp"
#include "profiler/rehearsal/device/streams.hpp"

using namespace foreshard::rehearsal;

namespace {

std::size_t element_bytes(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2: return 1;
    case ncclFloat16:
    case ncclBfloat16: return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32: return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64: return 8;
    default: refuse("a type of NCCL's data");
  }
}

// Profilers tell NCCL's kernels by such names, which go on with an algorithm and a protocol: what NCCL
// would choose is not known.
const char* kernel_name(std::string_view kind) {
  if (kind == "all_gather") return "ncclDevKernel_AllGather";
  if (kind == "reduce_scatter") return "ncclDevKernel_ReduceScatter";
  if (kind == "all_reduce") return "ncclDevKernel_AllReduce";
  if (kind == "reduce") return "ncclDevKernel_Reduce";
  if (kind == "broadcast") return "ncclDevKernel_Broadcast";
  return "ncclDevKernel_SendRecv";
}

// Calls of one group are one kernel on a GPU, and end together.
std::atomic<int> last_group{0};
thread_local int group_depth = 0, group = 0;

constexpr int kNobody = -1;

ncclResult_t count(const char* kind, ncclComm_t communicator, std::size_t bytes,
                   cudaStream_t stream, int peer = kNobody) {
  launched_by_library(kind);
  const CallId call = record_kernel(kernel_name(kind), {dim3(1), dim3(1), 0, stream});
  log_line(call, "COLLECTIVE %p %s %d %zu %#llx %d %d %d", static_cast<void*>(stream), kind,
           communicator->ranks, bytes, reinterpret_cast<unsigned long long>(communicator),
           communicator->rank, peer, group_depth > 0 ? group : 0);
  count_collective(stream, kind, communicator->ranks, bytes);
  work(stream, durations::collective(bytes));
  return ncclSuccess;
}

void copy_small(void* to, const void* from, std::size_t bytes) {
  if (to != from && to != nullptr && from != nullptr && bytes <= kLargestRealCopy)
    std::memmove(to, from, bytes);
}

template <class Number>
void multiply(void* values, std::size_t count, int factor) {
  Number* const numbers = static_cast<Number*>(values);
  std::transform(numbers, numbers + count, numbers, [=](Number number) {
    return static_cast<Number>(number * static_cast<Number>(factor));
  });
}

// The sum over ranks that all hold these. Half precision is left: nobody counts in it.
void sum(void* values, std::size_t count, ncclDataType_t type, int ranks) {
  switch (type) {
    case ncclInt8:
    case ncclUint8: return multiply<std::uint8_t>(values, count, ranks);
    case ncclInt32:
    case ncclUint32: return multiply<std::uint32_t>(values, count, ranks);
    case ncclInt64:
    case ncclUint64: return multiply<std::uint64_t>(values, count, ranks);
    case ncclFloat32: return multiply<float>(values, count, ranks);
    case ncclFloat64: return multiply<double>(values, count, ranks);
    default: return;
  }
}

void reduce_small(void* to, const void* from, std::size_t count, ncclDataType_t type,
                  ncclRedOp_t operation, int ranks) {
  const std::size_t bytes = count * element_bytes(type);
  if (bytes > kLargestRealCopy) return;
  copy_small(to, from, bytes);
  if (operation == ncclSum) sum(to, count, type, ranks);
}

}  // namespace

ncclResult_t ncclGroupStart() {
  if (group_depth++ == 0) group = ++last_group;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (group_depth > 0) --group_depth;
  return ncclSuccess;
}

ncclResult_t ncclAllGather(const void* from, void* to, std::size_t elements, ncclDataType_t type,
                           ncclComm_t communicator, cudaStream_t stream) {
  const std::size_t bytes = elements * element_bytes(type);
  const auto ranks = static_cast<std::size_t>(communicator->ranks);
  if (bytes * ranks <= kLargestRealCopy)
    for (std::size_t rank = 0; rank < ranks; ++rank)
      copy_small(static_cast<char*>(to) + rank * bytes, from, bytes);
  return count("all_gather", communicator, bytes, stream);
}

ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t elements,
                               ncclDataType_t type, ncclRedOp_t operation, ncclComm_t communicator,
                               cudaStream_t stream) {
  const std::size_t bytes = elements * element_bytes(type);
  const char* own =
      static_cast<const char*>(from) + static_cast<std::size_t>(communicator->rank) * bytes;
  reduce_small(to, own, elements, type, operation, communicator->ranks);
  return count("reduce_scatter", communicator, bytes, stream);
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t elements, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream) {
  reduce_small(to, from, elements, type, operation, communicator->ranks);
  return count("all_reduce", communicator, elements * element_bytes(type), stream);
}

ncclResult_t ncclReduce(const void* from, void* to, std::size_t elements, ncclDataType_t type,
                        ncclRedOp_t operation, int root, ncclComm_t communicator,
                        cudaStream_t stream) {
  if (root == communicator->rank)
    reduce_small(to, from, elements, type, operation, communicator->ranks);
  return count("reduce", communicator, elements * element_bytes(type), stream);
}

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t elements, ncclDataType_t type,
                           int, ncclComm_t communicator, cudaStream_t stream) {
  copy_small(to, from, elements * element_bytes(type));
  return count("broadcast", communicator, elements * element_bytes(type), stream);
}

ncclResult_t ncclBcast(void* data, std::size_t elements, ncclDataType_t type, int root,
                       ncclComm_t communicator, cudaStream_t stream) {
  return ncclBroadcast(data, data, elements, type, root, communicator, stream);
}

ncclResult_t ncclAlltoAll(const void* from, void* to, std::size_t elements, ncclDataType_t type,
                          ncclComm_t communicator, cudaStream_t stream) {
  const std::size_t bytes =
      elements * element_bytes(type) * static_cast<std::size_t>(communicator->ranks);
  copy_small(to, from, bytes);
  return count("all_to_all", communicator, bytes, stream);
}

ncclResult_t ncclSend(const void*, std::size_t elements, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  return count("send", communicator, elements * element_bytes(type), stream, peer);
}

ncclResult_t ncclRecv(void*, std::size_t elements, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  return count("recv", communicator, elements * element_bytes(type), stream, peer);
}

// Operators of the program's own, such as the average that FSDP computes with: any number but
// NCCL's own.
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* operation, void*, ncclDataType_t,
                                      ncclScalarResidence_t, ncclComm_t) {
  *operation = ncclNumOps;
  return ncclSuccess;
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t, ncclComm_t) {
  return ncclSuccess;
}
