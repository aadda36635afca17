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
    EXPECT_EQ(milliseconds, 1.0f);
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
