// NCCL's communicators, of any size: of their ranks only this one exists.
#include <cstring>
#include <utility>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "profiler/rehearsal/device/devices.hpp"
#include "profiler/rehearsal/device/interface.h"
#include "profiler/rehearsal/device/nccl_communicator.hpp"
#include "profiler/rehearsal/device/real_libraries.hpp"
#include "profiler/rehearsal/device/refusal.hpp"

using namespace foreshard::rehearsal;

namespace {

ncclResult_t create(ncclComm_t* communicator, int ranks, int rank) {
  if (ranks < 1 || rank < 0 || rank >= ranks) return ncclInvalidArgument;
  *communicator = new ncclComm{ranks, rank, current_device()};
  return ncclSuccess;
}

// As foreshard_rehearsal_next_split said.
struct Split {
  int ranks = 0, rank = 0;
};
thread_local Split next_split;

// Something to release.
ncclResult_t create_handle(void** handle) {
  *handle = new char;
  return ncclSuccess;
}

ncclResult_t delete_handle(void* handle) {
  delete static_cast<char*>(handle);
  return ncclSuccess;
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  *version = nccl_version();
  return ncclSuccess;
}

// Nobody else reads it.
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::memset(id, 1, sizeof *id);
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSuccess ? "no error" : "invalid argument";
}

const char* ncclGetLastError(ncclComm_t) {
  return "";
}

ncclResult_t ncclCommInitRank(ncclComm_t* communicator, int ranks, ncclUniqueId, int rank) {
  return create(communicator, ranks, rank);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int ranks, ncclUniqueId, int rank,
                                    ncclConfig_t*) {
  return create(communicator, ranks, rank);
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t* communicator, int ranks, int rank, int,
                                      ncclUniqueId*, ncclConfig_t*) {
  return create(communicator, ranks, rank);
}

// How many ranks named the same color only they know, or the hooks.
ncclResult_t ncclCommSplit(ncclComm_t, int color, int, ncclComm_t* communicator, ncclConfig_t*) {
  if (color == NCCL_SPLIT_NOCOLOR) {
    *communicator = nullptr;
    return ncclSuccess;
  }
  if (next_split.ranks == 0) stop("ncclCommSplit: the number of ranks in the split is unknown");
  const auto [ranks, rank] = std::exchange(next_split, {});
  return create(communicator, ranks, rank);
}

ncclResult_t ncclCommFinalize(ncclComm_t) {
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  delete communicator;
  return ncclSuccess;
}

// The watchdog may still ask for errors of what it aborts, so that it is not deleted.
ncclResult_t ncclCommAbort(ncclComm_t) {
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* error) {
  *error = ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t communicator, int* ranks) {
  *ranks = communicator->ranks;
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t communicator, int* rank) {
  *rank = communicator->rank;
  return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t communicator, int* device) {
  *device = communicator->device;
  return ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t, void*, std::size_t, void** handle) {
  return create_handle(handle);
}

ncclResult_t ncclCommDeregister(const ncclComm_t, void* handle) {
  return delete_handle(handle);
}

ncclResult_t ncclMemAlloc(void** pointer, std::size_t bytes) {
  return cudaMalloc(pointer, bytes) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclMemFree(void* pointer) {
  return cudaFree(pointer) == cudaSuccess ? ncclSuccess : ncclInvalidArgument;
}

void foreshard_rehearsal_next_split(int ranks, int rank) {
  next_split = {ranks, rank};
}
