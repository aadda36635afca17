// The part of NCCL that Foreshard calls, on the host: communicators that do not block, whose collectives
// run in stream order and wait there for the other ranks', which may be threads or processes.
//
//   FORESHARD_HOST_NCCL_ERROR=RANK   the second collective of that rank fails, some time after its issue
//   FORESHARD_HOST_NCCL_BYTES        what a communicator takes of its device (default 0)
//
// As with NCCL, a rank that never comes keeps the others waiting until they abort, a communicator finishes
// when all ranks finish theirs, and the first collective is on its stream only after a while: until then
// the communicator is in progress.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "tests/cuda/nccl/sums.hpp"
#include "tests/cuda/runtime/activities.hpp"
#include "tests/cuda/runtime/device.hpp"
#include "tests/cuda/runtime/streams.hpp"

using namespace foreshard::host_nccl;
using namespace foreshard::host_cuda;

struct ncclComm {
  ncclComm(const std::string& name, int size, int rank)
      : meeting(std::make_shared<Meeting>(name, size, rank)) {
    take(device, bytes);
  }
  ~ncclComm() {
    give_back(device, bytes);
    for (std::thread& thread : threads) thread.join();
  }
  // In progress until the work has been done.
  ncclResult_t start(std::function<ncclResult_t()> work) {
    *state = ncclInProgress;
    threads.emplace_back([state = state, work = std::move(work)] { *state = work(); });
    return ncclInProgress;
  }

  std::shared_ptr<Meeting> meeting;
  std::shared_ptr<std::atomic<ncclResult_t>> state =
      std::make_shared<std::atomic<ncclResult_t>>(ncclSuccess);
  std::vector<std::thread> threads;
  int issued = 0;  // collectives
  const int device = current_device();
  const std::int64_t bytes = setting("FORESHARD_HOST_NCCL_BYTES", 0);
};

namespace {

struct Collective {
  enum class Kind { gather, scatter, reduce } kind;
  const std::byte* from;
  std::byte* to;
  std::size_t bytes;  // of a rank's slice, or of everything (reduce)
  ncclDataType_t type;
  bool is_average;
};

bool run(Meeting& meeting, const Collective& c) {
  using Kind = Collective::Kind;
  // Rank `owner`'s slice is summed by it; everything else concerns all.
  const int owners = c.kind == Kind::scatter ? meeting.size() : 1;
  for (int owner = 0; owner < owners; ++owner) {
    for (std::size_t at = 0; at < c.bytes || at == 0; at += Meeting::kSlot) {
      const std::size_t bytes = std::min(Meeting::kSlot, c.bytes - at);
      const std::size_t slice = static_cast<std::size_t>(owner) * c.bytes;
      std::memcpy(meeting.slot(meeting.rank()), c.from + slice + at, bytes);
      if (!meeting.meet()) return false;
      if (c.kind == Kind::gather) {
        for (int rank = 0; rank < meeting.size(); ++rank) {
          std::memcpy(c.to + static_cast<std::size_t>(rank) * c.bytes + at, meeting.slot(rank),
                      bytes);
        }
      } else if (c.kind == Kind::reduce || owner == meeting.rank()) {
        sum(meeting, c.type, owner, c.is_average, c.to + at, bytes);
      }
      if (!meeting.meet()) return false;
    }
  }
  return true;
}

bool fails(const ncclComm& comm) {
  const char* rank = std::getenv("FORESHARD_HOST_NCCL_ERROR");
  return rank != nullptr && std::atoi(rank) == comm.meeting->rank() && comm.issued == 2;
}

const char* kernel_of(Collective::Kind kind) {
  switch (kind) {
    case Collective::Kind::gather: return "ncclDevKernel_AllGather_RING_LL";
    case Collective::Kind::scatter: return "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL";
    case Collective::Kind::reduce: break;
  }
  return "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
}

// A graph's node may run again and again.
ncclResult_t enqueue(ncclComm_t comm, const Collective& collective, cudaStream_t stream) {
  const cudaError_t error = foreshard::host_cuda::issue(
      "cudaLaunchKernelExC", stream,
      {foreshard::host_cuda::Work::Kind::kernel, kernel_of(collective.kind)},
      [meeting = comm->meeting, state = comm->state, fails = fails(*comm), collective] {
        if (fails) {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          *state = ncclRemoteError;
        } else {
          run(*meeting, collective);
        }
      });
  return error == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t issue(ncclComm_t comm, const Collective& collective, cudaStream_t stream) {
  if (*comm->state == ncclInProgress) return ncclInvalidUsage;
  if (++comm->issued > 1) return enqueue(comm, collective, stream);
  return comm->start([=] {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    return enqueue(comm, collective, stream);
  });
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::random_device random;
  *id = {};
  std::snprintf(id->internal, sizeof id->internal, "/foreshard-nccl-%08x%08x", random(), random());
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() {
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (config->blocking != 0 || rank < 0 || rank >= size) return ncclInvalidArgument;
  *comm = new ncclComm(id.internal, size, rank);
  return (*comm)->start(
      [meeting = (*comm)->meeting] { return meeting->attach() ? ncclSuccess : ncclInternalError; });
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  *state = *comm->state;
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return comm->start(
      [meeting = comm->meeting] { return meeting->finish() ? ncclSuccess : ncclInternalError; });
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  comm->meeting->give_up();
  delete comm;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclRemoteError ? "remote process exited or there was a network error"
                                   : "an error of the host's NCCL";
}
const char* ncclGetLastError(ncclComm_t /*comm*/) {
  return "";
}

ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return issue(comm,
               {Collective::Kind::gather, static_cast<const std::byte*>(from),
                static_cast<std::byte*>(to), count * item_size(type), type, false},
               stream);
}
ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  return issue(comm,
               {Collective::Kind::scatter, static_cast<const std::byte*>(from),
                static_cast<std::byte*>(to), count * item_size(type), type, operation == ncclAvg},
               stream);
}
ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  return issue(comm,
               {Collective::Kind::reduce, static_cast<const std::byte*>(from),
                static_cast<std::byte*>(to), count * item_size(type), type, operation == ncclAvg},
               stream);
}

}  // extern "C"
