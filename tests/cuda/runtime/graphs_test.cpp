// Graphs of the host's runtime: what they do again, and what a capture refuses as CUDA does.
#include "tests/cuda/runtime/graphs.hpp"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <functional>

#include <gtest/gtest.h>

namespace foreshard::host_cuda {
namespace {

class HostGraphs : public testing::Test {
 protected:
  HostGraphs() {
    for (cudaStream_t& stream : streams_) {
      EXPECT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0), cudaSuccess);
    }
    for (cudaEvent_t& event : events_) {
      EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    }
  }
  ~HostGraphs() override {
    for (cudaStream_t stream : streams_) static_cast<void>(cudaStreamDestroy(stream));
    for (cudaEvent_t event : events_) static_cast<void>(cudaEventDestroy(event));
  }

  // What the end of a capture of this returns.
  cudaError_t capture(const std::function<void()>& issue, cudaGraph_t* graph) {
    EXPECT_EQ(cudaStreamBeginCapture(streams_[0], cudaStreamCaptureModeThreadLocal), cudaSuccess);
    issue();
    return cudaStreamEndCapture(streams_[0], graph);
  }
  cudaError_t capture(const std::function<void()>& issue) {
    cudaGraph_t graph = nullptr;
    const cudaError_t error = capture(issue, &graph);
    EXPECT_EQ(graph == nullptr, error != cudaSuccess);
    static_cast<void>(cudaGraphDestroy(graph));
    return error;
  }
  // The second stream waits for the first, or the other way round.
  void order(std::size_t before, std::size_t after) {
    EXPECT_EQ(cudaEventRecord(events_[before], streams_[before]), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(streams_[after], events_[before], 0), cudaSuccess);
  }

  std::array<cudaStream_t, 2> streams_{};
  std::array<cudaEvent_t, 2> events_{};
};

TEST_F(HostGraphs, RunInTheOrderOfEventsWithTheArgumentsOfTheirCapture) {
  std::vector<char> x(1000), y(1000), z(1000);
  char value = 1;
  cudaGraph_t graph = nullptr;
  const auto issue = [&] {
    EXPECT_EQ(cudaMemsetAsync(x.data(), value, x.size(), streams_[0]), cudaSuccess);
    order(0, 1);
    EXPECT_EQ(cudaMemcpyAsync(y.data(), x.data(), y.size(), cudaMemcpyDefault, streams_[1]),
              cudaSuccess);
    order(1, 0);
    EXPECT_EQ(cudaMemcpyAsync(z.data(), y.data(), z.size(), cudaMemcpyDefault, streams_[0]),
              cudaSuccess);
  };
  ASSERT_EQ(capture(issue, &graph), cudaSuccess);
  value = 2;
  EXPECT_EQ(z, std::vector<char>(1000)) << "a capture does nothing";
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  for (int launch = 0; launch < 20; ++launch) {
    x.assign(1000, 9);
    y = z = x;
    ASSERT_EQ(cudaGraphLaunch(executable, streams_[0]), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(streams_[0]), cudaSuccess);
    EXPECT_EQ(z, std::vector<char>(1000, 1));
  }
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
}

TEST_F(HostGraphs, CallsThatWaitOrAllocateMakeACaptureInvalid) {
  const std::function<cudaError_t()> calls[] = {
      [] {
        void* memory = nullptr;
        return cudaMalloc(&memory, 512);
      },
      [this] { return cudaStreamSynchronize(streams_[0]); },
      [this] { return cudaEventQuery(events_[1]); },
  };
  for (const auto& call : calls) {
    EXPECT_EQ(capture([&] { EXPECT_EQ(call(), cudaErrorStreamCaptureUnsupported); }),
              cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(call(), cudaSuccess) << "after the capture";
  }
}

TEST(HostEvents, AreRecordedOnTheirDeviceAndAskedAnywhere) {
  setenv("FORESHARD_HOST_CUDA_DEVICES", "2", 1);
  cudaStream_t stream = nullptr;
  cudaEvent_t here = nullptr, there = nullptr;
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&there, cudaEventDisableTiming), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&here, cudaEventDisableTiming), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(there, stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(here, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(here), cudaSuccess);
  for (const cudaEvent_t event : {here, there}) static_cast<void>(cudaEventDestroy(event));
  static_cast<void>(cudaStreamDestroy(stream));
  unsetenv("FORESHARD_HOST_CUDA_DEVICES");
}

TEST_F(HostGraphs, DependenciesDoNotCrossACapturesBorder) {
  ASSERT_EQ(cudaEventRecord(events_[1], streams_[1]), cudaSuccess);
  EXPECT_EQ(capture([this] {
              EXPECT_EQ(cudaStreamWaitEvent(streams_[0], events_[1], 0),
                        cudaErrorStreamCaptureIsolation);
            }),
            cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(capture([this] { order(0, 1); }), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(events_[0]), cudaErrorCapturedEvent);
  char byte = 0;
  EXPECT_EQ(capture([&] {
              order(0, 1);
              EXPECT_EQ(cudaMemsetAsync(&byte, 1, 1, streams_[1]), cudaSuccess);
            }),
            cudaErrorStreamCaptureUnjoined);
}

}  // namespace
}  // namespace foreshard::host_cuda
