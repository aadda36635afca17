// In which collective of a communicator a rank's device is: an event is recorded where a stream
// comes to a collective, and one where it has finished its part.
//
// The rank's host thread records; any thread may ask.
#pragma once

#include <deque>
#include <mutex>
#include <vector>

#include <cuda_runtime_api.h>

namespace foreshard::executor::cuda {

class CollectiveLog {
 public:
  CollectiveLog() = default;
  ~CollectiveLog();
  CollectiveLog(const CollectiveLog&) = delete;
  CollectiveLog& operator=(const CollectiveLog&) = delete;

  // The stream comes to the next collective, after it has finished the one before, on whatever
  // stream that is. `operation`: a literal. The event stays as it is until the next arrival.
  cudaEvent_t arrive(cudaStream_t stream, const char* operation);
  // The same stream has finished it. The event stays as it is until the next call of this.
  cudaEvent_t finish(cudaStream_t stream);
  // The collective that the device has come to and not finished; nullptr: it is in none.
  const char* running();

 private:
  struct Collective {
    const char* operation = "";
    cudaEvent_t arrived = nullptr, finished = nullptr;
    bool is_issued = false;
  };
  void look();  // takes out those that have finished

  std::mutex mutex_;
  std::deque<Collective> open_;
  std::vector<Collective> unused_;
  cudaStream_t last_stream_ = nullptr;
  cudaEvent_t last_finished_ = nullptr;
};

}  // namespace foreshard::executor::cuda
