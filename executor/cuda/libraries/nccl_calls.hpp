// NCCL's functions, taken from libnccl.so.2 when a run asks for NCCL: CUDA works without it.
#pragma once

#include <string>

#include <nccl.h>

#include "models/base/error.hpp"

namespace foreshard::executor::cuda {

struct NcclCalls {
  int version;  // 22809: 2.28.9
  decltype(&ncclGetUniqueId) get_unique_id;
  decltype(&ncclCommInitRankConfig) init_rank;
  decltype(&ncclCommGetAsyncError) get_async_error;
  decltype(&ncclCommDestroy) destroy;
  decltype(&ncclCommAbort) abort;
  decltype(&ncclGroupStart) group_start;
  decltype(&ncclGroupEnd) group_end;
  decltype(&ncclAllGather) all_gather;
  decltype(&ncclReduceScatter) reduce_scatter;
  decltype(&ncclAllReduce) all_reduce;
  decltype(&ncclGetErrorString) error_string;
  decltype(&ncclGetLastError) last_error;

  // Throws std::runtime_error for what is neither success nor under way: "ncclAllReduce: unhandled
  // cuda error: ...".
  void check(ncclResult_t result, const char* call) const;
};

// The same for all callers. The error says that NCCL cannot be loaded, or that it is too old.
Result<const NcclCalls*> load_nccl();

}  // namespace foreshard::executor::cuda
