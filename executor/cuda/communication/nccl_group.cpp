#include "executor/cuda/communication/nccl_group.hpp"

#include <chrono>
#include <string>

#include "executor/device/start_thread.hpp"

namespace foreshard::executor::cuda {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{50};
// A call may take so long once the run has been aborted.
constexpr std::chrono::milliseconds kLongestCall{250};
constexpr Nanoseconds kLongestConnecting{300'000'000'000};

}  // namespace

NcclGroup::NcclGroup(RunControl& run, const NcclCalls& nccl, std::span<const Place> here,
                     const Transport* transport)
    : run_(run), nccl_(nccl), transport_(transport) {
  for (const Place& place : here) members_.push_back(std::make_unique<Member>(place));
  watcher_ = start_thread("NCCL's watcher", [this] { watch(); });
}

NcclGroup::~NcclGroup() {
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  watcher_.join();
  if (!is_aborted_) end(is_connected_ && !run_.is_aborted() ? nccl_.destroy : nccl_.abort);
}

void NcclGroup::connect(int size, const ncclUniqueId& id) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 1;
  ncclResult_t refusal = ncclSuccess;
  {
    // Within a group it is only begun, so that the watcher knows what it may have to abort. What is
    // refused at once, as where there is no driver, the end of the group need not know.
    const std::scoped_lock lock(mutex_);
    run_.throw_if_aborted();
    nccl_.check(nccl_.group_start(), "ncclGroupStart");
    for (const auto& member : members_) {
      static_cast<void>(cudaSetDevice(member->place.gpu));
      const ncclResult_t result =
          nccl_.init_rank(&member->communicator, size, id, member->place.index, &config);
      if (refusal == ncclSuccess) refusal = result;
    }
  }
  const ncclResult_t ended = nccl_.group_end();
  check(refusal == ncclSuccess ? ended : refusal, "ncclCommInitRankConfig");
  const std::scoped_lock lock(mutex_);
  is_connected_ = true;
}

// A call that an abort has ended returns an error of its own.
void NcclGroup::check(ncclResult_t result, const char* name) const {
  if (result != ncclSuccess) run_.throw_if_aborted();
  nccl_.check(result, name);
}

void NcclGroup::watch() {
  std::unique_lock lock(mutex_);
  while (!run_.is_aborted()) {
    if (changed_.wait_for(lock, kBetweenLooks, [this] { return ends_; })) return;
    look();
  }
  is_aborted_ = true;
  lock.unlock();
  abort();
}

void NcclGroup::look() {
  if (!is_connected_) {
    const auto lost = transport_ != nullptr ? transport_->lost() : std::nullopt;
    if (lost) return run_.fail(lost->rank, lost->message);
    if (monotonic_now() - began_ < kLongestConnecting) return;
    return run_.fail(members_[0]->place.rank, "NCCL: not all ranks have connected within " +
                                                  seconds_text(kLongestConnecting));
  }
  for (const auto& member : members_) {
    ncclResult_t state = ncclSuccess;
    if (nccl_.get_async_error(member->communicator, &state) != ncclSuccess) continue;
    if (state == ncclSuccess || state == ncclInProgress) continue;
    run_.fail(member->place.rank, std::string("NCCL: ") + nccl_.error_string(state));
  }
}

void NcclGroup::abort() {
  const auto deadline = std::chrono::steady_clock::now() + kLongestCall;
  std::vector<std::unique_lock<std::timed_mutex>> calls;
  for (const auto& member : members_) calls.emplace_back(member->call, deadline);
  end(nccl_.abort);
}

// In a group, as one may wait for the others.
void NcclGroup::end(ncclResult_t (*how)(ncclComm_t)) {
  static_cast<void>(nccl_.group_start());
  for (const auto& member : members_) {
    if (member->communicator == nullptr) continue;
    static_cast<void>(cudaSetDevice(member->place.gpu));
    static_cast<void>(how(member->communicator));
  }
  static_cast<void>(nccl_.group_end());
}

}  // namespace foreshard::executor::cuda
