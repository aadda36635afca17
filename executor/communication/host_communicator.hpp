// Communicators whose collectives the host executes, on devices whose memory it reaches: the base of
// those for threads and for processes.
//
// A collective is a task on its stream (Device::call). Those of one communicator take turns: each
// takes a number when it is issued and waits for its turn on its stream.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "executor/communication/communicator.hpp"
#include "executor/device/device.hpp"

namespace foreshard::executor {

class HostCommunicator : public Communicator {
 public:
  void all_gather(Stream stream, Tag tag, std::byte* buffer, std::int64_t bytes_per_rank) final;
  void reduce_scatter(Stream stream, Tag tag, DType type, Reduction reduction,
                      const std::byte* input, std::byte* output, std::int64_t count) final;
  void all_reduce(Stream stream, Tag tag, DType type, Reduction reduction, std::byte* buffer,
                  std::int64_t count) final;
  void barrier(Stream stream, Tag tag) final;

 protected:
  HostCommunicator(RunControl& run, Device& device, int size, int index)
      : Communicator(size, index), run_(run), device_(device) {}

  // The same on a stream's thread, one at a time and in order; they end when the buffers are free for
  // other use, and call mark_ready() once every rank has arrived.
  virtual void run_all_gather(std::byte* buffer, std::int64_t bytes_per_rank) = 0;
  virtual void run_reduce_scatter(DType type, Reduction reduction, const std::byte* input,
                                  std::byte* output, std::int64_t count) = 0;
  virtual void run_all_reduce(DType type, Reduction reduction, std::byte* buffer,
                              std::int64_t count) = 0;
  virtual void run_barrier() = 0;

  RunControl& run_;

 private:
  template <typename Operation>
  void issue(Stream stream, Tag tag, Operation operation);

  Device& device_;
  std::uint32_t issued_ = 0;            // host's
  std::atomic<std::uint32_t> turn_{0};  // number of the collective that may execute
};

}  // namespace foreshard::executor
