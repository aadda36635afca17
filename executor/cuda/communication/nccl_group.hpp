// One rank's NCCL communicator: made without blocking, watched by a thread of its own, and aborted
// when the run is.
//
// NCCL's kernels wait on the device for those of other ranks, and nothing but an abort ends them
// once a rank is gone. So a thread looks 20 times a second whether the run still goes on, and
// whether NCCL reports an error, which fails the run. Every communicator has such a thread, because
// aborting one can wait for the kernels of others on the same device.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "executor/cuda/libraries/nccl_calls.hpp"
#include "executor/device/run_control.hpp"

namespace foreshard::executor::cuda {

class NcclGroup {
 public:
  // What NCCL has begun to make on GPU `gpu` for a rank of the run.
  NcclGroup(RunControl& run, const NcclCalls& nccl, int rank, int gpu, ncclComm_t communicator);
  // Ends as NCCL wants it, together with the other ranks, unless they do not come within seconds.
  // Where several are in one process, all finish first.
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  // Nothing more is issued.
  void finish();

  // Whether what NCCL has been told has been done, in that it is on its stream. Throws
  // std::runtime_error for an error of NCCL, and Aborted.
  bool is_ready();
  // Calls NCCL with the communicator and returns once the work is on its stream. Throws as
  // is_ready.
  template <typename Call>
  void issue(const char* name, Call call) {
    {
      const std::scoped_lock lock(mutex_);
      run_.throw_if_aborted();
      nccl_.check(call(communicator_), name);
    }
    wait_until_ready();
  }

 private:
  void watch();
  void abort();
  void wait_until_ready();
  bool has_finished();

  RunControl& run_;
  const NcclCalls& nccl_;
  const int rank_, gpu_;
  std::mutex mutex_;
  std::condition_variable changed_;
  ncclComm_t communicator_;  // nullptr once it has been aborted
  bool ends_ = false;
  ncclResult_t finishing_ = ncclSuccess;
  std::thread watcher_;
};

}  // namespace foreshard::executor::cuda
