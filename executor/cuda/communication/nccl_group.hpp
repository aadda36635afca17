// NCCL's communicators of those members of a group that are in this process, and the thread that watches
// over them.
//
// They block: a collective is on its stream when the call returns, launched by the thread that called,
// which is how CUPTI knows the instruction that it is of (cupti_activity.h: external ids are pushed "for
// the calling thread"). Communicators that do not block launch on a thread of NCCL's own
// (ncclGroupEndInternal in NCCL 2.28.9's group.cc) and have to be asked whether they have.
//
// NCCL's kernels wait on the device for those of other ranks, and so do its calls while ranks connect: at
// the beginning, and again in the first collective of each kind. Nothing but an abort ends either once a
// rank is gone. So the watcher looks 20 times a second whether the run still goes on, whether NCCL reports
// an error, and, until all have connected, whether a process is lost or the time is over. An abort sets
// flags that kernels and waiting calls look at, and then frees the communicator, which no call should
// then be using (NCCL's user guide, "Fault Tolerance"): those in progress get a second to return by
// themselves. Which does not help one that waits for a rank that is gone: it is what the flags are for.
//
// An abort returns when no graph refers to the communicator any more (commDestroySync in init.cc).
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "executor/communication/transport.hpp"
#include "executor/cuda/libraries/nccl_calls.hpp"
#include "executor/device/clock.hpp"
#include "executor/device/run_control.hpp"

namespace foreshard::executor::cuda {

class NcclGroup {
 public:
  // A member that is here: its rank in the run and in the group, and its GPU.
  struct Place {
    int rank, index, gpu;
  };

  // `transport`: nullptr where all members are here.
  NcclGroup(RunControl& run, const NcclCalls& nccl, std::span<const Place> here,
            const Transport* transport);
  // Ends them together with the other ranks', or at once where the run has been aborted. Graphs have gone
  // by then.
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  // Once, with all other members: `size` in all. Throws std::runtime_error for an error of NCCL, and
  // Aborted.
  void connect(int size, const ncclUniqueId& id);

  // Calls NCCL with the communicator of a member that is here, by number; by its rank's host thread.
  // Throws as connect.
  template <typename Call>
  void issue(std::size_t member, const char* name, Call call) {
    ncclResult_t result = ncclSuccess;
    {
      Member& mine = *members_[member];
      const std::scoped_lock lock(mine.call);
      run_.throw_if_aborted();
      result = call(mine.communicator);
    }
    check(result, name);
  }

 private:
  struct Member {
    Place place;
    ncclComm_t communicator = nullptr;
    std::timed_mutex call;  // held in calls of NCCL
  };
  void watch();
  void look();
  void abort();
  void end(ncclResult_t (*how)(ncclComm_t));
  void check(ncclResult_t result, const char* name) const;

  RunControl& run_;
  const NcclCalls& nccl_;
  const Transport* const transport_;
  std::vector<std::unique_ptr<Member>> members_;
  const Nanoseconds began_ = monotonic_now();
  std::mutex mutex_;  // of what follows, and of the members' communicators
  std::condition_variable changed_;
  bool is_connected_ = false, ends_ = false, is_aborted_ = false;
  std::thread watcher_;
};

}  // namespace foreshard::executor::cuda
