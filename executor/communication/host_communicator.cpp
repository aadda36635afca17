#include "executor/communication/host_communicator.hpp"

namespace foreshard::executor {

template <typename Operation>
void HostCommunicator::issue(Stream stream, Tag tag, Operation operation) {
  const std::uint32_t number = issued_++;
  device_.call(stream, tag, [this, number, operation] {
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

void HostCommunicator::all_gather(Stream stream, Tag tag, std::byte* buffer,
                                  std::int64_t bytes_per_rank) {
  issue(stream, tag, [this, buffer, bytes_per_rank] { run_all_gather(buffer, bytes_per_rank); });
}

void HostCommunicator::reduce_scatter(Stream stream, Tag tag, DType type, Reduction reduction,
                                      const std::byte* input, std::byte* output,
                                      std::int64_t count) {
  issue(stream, tag, [this, type, reduction, input, output, count] {
    run_reduce_scatter(type, reduction, input, output, count);
  });
}

void HostCommunicator::all_reduce(Stream stream, Tag tag, DType type, Reduction reduction,
                                  std::byte* buffer, std::int64_t count) {
  issue(stream, tag,
        [this, type, reduction, buffer, count] { run_all_reduce(type, reduction, buffer, count); });
}

void HostCommunicator::barrier(Stream stream, Tag tag) {
  issue(stream, tag, [this] { run_barrier(); });
}

}  // namespace foreshard::executor
