// Memory of several GPUs whose ranks read each other's, from cudaMalloc and mapped into ranges.
#include <cstring>

#include <gtest/gtest.h>

#include "executor/cuda/communication/local_communicator.hpp"
#include "executor/cuda/kernels/check.hpp"
#include "tests/cuda/cuda_devices.hpp"

namespace foreshard::executor::cuda {
namespace {

constexpr Address kTop = Address{1} << 44;
constexpr std::int64_t kGranule = 2 << 20;

// Two ranks on GPUs that no other test uses: peer access lasts as long as the process.
class CudaMemoryOfTwoGpus : public testing::TestWithParam<bool> {
 protected:
  static constexpr int kFirstGpu = 6;

  bool is_expandable() const { return GetParam(); }

  // Work for it is given by a thread that has called begin.
  CudaDevice& device(int rank) { return devices_[static_cast<std::size_t>(rank)]; }
  void begin(int rank) { check(cudaSetDevice(device(rank).gpu()), "cudaSetDevice"); }

  void begin_range(int rank) {
    if (is_expandable()) {
      ASSERT_TRUE(device(rank).backing().begin_range({kTop, 4 * kGranule}, kGranule));
    }
  }
  // The n-th piece of memory of a rank.
  std::byte* commit(int rank, int n) {
    begin(rank);
    EXPECT_TRUE(device(rank).backing().commit(kTop + n * kGranule, kGranule));
    return device(rank).pointer(kTop + n * kGranule);
  }
  void decommit(int rank, int n) { device(rank).backing().decommit(kTop + n * kGranule, kGranule); }

  // The kernel of rank 1's GPU adds what is at `from` to its own memory.
  void add_on_rank_1(const std::byte* from, std::byte* to) {
    constexpr std::size_t kBytes = 4000;
    const CostKey key{Operator::add, DType::fp32, DType::fp32, DType::fp32, {kBytes / 4}};
    const std::span<const std::byte> reads[] = {{from, kBytes}};
    const std::span<std::byte> writes[] = {{to, kBytes}};
    begin(1);
    device(1).launch(Stream::compute, 1, {key, reads, writes});
    device(1).synchronize();
  }

  const HostGpus gpus_{kFirstGpu + 2};
  RunControl run_{2};
  CudaDevice devices_[2] = {{run_, 0, kFirstGpu, fsdp2_streams()},
                            {run_, 1, kFirstGpu + 1, fsdp2_streams()}};
  Device* const all_[2] = {&devices_[0], &devices_[1]};
};

// By kernels, and by copies where it is mapped: the driver finds a way for copies of cudaMalloc's.
TEST_P(CudaMemoryOfTwoGpus, IsRefusedToOthersThatAreNotLetIn) {
  for (const int rank : {0, 1}) begin_range(rank);
  const std::byte* const theirs = commit(0, 0);
  std::byte* const mine = commit(1, 0);
  EXPECT_THROW(add_on_rank_1(theirs, mine), std::runtime_error);
  const auto copy = [&] { device(1).copy(Stream::compute, 1, {mine, 4}, theirs); };
  if (is_expandable()) {
    EXPECT_THROW(copy(), std::runtime_error);
  } else {
    EXPECT_NO_THROW(copy());
  }
  EXPECT_NO_THROW(add_on_rank_1(mine, mine));
  for (const int rank : {0, 1}) decommit(rank, 0);
}

TEST_P(CudaMemoryOfTwoGpus, IsReadByTheLocalGroup) {
  std::byte* pieces[2][2];  // by rank: from before the group was made, and after
  for (const int rank : {0, 1}) {
    begin_range(rank);
    pieces[rank][0] = commit(rank, 0);
  }
  const auto group = make_local_communicators(run_, all_);
  for (const int rank : {0, 1}) {
    commit(rank, 1);
    decommit(rank, 1);
    pieces[rank][1] = commit(rank, 1);
  }
  for (const int piece : {0, 1}) {
    on_threads(2, [&](int rank) {
      begin(rank);
      std::byte* const mine = pieces[rank][piece];
      const float value = static_cast<float>(rank + 1);
      for (int i = 0; i < 100; ++i) std::memcpy(mine + 4 * i, &value, 4);
      group[static_cast<std::size_t>(rank)]->all_reduce(Stream::compute, 1, DType::fp32,
                                                        Reduction::sum, mine, 100);
      device(rank).synchronize();
    });
    for (const int rank : {0, 1}) {
      for (int i = 0; i < 100; ++i) {
        float value = 0;
        std::memcpy(&value, pieces[rank][piece] + 4 * i, 4);
        ASSERT_EQ(value, 3.0F) << "rank " << rank << ", piece " << piece;
      }
    }
  }
  for (const int rank : {0, 1}) {
    for (const int piece : {0, 1}) decommit(rank, piece);
  }
}

INSTANTIATE_TEST_SUITE_P(Expandable, CudaMemoryOfTwoGpus, testing::Bool());

TEST(CudaMemoryOfTwoGpus, ThatCannotReachEachOtherIsAnError) {
  const HostGpus gpus(2);
  RunControl run(2);
  CudaDevices devices(run, 2);
  setenv("FORESHARD_HOST_CUDA_PEERS", "0", 1);
  try {
    make_local_communicators(run, devices.all());
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(),
                 "GPU 0 cannot read the memory of GPU 1, as ranks that are threads do; ranks as "
                 "processes need not");
  }
  unsetenv("FORESHARD_HOST_CUDA_PEERS");
}

}  // namespace
}  // namespace foreshard::executor::cuda
