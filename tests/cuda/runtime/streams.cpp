#include "tests/cuda/runtime/streams.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <utility>

namespace foreshard::host_cuda {

std::uint64_t Event::issue() {
  const std::scoped_lock lock(mutex_);
  captured_ = {};
  return ++issued_;
}

void Event::capture(const Place& at) {
  const std::scoped_lock lock(mutex_);
  captured_ = at;
}

Place Event::captured() {
  const std::scoped_lock lock(mutex_);
  return captured_;
}

std::uint64_t Event::issued() {
  const std::scoped_lock lock(mutex_);
  return issued_;
}

void Event::reach(std::uint64_t record) {
  const std::scoped_lock lock(mutex_);
  reached_ = std::max(reached_, record);
  reached_at_ = std::chrono::steady_clock::now();
  changed_.notify_all();
}

bool Event::has_reached(std::uint64_t record) {
  const std::scoped_lock lock(mutex_);
  return reached_ >= record;
}

std::chrono::steady_clock::time_point Event::reached_at() {
  const std::scoped_lock lock(mutex_);
  return reached_at_;
}

void Event::wait_for(std::uint64_t record) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return reached_ >= record; });
}

Stream::Stream(int device) : device_(device) {
  static std::atomic<unsigned> streams{0};
  if (const char* seed = std::getenv("FORESHARD_HOST_CUDA_DELAYS")) {
    delays_ = true;
    random_.seed(static_cast<unsigned>(std::atoi(seed)) + streams.fetch_add(1));
  }
  thread_ = std::thread([this] { work(); });
}

Stream::~Stream() {
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Stream::queue(std::function<void()> task) {
  tasks_.push(std::move(task));
  ++issued_;
  changed_.notify_all();
}

cudaError_t Stream::issue(std::function<void()> task) {
  const std::scoped_lock lock(mutex_);
  if (!captured_.capture) {
    queue(std::move(task));
    return cudaSuccess;
  }
  if (!captured_.capture->is_valid()) return cudaErrorStreamCaptureInvalidated;
  captured_.after = {captured_.capture->add(*this, std::move(task), captured_.after)};
  return cudaSuccess;
}

cudaError_t Stream::record(const std::shared_ptr<Event>& event) {
  if (event->device() != device_) return cudaErrorInvalidResourceHandle;
  const std::scoped_lock lock(mutex_);
  if (!captured_.capture) {
    queue([event, record = event->issue()] { event->reach(record); });
    return cudaSuccess;
  }
  if (!captured_.capture->is_valid()) return cudaErrorStreamCaptureInvalidated;
  event->capture(captured_);
  return cudaSuccess;
}

cudaError_t Stream::wait(const std::shared_ptr<Event>& event) {
  const std::scoped_lock lock(mutex_);
  const Place place = event->captured();
  if (captured_.capture || place.capture) return wait_in_capture(place);
  queue([event, record = event->issued()] { event->wait_for(record); });
  return cudaSuccess;
}

// Dependencies do not cross a capture's border, and do not make one of two captures.
cudaError_t Stream::wait_in_capture(const Place& place) {
  if (!captured_.capture) {
    if (!place.capture->is_open()) return cudaErrorCapturedEvent;
    place.capture->join(*this);
    captured_ = place;
    return cudaSuccess;
  }
  if (!captured_.capture->is_valid()) return cudaErrorStreamCaptureInvalidated;
  if (captured_.capture != place.capture) {
    captured_.capture->invalidate();
    if (!place.capture) return cudaErrorStreamCaptureIsolation;
    place.capture->invalidate();
    return cudaErrorStreamCaptureMerge;
  }
  for (const std::size_t node : place.after) {
    if (!std::ranges::count(captured_.after, node)) captured_.after.push_back(node);
  }
  return cudaSuccess;
}

bool Stream::enter_capture(const std::shared_ptr<Capture>& capture) {
  const std::scoped_lock lock(mutex_);
  if (captured_.capture) return false;
  captured_ = {capture, {}};
  return true;
}

std::shared_ptr<Capture> Stream::capture() {
  const std::scoped_lock lock(mutex_);
  return captured_.capture;
}

Nodes Stream::leave_capture() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(captured_, {}).after;
}

cudaError_t Stream::synchronize() {
  std::unique_lock lock(mutex_);
  if (captured_.capture) {
    captured_.capture->invalidate();
    return cudaErrorStreamCaptureUnsupported;
  }
  changed_.wait(lock, [this, until = issued_] { return done_ >= until; });
  return cudaSuccess;
}

void Stream::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const auto task = std::move(tasks_.front());
    tasks_.pop();
    lock.unlock();
    if (delays_ && random_() % 8 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(random_() % 300));
    }
    task();
    lock.lock();
    ++done_;
    changed_.notify_all();
  }
}

}  // namespace foreshard::host_cuda
