#include "tests/cuda/runtime/streams.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>

namespace foreshard::host_cuda {

std::uint64_t Event::issue() {
  const std::scoped_lock lock(mutex_);
  return ++issued_;
}

std::uint64_t Event::issued() {
  const std::scoped_lock lock(mutex_);
  return issued_;
}

void Event::reach(std::uint64_t record) {
  const std::scoped_lock lock(mutex_);
  reached_ = std::max(reached_, record);
  changed_.notify_all();
}

bool Event::has_reached(std::uint64_t record) {
  const std::scoped_lock lock(mutex_);
  return reached_ >= record;
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

void Stream::issue(std::function<void()> task) {
  const std::scoped_lock lock(mutex_);
  tasks_.push(std::move(task));
  ++issued_;
  changed_.notify_all();
}

void Stream::record(const std::shared_ptr<Event>& event) {
  issue([event, record = event->issue()] { event->reach(record); });
}

void Stream::wait(const std::shared_ptr<Event>& event) {
  issue([event, record = event->issued()] { event->wait_for(record); });
}

void Stream::synchronize() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this, until = issued_] { return done_ >= until; });
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
