#include "executor/communication/communicator.hpp"

namespace foreshard::executor {

template <typename Operation>
void Communicator::issue(StreamWorker& stream, Tag tag, Operation operation) {
  const std::uint32_t number = issued_++;
  stream.submit(tag, [this, number, operation] {
    std::uint32_t turn = turn_.load(std::memory_order_acquire);
    while (turn != number) {
      run_.wait(turn_, turn);
      turn = turn_.load(std::memory_order_acquire);
    }
    operation();
    turn_.store(number + 1, std::memory_order_release);
    RunControl::wake(turn_);
  });
}

void Communicator::all_gather(StreamWorker& stream, Tag tag, std::byte* buffer,
                              std::int64_t bytes_per_rank) {
  issue(stream, tag, [this, &stream, buffer, bytes_per_rank] {
    run_all_gather(stream, buffer, bytes_per_rank);
  });
}

void Communicator::reduce_scatter(StreamWorker& stream, Tag tag, DType type, Reduction reduction,
                                  const std::byte* input, std::byte* output, std::int64_t count) {
  issue(stream, tag, [this, &stream, type, reduction, input, output, count] {
    run_reduce_scatter(stream, type, reduction, input, output, count);
  });
}

void Communicator::all_reduce(StreamWorker& stream, Tag tag, DType type, Reduction reduction,
                              std::byte* buffer, std::int64_t count) {
  issue(stream, tag, [this, &stream, type, reduction, buffer, count] {
    run_all_reduce(stream, type, reduction, buffer, count);
  });
}

void Communicator::barrier(StreamWorker& stream, Tag tag) {
  issue(stream, tag, [this, &stream] { run_barrier(stream); });
}

}  // namespace foreshard::executor
