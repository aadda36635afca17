#include "executor/cuda/communication/nccl_group.hpp"

#include <chrono>
#include <string>
#include <utility>

#include "executor/device/clock.hpp"
#include "executor/device/start_thread.hpp"

namespace foreshard::executor::cuda {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{50};
constexpr Nanoseconds kBetweenPolls{20'000};
// For how long the other ranks may take to end a communicator too.
constexpr Nanoseconds kLongestEnding{5'000'000'000};

}  // namespace

NcclGroup::NcclGroup(RunControl& run, const NcclCalls& nccl, int rank, int gpu,
                     ncclComm_t communicator)
    : run_(run), nccl_(nccl), rank_(rank), gpu_(gpu), communicator_(communicator) {
  watcher_ = start_thread("NCCL's watcher", [this] { watch(); });
}

void NcclGroup::finish() {
  {
    const std::scoped_lock lock(mutex_);
    if (ends_) return;
    ends_ = true;
    changed_.notify_all();
  }
  watcher_.join();
  if (communicator_ == nullptr || run_.is_aborted()) return;
  static_cast<void>(cudaSetDevice(gpu_));
  finishing_ = nccl_.finalize(communicator_);
}

NcclGroup::~NcclGroup() {
  finish();
  if (communicator_ == nullptr) return;
  static_cast<void>(cudaSetDevice(gpu_));
  if (has_finished()) {
    static_cast<void>(nccl_.destroy(communicator_));
  } else {
    abort();
  }
}

bool NcclGroup::has_finished() {
  const Nanoseconds deadline = monotonic_now() + kLongestEnding;
  while (!run_.is_aborted() && monotonic_now() < deadline) {
    if (finishing_ != ncclInProgress) return finishing_ == ncclSuccess;
    std::this_thread::sleep_for(kBetweenPolls);
    if (nccl_.get_async_error(communicator_, &finishing_) != ncclSuccess) return false;
  }
  return false;
}

void NcclGroup::watch() {
  static_cast<void>(cudaSetDevice(gpu_));
  std::unique_lock lock(mutex_);
  while (!run_.is_aborted()) {
    if (changed_.wait_for(lock, kBetweenLooks, [this] { return ends_; })) return;
    ncclResult_t state = ncclSuccess;
    if (nccl_.get_async_error(communicator_, &state) != ncclSuccess) continue;
    if (state == ncclSuccess || state == ncclInProgress) continue;
    run_.fail(rank_, std::string("NCCL: ") + nccl_.error_string(state));
  }
  lock.unlock();
  abort();
}

void NcclGroup::abort() {
  ncclComm_t communicator = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    communicator = std::exchange(communicator_, nullptr);
  }
  if (communicator != nullptr) static_cast<void>(nccl_.abort(communicator));
}

bool NcclGroup::is_ready() {
  const std::scoped_lock lock(mutex_);
  run_.throw_if_aborted();
  ncclResult_t state = ncclSuccess;
  nccl_.check(nccl_.get_async_error(communicator_, &state), "ncclCommGetAsyncError");
  nccl_.check(state, "NCCL");
  return state == ncclSuccess;
}

void NcclGroup::wait_until_ready() {
  while (!is_ready()) run_.sleep_for(kBetweenPolls);
}

}  // namespace foreshard::executor::cuda
