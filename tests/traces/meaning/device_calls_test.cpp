// What calls do, by the names that profilers record.
#include "traces/meaning/device_calls.hpp"

#include <gtest/gtest.h>

namespace foreshard::traces {
namespace {

TEST(DeviceCalls, ThatLaunchKernels) {
  EXPECT_TRUE(launches_kernel("cudaLaunchKernelExC"));
  EXPECT_TRUE(launches_kernel("cuLaunchKernelEx"));
  EXPECT_TRUE(launches_kernel("hipModuleLaunchKernel"));
  EXPECT_FALSE(launches_kernel("cudaGraphLaunch"));
  EXPECT_FALSE(launches_kernel("cudaMemcpyAsync"));
}

TEST(DeviceCalls, ThatReturnOnceTheDeviceIsDone) {
  for (const char* const call :
       {"cudaStreamSynchronize", "hipDeviceSynchronize", "cuCtxSynchronize", "cudaMemcpy",
        "cudaMemcpy_ptds", "cuMemcpyDtoH_v2", "hipMemcpyWithStream", "hipMemcpy", "urQueueFinish",
        "urEventWait", "zeEventHostSynchronize", "zeCommandQueueSynchronize"}) {
    EXPECT_TRUE(is_blocking_call(call)) << call;
  }
  for (const char* const call :
       {"cudaStreamWaitEvent", "cudaMemcpyAsync", "cudaMemcpyAsync_ptsz", "hipMemcpyAsync",
        "urEnqueueEventsWait", "urEnqueueUSMMemcpy", "cudaGraphAddMemcpyNode"}) {
    EXPECT_FALSE(is_blocking_call(call)) << call;
  }
}

}  // namespace
}  // namespace foreshard::traces
