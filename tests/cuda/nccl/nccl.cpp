// The part of NCCL that Foreshard calls, on the host: collectives run in stream order and wait there for
// the other ranks', which may be threads or processes.
//
//   FORESHARD_HOST_NCCL_ERROR=RANK   the second collective of that rank fails, some time after its issue
//   FORESHARD_HOST_NCCL_BYTES        what a communicator takes of its device (default 0)
//
// As NCCL 2.28.9 does:
//   - What a group of communicators that do not block is to do is done on a thread of its own, the launch
//     of every collective too; otherwise on the calling one, which waits (group.cc, ncclGroupEndInternal).
//   - A communicator connects in its first collective, whose call waits for the other ranks (group.cc,
//     ncclCollPreconnectFunc).
//   - Collectives of a communicator come after one another, on whatever streams (enqueue.cc,
//     ncclLaunchPrepare).
//   - A rank that never comes keeps the others waiting until they abort. A communicator goes when all
//     ranks destroy theirs, or after an abort, and with either no graph refers to it any more (init.cc,
//     commDestroySync).
//   - While buffers are registered in captures, all ranks must capture a collective or none (user guide,
//     "Using NCCL with CUDA Graphs"): here no capture is allowed then.
//   - Two ranks of a host may not have one GPU; NCCL_HOSTID is the name of the host where it is set
//     (init.cc, initTransportsRank; utils.cc, getHostHashOnce).
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
#include <unistd.h>

#include "tests/cuda/nccl/sums.hpp"
#include "tests/cuda/runtime/activities.hpp"
#include "tests/cuda/runtime/device.hpp"
#include "tests/cuda/runtime/streams.hpp"

using namespace foreshard::host_nccl;
using namespace foreshard::host_cuda;

struct ncclComm {
  ncclComm(const std::string& name, int size, int rank, bool does_block)
      : meeting(std::make_shared<Meeting>(name, size, rank)), blocks(does_block) {
    take(device, bytes);
    cudaEventCreateWithFlags(&last, cudaEventDisableTiming);
  }
  // Once no thread works for it, and neither a stream nor a graph refers to it.
  ~ncclComm() {
    for (std::thread& thread : threads) thread.join();
    cudaEventDestroy(last);
    last_capture.reset();
    while (calls > 0 || meeting.use_count() > 1) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    give_back(device, bytes);
  }

  std::shared_ptr<Meeting> meeting;
  const bool blocks;
  std::shared_ptr<std::atomic<ncclResult_t>> state =
      std::make_shared<std::atomic<ncclResult_t>>(ncclSuccess);
  std::vector<std::thread> threads;
  std::atomic<int> calls{0};              // in progress
  int issued = 0;                         // collectives
  cudaEvent_t last = nullptr;             // collective, recorded
  std::shared_ptr<Capture> last_capture;  // that it was in
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
  const auto capture = of(stream).capture();
  if (capture && setting("NCCL_GRAPH_REGISTER", 1) != 0) return ncclInvalidUsage;
  if (comm->issued > 1 && capture == comm->last_capture) cudaStreamWaitEvent(stream, comm->last, 0);
  comm->last_capture = capture;
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
  cudaEventRecord(comm->last, stream);
  return error == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

// What the calling thread's group is to do.
struct Job {
  ncclComm_t comm;
  std::function<ncclResult_t()> work;
  bool ends = false;  // the communicator
};
thread_local int group_depth = 0;
thread_local std::vector<Job> group_jobs;

ncclResult_t run(const Job& job) {
  cudaSetDevice(job.comm->device);
  return job.work();
}

ncclResult_t run_here(const Job& job) {
  ++job.comm->calls;
  const ncclResult_t result = run(job);
  --job.comm->calls;
  if (job.ends) delete job.comm;
  return result;
}

ncclResult_t end_group() {
  if (--group_depth > 0) return ncclSuccess;
  const std::vector<Job> jobs = std::exchange(group_jobs, {});
  if (jobs.empty()) return ncclSuccess;
  if (!jobs[0].comm->blocks && !jobs[0].ends) {
    for (const Job& job : jobs) {
      *job.comm->state = ncclInProgress;
      job.comm->threads.emplace_back([job, state = job.comm->state] { *state = run(job); });
    }
    return ncclInProgress;
  }
  const int device = current_device();
  std::atomic<ncclResult_t> result{ncclSuccess};
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < jobs.size(); ++i) {
    threads.emplace_back([&result, &job = jobs[i]] {
      if (const ncclResult_t own = run_here(job); own != ncclSuccess) result = own;
    });
  }
  if (const ncclResult_t own = run_here(jobs[0]); own != ncclSuccess) result = own;
  for (std::thread& thread : threads) thread.join();
  cudaSetDevice(device);
  return result;
}

ncclResult_t issue(Job job) {
  ++group_depth;
  group_jobs.push_back(std::move(job));
  return end_group();
}

ncclResult_t issue(ncclComm_t comm, const Collective& collective, cudaStream_t stream) {
  if (*comm->state == ncclInProgress) return ncclInvalidUsage;
  return issue({comm, [=] {
                  if (++comm->issued == 1 && !comm->meeting->connect()) return ncclInternalError;
                  return enqueue(comm, collective, stream);
                }});
}

std::string host() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  const char* const id = std::getenv("NCCL_HOSTID");
  return id != nullptr ? id : name;
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
  ++group_depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  return end_group();
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (config->blocking < 0 || config->blocking > 1 || rank < 0 || rank >= size) {
    return ncclInvalidArgument;
  }
  *comm = new ncclComm(id.internal, size, rank, config->blocking == 1);
  return issue({*comm, [made = *comm] {
                  char bus[32] = "";
                  cudaDeviceGetPCIBusId(bus, sizeof bus, made->device);
                  if (!made->meeting->attach(host() + " " + bus)) return ncclInternalError;
                  return made->meeting->has_same_place() ? ncclInvalidUsage : ncclSuccess;
                }});
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  *state = *comm->state;
  return ncclSuccess;
}
// Waits for the other ranks: one process that has several destroys them in a group.
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  const auto finish = [comm] { return comm->meeting->finish() ? ncclSuccess : ncclInternalError; };
  return issue({comm, finish, true});
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  comm->meeting->give_up();
  return issue({comm, [] { return ncclSuccess; }, true});
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
