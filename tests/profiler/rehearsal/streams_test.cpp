// Streams, events and captures of the null device.
#include "tests/profiler/rehearsal/null_device.hpp"

namespace foreshard::tests {
namespace {

TEST(NullDeviceStreams, HaveDoneEverythingAtOnce) {
  on_null_device({}, [](const NullDevice& device) {
    cudaStream_t stream = nullptr;
    cudaEvent_t from = nullptr, to = nullptr;
    ASSERT_EQ(CALL(device, cudaStreamCreateWithPriority)(&stream, cudaStreamNonBlocking, -100),
              cudaSuccess);
    int priority = 0;
    EXPECT_EQ(CALL(device, cudaStreamGetPriority)(stream, &priority), cudaSuccess);
    EXPECT_EQ(priority, -5);
    ASSERT_EQ(CALL(device, cudaEventCreateWithFlags)(&from, cudaEventDefault), cudaSuccess);
    ASSERT_EQ(CALL(device, cudaEventCreateWithFlags)(&to, cudaEventDefault), cudaSuccess);
    float milliseconds = 0;
    ASSERT_EQ(CALL(device, cudaEventRecord)(from, stream), cudaSuccess);
    EXPECT_EQ(CALL(device, cudaEventElapsedTime)(&milliseconds, from, to),
              cudaErrorInvalidResourceHandle);
    ASSERT_EQ(CALL(device, cudaEventRecord)(to, nullptr), cudaSuccess);
    EXPECT_EQ(CALL(device, cudaEventElapsedTime)(&milliseconds, from, to), cudaSuccess);
    EXPECT_EQ(CALL(device, cudaEventQuery)(to), cudaSuccess);
    EXPECT_EQ(CALL(device, cudaStreamQuery)(stream), cudaSuccess);
    EXPECT_EQ(CALL(device, cudaStreamWaitEvent)(stream, to, 0), cudaSuccess);
    EXPECT_EQ(CALL(device, cudaStreamSynchronize)(stream), cudaSuccess);
    EXPECT_EQ(CALL(device, cudaEventSynchronize)(to), cudaSuccess);
    EXPECT_EQ(CALL(device, cudaDeviceSynchronize)(), cudaSuccess);
    EXPECT_EQ(device.counts().at("host_waits"), 3);
    EXPECT_EQ(CALL(device, cudaStreamDestroy)(stream), cudaSuccess);
    EXPECT_EQ(CALL(device, cudaStreamSynchronize)(stream), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(CALL(device, cudaEventDestroy)(to), cudaSuccess);
    EXPECT_EQ(CALL(device, cudaEventQuery)(to), cudaErrorInvalidResourceHandle);
  });
}

struct TwoStreams {
  explicit TwoStreams(const NullDevice& on) : device(on) {
    EXPECT_EQ(CALL(device, cudaStreamCreate)(&first), cudaSuccess);
    EXPECT_EQ(CALL(device, cudaStreamCreate)(&second), cudaSuccess);
    EXPECT_EQ(CALL(device, cudaEventCreate)(&event), cudaSuccess);
  }

  cudaStreamCaptureStatus status(cudaStream_t stream) const {
    cudaStreamCaptureStatus status{};
    EXPECT_EQ(CALL(device, cudaStreamIsCapturing)(stream, &status), cudaSuccess);
    return status;
  }

  const NullDevice& device;
  cudaStream_t first = nullptr, second = nullptr;
  cudaEvent_t event = nullptr;
};

TEST(NullDeviceStreams, JoinACaptureByAnEvent) {
  on_null_device({}, [](const NullDevice& device) {
    const TwoStreams streams(device);
    EXPECT_EQ(CALL(device, cudaStreamBeginCapture)(nullptr, cudaStreamCaptureModeGlobal),
              cudaErrorStreamCaptureUnsupported);
    ASSERT_EQ(CALL(device, cudaStreamBeginCapture)(streams.first, cudaStreamCaptureModeGlobal),
              cudaSuccess);
    EXPECT_EQ(streams.status(streams.first), cudaStreamCaptureStatusActive);
    EXPECT_EQ(streams.status(streams.second), cudaStreamCaptureStatusNone);
    ASSERT_EQ(CALL(device, cudaEventRecord)(streams.event, streams.first), cudaSuccess);
    EXPECT_EQ(CALL(device, cudaEventQuery)(streams.event), cudaErrorCapturedEvent);
    EXPECT_EQ(CALL(device, cudaStreamSynchronize)(streams.first),
              cudaErrorStreamCaptureUnsupported);
    ASSERT_EQ(CALL(device, cudaStreamWaitEvent)(streams.second, streams.event, 0), cudaSuccess);
    EXPECT_EQ(streams.status(streams.second), cudaStreamCaptureStatusActive);
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(CALL(device, cudaStreamEndCapture)(streams.first, &graph), cudaSuccess);
    EXPECT_EQ(streams.status(streams.first), cudaStreamCaptureStatusNone);
    EXPECT_EQ(streams.status(streams.second), cudaStreamCaptureStatusNone);
    EXPECT_EQ(CALL(device, cudaStreamEndCapture)(streams.first, &graph), cudaErrorIllegalState);
  });
}

TEST(NullDeviceStreams, TakeTheTimeOfTheirWork) {
  on_null_device({}, [](const NullDevice& device) {
    const TwoStreams streams(device);
    char* const memory = static_cast<char*>(device.allocate(std::size_t{1} << 30));
    const auto copy = [&](std::size_t bytes, cudaStream_t stream) {
      EXPECT_EQ(
          CALL(device, cudaMemcpyAsync)(memory, memory + bytes, bytes, cudaMemcpyDefault, stream),
          cudaSuccess);
    };
    const auto record = [&](cudaStream_t stream) {
      cudaEvent_t event = nullptr;
      EXPECT_EQ(CALL(device, cudaEventCreate)(&event), cudaSuccess);
      EXPECT_EQ(CALL(device, cudaEventRecord)(event, stream), cudaSuccess);
      return event;
    };
    const auto between = [&](cudaEvent_t from, cudaEvent_t to) {
      float milliseconds = -1;
      EXPECT_EQ(CALL(device, cudaEventElapsedTime)(&milliseconds, from, to), cudaSuccess);
      return milliseconds;
    };
    const auto begin = record(streams.first);
    const auto at_once = record(streams.first);
    EXPECT_GT(between(begin, at_once), 0);
    copy(1000, streams.first);
    const auto small = record(streams.first);
    copy(500'000'000, streams.first);
    const auto large = record(streams.first);
    EXPECT_GT(between(at_once, small), between(begin, at_once));
    EXPECT_NEAR(between(small, large), 10.05, 0.01);

    // The other stream has its own time, until it waits for the first, or the host has.
    EXPECT_LT(between(large, record(streams.second)), 0);
    EXPECT_EQ(CALL(device, cudaStreamWaitEvent)(streams.second, large, 0), cudaSuccess);
    EXPECT_GT(between(large, record(streams.second)), 0);
    EXPECT_LT(between(large, record(nullptr)), 0);
    EXPECT_EQ(CALL(device, cudaEventSynchronize)(large), cudaSuccess);
    EXPECT_GT(between(large, record(nullptr)), 0);
  });
}

TEST(NullDeviceStreams, AreDoneOnALateGpuWhenTheHostHasWaited) {
  on_null_device({{"FORESHARD_REHEARSAL_GPU_TIMING", "late"}}, [](const NullDevice& device) {
    const TwoStreams streams(device);
    const auto record = [&](cudaStream_t stream) {
      cudaEvent_t event = nullptr;
      EXPECT_EQ(CALL(device, cudaEventCreate)(&event), cudaSuccess);
      EXPECT_EQ(CALL(device, cudaEventRecord)(event, stream), cudaSuccess);
      return event;
    };
    const auto state = [&](cudaEvent_t event) { return CALL(device, cudaEventQuery)(event); };
    EXPECT_EQ(state(streams.event), cudaSuccess);  // never recorded

    const auto first = record(streams.first), later = record(streams.first);
    EXPECT_EQ(state(first), cudaErrorNotReady);
    EXPECT_EQ(CALL(device, cudaStreamQuery)(streams.first), cudaErrorNotReady);
    float milliseconds = 0;
    EXPECT_EQ(CALL(device, cudaEventElapsedTime)(&milliseconds, first, later), cudaErrorNotReady);
    EXPECT_EQ(CALL(device, cudaEventSynchronize)(first), cudaSuccess);
    EXPECT_EQ(state(first), cudaSuccess);
    EXPECT_EQ(state(later), cudaErrorNotReady);

    // Waiting for a stream is waiting for what it waits for, also where no event follows.
    const auto other = record(streams.second);
    ASSERT_EQ(CALL(device, cudaStreamWaitEvent)(streams.second, later, 0), cudaSuccess);
    const auto last = record(streams.first);
    EXPECT_EQ(CALL(device, cudaStreamSynchronize)(streams.second), cudaSuccess);
    EXPECT_EQ(state(other), cudaSuccess);
    EXPECT_EQ(state(later), cudaSuccess);
    EXPECT_EQ(state(last), cudaErrorNotReady);

    const auto on_default = record(nullptr);
    EXPECT_EQ(state(on_default), cudaErrorNotReady);
    EXPECT_EQ(CALL(device, cudaDeviceSynchronize)(), cudaSuccess);
    EXPECT_EQ(state(last), cudaSuccess);
    EXPECT_EQ(state(on_default), cudaSuccess);
    EXPECT_EQ(CALL(device, cudaEventElapsedTime)(&milliseconds, first, later), cudaSuccess);
  });
}

TEST(NullDeviceStreams, CountWhatAGraphHoldsWheneverItIsLaunched) {
  on_null_device({}, [](const NullDevice& device) {
    const TwoStreams streams(device);
    static int calls = 0;
    void* pointer = nullptr;
    ASSERT_EQ(CALL(device, cudaMalloc)(&pointer, 1000), cudaSuccess);
    ASSERT_EQ(CALL(device, cudaStreamBeginCapture)(streams.first, cudaStreamCaptureModeGlobal),
              cudaSuccess);
    unsigned long long id = 0;
    cudaStreamCaptureStatus status{};
    ASSERT_EQ(device.find<cudaError_t(cudaStream_t, cudaStreamCaptureStatus*, unsigned long long*,
                                      void*, void*, void*, void*)>("cudaStreamGetCaptureInfo")(
                  streams.first, &status, &id, nullptr, nullptr, nullptr, nullptr),
              cudaSuccess);
    EXPECT_GT(id, 0u);
    EXPECT_EQ(CALL(device, cudaMemcpyAsync)(pointer, static_cast<char*>(pointer) + 500, 10,
                                            cudaMemcpyDefault, streams.first),
              cudaSuccess);
    EXPECT_EQ(CALL(device, cudaLaunchHostFunc)(
                  streams.first, [](void*) { ++calls; }, nullptr),
              cudaSuccess);
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(CALL(device, cudaStreamEndCapture)(streams.first, &graph), cudaSuccess);
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(device.counts().at("copies"), 0);
    std::size_t nodes = 0;
    EXPECT_EQ(CALL(device, cudaGraphGetNodes)(graph, nullptr, &nodes), cudaSuccess);
    EXPECT_EQ(nodes, 2u);
    cudaGraphExec_t executable = nullptr;
    ASSERT_EQ(CALL(device, cudaGraphInstantiateWithFlags)(&executable, graph, 0), cudaSuccess);
    EXPECT_EQ(CALL(device, cudaGraphDestroy)(graph), cudaSuccess);
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(CALL(device, cudaGraphLaunch)(executable, streams.second), cudaSuccess);
    EXPECT_EQ(calls, 3);
    EXPECT_EQ(device.counts().at("copies"), 3);
    EXPECT_EQ(CALL(device, cudaGraphExecDestroy)(executable), cudaSuccess);
  });
}

}  // namespace
}  // namespace foreshard::tests
