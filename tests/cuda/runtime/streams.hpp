// Streams and events of the runtime on the host: a stream is a thread with a queue, an event counts how
// often it has been recorded and reached. As with CUDA, a wait means the last record issued before it.
//
// FORESHARD_HOST_CUDA_DELAYS=SEED makes streams sleep now and then, so that an order that events do not
// enforce does not hold by chance.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <queue>
#include <random>
#include <thread>

namespace foreshard::host_cuda {

class Event {
 public:
  std::uint64_t issue();  // number of a new record
  std::uint64_t issued();
  void reach(std::uint64_t record);
  bool has_reached(std::uint64_t record);
  void wait_for(std::uint64_t record);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t issued_ = 0, reached_ = 0;
};

class Stream {
 public:
  explicit Stream(int device);
  ~Stream();  // does what has been issued
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int device() const { return device_; }
  void issue(std::function<void()> task);
  void record(const std::shared_ptr<Event>& event);
  void wait(const std::shared_ptr<Event>& event);
  void synchronize();

 private:
  void work();

  const int device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::queue<std::function<void()>> tasks_;
  std::uint64_t issued_ = 0, done_ = 0;
  bool ends_ = false;
  std::minstd_rand random_;
  bool delays_ = false;
  std::thread thread_;
};

}  // namespace foreshard::host_cuda
