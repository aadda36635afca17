// Communicators over the host's NCCL: ranks that are threads with a GPU each, and ranks that know
// each other by a transport only, as processes do.
#include "executor/cuda/communication/nccl_communicator.hpp"

#include <atomic>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>

#include "executor/cuda/communication/nccl_group.hpp"
#include "tests/cuda/cuda_devices.hpp"
#include "tests/executor/communication/communicator_checks.hpp"
#include "tests/executor/communication/thread_transport.hpp"

namespace foreshard::executor::cuda {
namespace {

// Sums of whole numbers are the same in any order.
template <typename T>
void check_sums(Communicator& communicator, Device& device, Stream stream, std::int64_t count) {
  const int size = communicator.size(), me = communicator.index();
  const PinnedMemory<T> memory(device);
  const auto value = [](int rank, std::int64_t i) { return static_cast<double>(i % 7 + rank); };
  PinnedVector<T> input(static_cast<std::size_t>(count * size), T{}, memory);
  for (std::size_t i = 0; i < input.size(); ++i) {
    input[i] = narrow<T>(value(me, static_cast<std::int64_t>(i)));
  }
  PinnedVector<T> in_place = input, whole = input, slice(static_cast<std::size_t>(count), memory);
  const std::int64_t begin = me * count;
  communicator.reduce_scatter(stream, 1, kTypeOf<T>, Reduction::sum, bytes_of(input),
                              bytes_of(slice), count);
  communicator.reduce_scatter(stream, 2, kTypeOf<T>, Reduction::sum, bytes_of(in_place),
                              bytes_of(in_place) + begin * static_cast<int>(sizeof(T)), count);
  communicator.all_reduce(stream, 3, kTypeOf<T>, Reduction::average, bytes_of(whole), count * size);
  device.synchronize();
  int wrong = 0;
  for (std::int64_t i = 0; i < count * size; ++i) {
    double sum = 0;
    for (int rank = 0; rank < size; ++rank) sum += value(rank, i);
    wrong += same_bits(whole[static_cast<std::size_t>(i)], narrow<T>(sum / size)) ? 0 : 1;
    if (i < begin || i >= begin + count) continue;
    wrong += same_bits(slice[static_cast<std::size_t>(i - begin)], narrow<T>(sum)) ? 0 : 1;
    wrong += same_bits(in_place[static_cast<std::size_t>(i)], narrow<T>(sum)) ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0) << count << " elements, rank " << me << " of " << size;
}

void check_nccl_communicator(RunControl& run, Communicator& communicator, Device& device) {
  for (const std::int64_t bytes : {1, 4097, 150'001}) {
    check_all_gather(communicator, device, Stream::all_gather, bytes);
  }
  for (const std::int64_t count : {1, 1025, 40'000}) {
    check_sums<float>(communicator, device, Stream::reduce_scatter, count);
    check_sums<double>(communicator, device, Stream::compute, count);
    check_sums<Bf16>(communicator, device, Stream::reduce_scatter, count);
  }
  for (int round = 0; round < 4; ++round) check_order_across_streams(run, communicator, device);
}

TEST(NcclCommunicator, ThreadsHaveAGpuEach) {
  const HostGpus gpus(3);
  RunControl run(3);
  CudaDevices devices(run, 3);
  const auto group = make_nccl_communicators(run, devices.all(), first_ranks(3), nullptr);
  on_threads(3, [&](int rank) {
    check_nccl_communicator(run, *group[static_cast<std::size_t>(rank)], devices[rank]);
  });
}

// What one process has of a run whose ranks know each other by messages.
struct Process {
  Process(PostOffice& office, int rank, int size, int gpu)
      : run(size), transport(office, rank, size), device(run, rank, gpu, fsdp2_streams()) {}
  void connect(std::vector<int> ranks) {
    Device* const only[] = {&device};
    made = make_nccl_communicators(run, only, ranks, &transport);
  }
  Communicator& communicator() { return *made[0]; }

  RunControl run;
  ThreadTransport transport;
  CudaDevice device;
  std::vector<std::unique_ptr<Communicator>> made;
};

TEST(NcclCommunicator, ProcessesExchangeTheIdOfEachGroup) {
  const HostGpus gpus(4);
  PostOffice office;
  on_threads(4, [&](int rank) {
    Process mine(office, rank, 4, rank);
    mine.connect({rank % 2, rank % 2 + 2});
    EXPECT_EQ(mine.communicator().index(), rank / 2);
    check_nccl_communicator(mine.run, mine.communicator(), mine.device);
  });
}

TEST(NcclCommunicator, RanksThatShareAGpuAreRefused) {
  const HostGpus gpus(1);
  PostOffice office;
  std::atomic<int> refusals{0};
  on_threads(2, [&](int rank) {
    Process mine(office, rank, 2, 0);
    try {
      mine.connect({0, 1});
    } catch (const std::runtime_error& error) {
      ++refusals;
      EXPECT_TRUE(std::string(error.what()).starts_with("ranks 0 and 1 share the GPU "))
          << error.what();
    }
  });
  EXPECT_EQ(refusals, 2);
}

// A rank waits in NCCL's calls for those that never connect, or never come to the first collective.
TEST(NcclCommunicator, AnAbortEndsCallsThatWaitForOthers) {
  const HostGpus gpus(2);
  const NcclCalls& nccl = *load_nccl().value();
  for (const bool is_connected : {false, true}) {
    ncclUniqueId id{};
    nccl.check(nccl.get_unique_id(&id), "ncclGetUniqueId");
    RunControl run(2);
    std::atomic<int> waiting{0};
    on_threads(2, [&](int rank) {
      const NcclGroup::Place here[] = {{rank, rank, rank}};
      NcclGroup group(run, nccl, here, nullptr);
      const CudaDevice device(run, rank, rank, fsdp2_streams());
      const auto stream = device.native(Stream::compute);
      if (is_connected) group.connect(2, id);
      if (++waiting == 2) return run.fail(rank, "gone");
      if (!is_connected) {
        EXPECT_THROW(group.connect(2, id), Aborted);
        return;
      }
      const auto all_reduce = [&](ncclComm_t communicator) {
        return nccl.all_reduce(nullptr, nullptr, 0, ncclFloat32, ncclSum, communicator, stream);
      };
      EXPECT_THROW(group.issue(0, "ncclAllReduce", all_reduce), Aborted);
    });
  }
}

// Streams that wait for a rank that never comes are drained by an abort, and it is seen until then
// what had finished before.
TEST(NcclCommunicator, AnAbortEndsCollectivesInFlight) {
  const HostGpus gpus(3);
  PostOffice office;
  std::atomic<int> drained{0};
  on_threads(3, [&](int rank) {
    Process mine(office, rank, 3, rank);
    Program program;
    program.events = 1;
    mine.device.begin(program);
    mine.connect(first_ranks(3));
    mine.communicator().barrier(Stream::all_gather, 1);
    if (rank == 2) {
      while (drained < 2) std::this_thread::yield();
      mine.run.end("the others are gone");
      return;
    }
    std::vector<std::byte> memory(16);
    mine.device.fill(Stream::compute, 2, memory, std::byte{1});
    mine.communicator().barrier(Stream::all_gather, 5);
    mine.device.record(Stream::all_gather, 0, unreported(6));
    mine.device.wait(Stream::compute, 0, unreported(7));
    mine.device.fill(Stream::compute, 8, memory, std::byte{2});
    while (!mine.device.has_finished(4)) std::this_thread::yield();
    EXPECT_FALSE(mine.device.has_finished(5));
    std::vector<Wait> waits;
    mine.communicator().add_waits(waits);
    EXPECT_EQ(waits.size(), 2U);
    mine.run.fail(2, "gone");
    mine.device.stop();
    EXPECT_EQ(memory[0], std::byte{2});
    EXPECT_THROW(mine.communicator().barrier(Stream::all_gather, 9), Aborted);
    ++drained;
  });
}

TEST(NcclCommunicator, ErrorsOfNcclFailTheRun) {
  setenv("FORESHARD_HOST_NCCL_ERROR", "1", 1);
  const HostGpus gpus(2);
  PostOffice office;
  on_threads(2, [&](int rank) {
    Process mine(office, rank, 2, rank);
    mine.connect({0, 1});
    mine.communicator().barrier(Stream::all_gather, 1);
    mine.communicator().barrier(Stream::all_gather, 2);
    if (rank == 1) {
      mine.run.wait_until_aborted();
      EXPECT_EQ(mine.run.failure()->text(),
                "rank 1: NCCL: remote process exited or there was a network error");
    } else {
      mine.run.fail(1, "told by a heartbeat");
    }
    mine.device.stop();
  });
  unsetenv("FORESHARD_HOST_NCCL_ERROR");
}

}  // namespace
}  // namespace foreshard::executor::cuda
