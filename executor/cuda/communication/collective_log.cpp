#include "executor/cuda/communication/collective_log.hpp"

#include "executor/cuda/device/events.hpp"

namespace foreshard::executor::cuda {
CollectiveLog::~CollectiveLog() {
  unused_.insert(unused_.end(), open_.begin(), open_.end());
  for (const Collective& collective : unused_) {
    static_cast<void>(cudaEventDestroy(collective.arrived));
    static_cast<void>(cudaEventDestroy(collective.finished));
  }
}

cudaEvent_t CollectiveLog::arrive(cudaStream_t stream, const char* operation) {
  const std::scoped_lock lock(mutex_);
  look();
  if (last_finished_ != nullptr && last_stream_ != stream) {
    check(cudaStreamWaitEvent(stream, last_finished_, 0), "cudaStreamWaitEvent");
  }
  if (unused_.empty()) unused_.push_back({"", new_event(), new_event(), false});
  open_.push_back(unused_.back());
  unused_.pop_back();
  open_.back().operation = operation;
  open_.back().is_issued = false;
  check(cudaEventRecord(open_.back().arrived, stream), "cudaEventRecord");
  return open_.back().arrived;
}

cudaEvent_t CollectiveLog::finish(cudaStream_t stream) {
  const std::scoped_lock lock(mutex_);
  Collective& last = open_.back();
  check(cudaEventRecord(last.finished, stream), "cudaEventRecord");
  last.is_issued = true;
  last_stream_ = stream;
  last_finished_ = last.finished;
  return last.finished;
}

void CollectiveLog::look() {
  while (!open_.empty() && open_.front().is_issued &&
         cudaEventQuery(open_.front().finished) == cudaSuccess) {
    unused_.push_back(open_.front());
    open_.pop_front();
  }
}

const char* CollectiveLog::running() {
  const std::scoped_lock lock(mutex_);
  look();
  if (open_.empty() || cudaEventQuery(open_.front().arrived) != cudaSuccess) return nullptr;
  return open_.front().operation;
}

}  // namespace foreshard::executor::cuda
