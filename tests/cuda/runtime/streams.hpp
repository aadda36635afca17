// Streams and events of the runtime on the host: a stream is a thread with a queue, an event counts how
// often it has been recorded and reached. As with CUDA, a wait means the last record issued before it.
// A stream that is captured (graphs.hpp) runs nothing.
//
// Streams and events are of the device that was current when they were made. Only a stream of its own device
// can record an event, and only when that device is current can a kernel be launched on a stream; anybody may
// wait for an event or ask it ("Stream and Event Behavior" in the CUDA C++ Programming Guide). Every such
// call makes a context on the device that is current, if it has none.
//
// FORESHARD_HOST_CUDA_DELAYS=SEED makes streams sleep now and then, so that an order that events do not
// enforce does not hold by chance.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <queue>
#include <random>
#include <thread>

#include <cuda_runtime_api.h>

#include "tests/cuda/runtime/graphs.hpp"

namespace foreshard::host_cuda {

class Event {
 public:
  explicit Event(int device) : device_(device) {}
  int device() const { return device_; }

  std::uint64_t issue();  // number of a new record
  std::uint64_t issued();
  void reach(std::uint64_t record);
  bool has_reached(std::uint64_t record);
  void wait_for(std::uint64_t record);
  std::chrono::steady_clock::time_point reached_at();

  // Recorded last by a stream that was captured, there.
  void capture(const Place& at);
  Place captured();

 private:
  const int device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t issued_ = 0, reached_ = 0;
  std::chrono::steady_clock::time_point reached_at_;
  Place captured_;
};

class Stream {
 public:
  explicit Stream(int device);
  ~Stream();  // does what has been issued
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int device() const { return device_; }
  cudaError_t issue(std::function<void()> task);
  cudaError_t record(const std::shared_ptr<Event>& event);
  cudaError_t wait(const std::shared_ptr<Event>& event);
  cudaError_t synchronize();

  bool enter_capture(const std::shared_ptr<Capture>& capture);  // false: it is in one
  std::shared_ptr<Capture> capture();
  Nodes leave_capture();  // behind which it was

 private:
  void work();
  void queue(std::function<void()> task);
  cudaError_t wait_in_capture(const Place& place);

  const int device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::queue<std::function<void()>> tasks_;
  std::uint64_t issued_ = 0, done_ = 0;
  bool ends_ = false;
  std::minstd_rand random_;
  bool delays_ = false;
  Place captured_;
  std::thread thread_;
};

inline Stream& of(cudaStream_t stream) {
  return *reinterpret_cast<Stream*>(stream);
}
inline const std::shared_ptr<Event>& of(cudaEvent_t event) {
  return *reinterpret_cast<std::shared_ptr<Event>*>(event);
}

}  // namespace foreshard::host_cuda
