// Collectives among the ranks of a group, as seen by one of them.
//
// A communicator belongs to one rank's device. The host issues a collective on one of its streams and
// goes on, without waiting for any device; whether it waits for the hosts of the others to issue theirs
// is the implementation's. Collectives of one communicator execute in the order in which the host
// issued them, whatever their streams.
//
// Reductions are the same to the last bit in every implementation that the host executes: the slice
// that rank r of N owns is the sum in the payload's own type, in the order r-1, r-2, ..., r (modulo N,
// r itself last), rounded after every addition, then for the average one true division by N
// (reduction.hpp). This is how PyTorch's gloo backend sums.
//
// Buffers must stay valid until the collective has finished on the stream; those of other ranks are
// read directly where memory is shared, so no rank's memory may go before every rank's streams have.
#pragma once

#include <cstddef>
#include <cstdint>

#include "executor/device/task.hpp"
#include "executor/device/watchdog.hpp"
#include "models/base/dtype.hpp"
#include "models/program/step_program.hpp"

namespace foreshard::executor {

enum class Reduction : std::uint8_t { sum, average };

// It reports to the watchdog for whom its rank waits at the moment.
class Communicator : public WaitSource {
 public:
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int size() const { return size_; }
  int index() const { return index_; }  // of this rank in the group

  // All of these are for the rank's host thread only.

  // In place: this rank's part already lies at index() * bytes_per_rank.
  virtual void all_gather(Stream stream, Tag tag, std::byte* buffer,
                          std::int64_t bytes_per_rank) = 0;
  // input: size() slices of `count` elements; output: the reduced slice index(). Output may be this
  // rank's own slice of the input. Types: fp32, bf16, fp64.
  virtual void reduce_scatter(Stream stream, Tag tag, DType type, Reduction reduction,
                              const std::byte* input, std::byte* output, std::int64_t count) = 0;
  // In place; bit-identical on all ranks.
  virtual void all_reduce(Stream stream, Tag tag, DType type, Reduction reduction,
                          std::byte* buffer, std::int64_t count) = 0;
  virtual void barrier(Stream stream, Tag tag) = 0;

  // Whether collectives can be part of a DeviceGraph.
  virtual bool can_be_captured() const { return false; }

 protected:
  Communicator(int size, int index) : size_(size), index_(index) {}

 private:
  const int size_;
  const int index_;
};

}  // namespace foreshard::executor
