// Collectives among the ranks of a group, as seen by one of them.
//
// The host issues a collective on a stream and goes on; the stream's worker takes part in it.
// Collectives of one communicator execute in the order in which the host issued them, whatever
// their streams: each takes a number when issued, and a worker waits for its turn.
//
// Reductions are the same to the last bit in every implementation: the slice that rank r of N owns
// is the sum in the payload's own type, in the order r-1, r-2, ..., r (modulo N, r itself last),
// rounded after every addition, then for the average one true division by N (reduction.hpp). This
// is how PyTorch's gloo backend sums.
//
// Buffers must stay valid until the collective has finished on the stream; those of other ranks are
// read directly where memory is shared, so no rank's memory may go before every rank's streams have.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "executor/device/stream.hpp"
#include "executor/device/watchdog.hpp"
#include "models/base/dtype.hpp"

namespace foreshard::executor {

enum class Reduction : std::uint8_t { sum, average };

// It tells the watchdog for whom its rank waits at the moment.
class Communicator : public WaitSource {
 public:
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int size() const { return size_; }
  int index() const { return index_; }  // of this rank in the group

  // All of these are for the rank's host thread only.

  // In place: this rank's part already lies at index() * bytes_per_rank.
  void all_gather(StreamWorker& stream, Tag tag, std::byte* buffer, std::int64_t bytes_per_rank);
  // input: size() slices of `count` elements; output: the reduced slice index(). Output may be this
  // rank's own slice of the input. Types: fp32, bf16, fp64.
  void reduce_scatter(StreamWorker& stream, Tag tag, DType type, Reduction reduction,
                      const std::byte* input, std::byte* output, std::int64_t count);
  // In place; bit-identical on all ranks.
  void all_reduce(StreamWorker& stream, Tag tag, DType type, Reduction reduction, std::byte* buffer,
                  std::int64_t count);
  void barrier(StreamWorker& stream, Tag tag);

 protected:
  Communicator(RunControl& run, int size, int index) : run_(run), size_(size), index_(index) {}

  // The same on a stream's worker, one at a time and in order; they end when the buffers are free
  // for other use, and call stream.mark_ready() once every rank has arrived.
  virtual void run_all_gather(StreamWorker& stream, std::byte* buffer, std::int64_t bytes) = 0;
  virtual void run_reduce_scatter(StreamWorker& stream, DType type, Reduction reduction,
                                  const std::byte* input, std::byte* output,
                                  std::int64_t count) = 0;
  virtual void run_all_reduce(StreamWorker& stream, DType type, Reduction reduction,
                              std::byte* buffer, std::int64_t count) = 0;
  virtual void run_barrier(StreamWorker& stream) = 0;

  RunControl& run_;

 private:
  template <typename Operation>
  void issue(StreamWorker& stream, Tag tag, Operation operation);

  const int size_;
  const int index_;
  std::uint32_t issued_ = 0;            // host's
  std::atomic<std::uint32_t> turn_{0};  // number of the collective that may execute
};

}  // namespace foreshard::executor
