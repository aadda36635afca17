// Ranks as threads on GPUs: the promises of every communicator, over CUDA devices that share a GPU
// or have one each.
#include <atomic>
#include <cstdlib>

#include <gtest/gtest.h>

#include "executor/cuda/communication/local_communicator.hpp"
#include "executor/device/watchdog.hpp"
#include "tests/cuda/cuda_devices.hpp"
#include "tests/executor/communication/communicator_checks.hpp"
#include "tests/executor/communication/thread_transport.hpp"

namespace foreshard::executor::cuda {
namespace {

struct Setting {
  int ranks = 1, gpus = 1;
  const char* delays = nullptr;  // seed
};

class CudaLocalCommunicators : public testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    if (GetParam().delays != nullptr) setenv("FORESHARD_HOST_CUDA_DELAYS", GetParam().delays, 1);
  }
  void TearDown() override { unsetenv("FORESHARD_HOST_CUDA_DELAYS"); }

 private:
  const HostGpus gpus_{GetParam().gpus};
};

TEST_P(CudaLocalCommunicators, KeepTheirPromises) {
  RunControl run(GetParam().ranks);
  CudaDevices devices(run, GetParam().gpus);
  const auto group = cuda::make_local_communicators(run, devices.all());
  const Program program;
  on_threads(GetParam().ranks, [&](int rank) {
    devices[rank].begin(program);
    check_communicator(run, *group[static_cast<std::size_t>(rank)], devices[rank]);
  });
}

INSTANTIATE_TEST_SUITE_P(Settings, CudaLocalCommunicators,
                         testing::Values(Setting{1}, Setting{2}, Setting{3, 1, "1"},
                                         Setting{4, 2, "2"}, Setting{5, 5, "3"}));

TEST(CudaLocalCommunicator, HostsGoOnWhileDevicesWait) {
  RunControl run(2);
  CudaDevices devices(run);
  const auto group = cuda::make_local_communicators(run, devices.all());
  Gate gate;
  gate.close(devices[1], Stream::compute);
  PinnedVector<float> values(2, 1.0F, PinnedMemory<float>(devices[0]));
  on_threads(2, [&](int rank) {
    auto& mine = *group[static_cast<std::size_t>(rank)];
    for (Tag tag = 1; tag <= 20; ++tag) {
      mine.all_reduce(Stream::compute, tag, DType::fp32, Reduction::sum,
                      bytes_of(values) + 4 * rank, 1);
    }
    EXPECT_FALSE(devices[rank].has_finished(1));
  });
  gate.open();
  devices[0].synchronize();
  devices[1].synchronize();
  EXPECT_EQ(values[0], 1 << 20);
  EXPECT_EQ(values[1], 1 << 20);
}

// The watchdog's word on who holds up a run in which rank 2 does not do its part.
std::string blamed(RunControl& run, std::span<const std::unique_ptr<Communicator>> group,
                   CudaDevices& devices, const std::function<void(int rank)>& part) {
  WatchdogOptions options;
  options.hang_timeout = Nanoseconds{300'000'000};
  options.progress = [&devices](int rank) { return devices[rank].progress(); };
  options.describe = [](Tag tag) { return "instruction " + std::to_string(tag); };
  std::vector<const WaitSource*> sources;
  for (const auto& member : group) sources.push_back(member.get());
  const Watchdog watchdog(run, sources, options);
  on_threads(run.ranks(), [&](int rank) {
    for (Tag tag = 1; tag <= 40; ++tag) {
      group[static_cast<std::size_t>(rank)]->barrier(Stream::compute, tag);
    }
    devices[rank].synchronize();
    try {
      part(rank);
      ADD_FAILURE() << "rank " << rank << " passed";
    } catch (const Aborted&) {
    }
  });
  return run.failure() ? run.failure()->text() : "";
}

TEST(CudaLocalCommunicator, WhoNeverComesIsNamed) {
  RunControl run(3);
  CudaDevices devices(run);
  const auto group = cuda::make_local_communicators(run, devices.all());
  const std::string text = blamed(run, group, devices, [&](int rank) {
    if (rank == 2) run.wait_until_aborted();
    run.throw_if_aborted();
    group[static_cast<std::size_t>(rank)]->barrier(Stream::compute, 41);
  });
  EXPECT_TRUE(text.starts_with("rank 2: no progress for")) << text;
  EXPECT_TRUE(text.ends_with("waits for it in barrier")) << text;
}

// All hosts have come to the collective, and to those behind it; one device has not.
TEST(CudaLocalCommunicator, AHungDeviceIsNamed) {
  RunControl run(3);
  CudaDevices devices(run);
  const auto group = cuda::make_local_communicators(run, devices.all());
  Gate gate;
  const std::string text = blamed(run, group, devices, [&](int rank) {
    if (rank == 2) gate.close(devices[rank], Stream::compute);
    for (Tag tag = 41; tag <= 50; ++tag) {
      group[static_cast<std::size_t>(rank)]->barrier(Stream::compute, tag);
    }
    devices[rank].synchronize();
  });
  gate.open();
  EXPECT_TRUE(text.starts_with("rank 2: no progress for")) << text;
  EXPECT_TRUE(text.ends_with("waits for it in barrier")) << text;
}

TEST(CudaLocalCommunicator, AbortEndsACollective) {
  RunControl run(3);
  CudaDevices devices(run);
  const auto group = cuda::make_local_communicators(run, devices.all());
  std::atomic<int> aborted{0};
  on_threads(3, [&](int rank) {
    try {
      if (rank == 2) {
        run.sleep_for(Nanoseconds{5'000'000});
        run.fail(2, "gone");
      } else {
        group[static_cast<std::size_t>(rank)]->barrier(Stream::compute, 0);
      }
    } catch (const Aborted&) {
      ++aborted;
    }
    devices[rank].stop();
  });
  EXPECT_EQ(aborted, 2);
}

TEST(CudaLocalCommunicator, DisagreementIsAnError) {
  RunControl run(2);
  CudaDevices devices(run);
  const auto group = cuda::make_local_communicators(run, devices.all());
  std::atomic<int> failures{0};
  on_threads(2, [&](int rank) {
    try {
      group[static_cast<std::size_t>(rank)]->all_reduce(Stream::compute, 0, DType::fp32,
                                                        Reduction::sum, nullptr, 1 - rank);
    } catch (const std::logic_error& error) {
      ++failures;
      EXPECT_NE(std::string(error.what()).find("ranks do not agree on a collective: all_reduce"),
                std::string::npos);
    }
  });
  EXPECT_EQ(failures, 2);
}

}  // namespace
}  // namespace foreshard::executor::cuda
