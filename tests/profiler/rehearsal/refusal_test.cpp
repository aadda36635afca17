// Where the null device would have to guess it ends the process and says at what; and what it says
// of itself.
#include <string>

#include <cuda.h>

#include "tests/profiler/rehearsal/null_device.hpp"

namespace foreshard::tests {
namespace {

TEST(NullDeviceRefusal, NamesTheEntryPointThatIsNotDescribed) {
  for (const std::string name :
       {"cufftXtExec", "cusolverDnCreate", "cudnnRNNForward", "cudaIpcGetMemHandle",
        "cuGetExportTable", "cublasSgeqrfBatched", "ncclGather"})
    expect_refusal(
        {}, [&](const NullDevice& device) { device.find<void()>(name.c_str())(); },
        name + " is not described; ");
}

TEST(NullDeviceRefusal, NamesTheAttributeThatIsNotDescribed) {
  expect_refusal(
      {},
      [](const NullDevice& device) {
        int value = 0;
        CALL(device, cudaDeviceGetAttribute)(&value, cudaDevAttrMax, 0);
      },
      "attribute [0-9]+ of cuDeviceGetAttribute is not described; ");
}

TEST(NullDeviceRefusal, WantsASizeForPartsOfCommunicators) {
  expect_refusal(
      {},
      [](const NullDevice& device) {
        void* part = nullptr;
        device.find<int(void*, int, int, void**, void*)>("ncclCommSplit")(nullptr, 0, 0, &part,
                                                                          nullptr);
      },
      "ncclCommSplit: nobody said how many ranks");
}

TEST(NullDeviceRefusal, KnowsCuda13Only) {
  expect_refusal(
      {},
      [](const NullDevice& device) {
        device.find<int(void*, int)>("cudaGetDeviceProperties_v2")(nullptr, 0);
      },
      "this program is built for CUDA 12, ");
}

TEST(NullDeviceRefusal, WantsAnEnvironmentThatItUnderstands) {
  const auto ask = [](const NullDevice& device) {
    int count = 0;
    CALL(device, cudaGetDeviceCount)(&count);
  };
  expect_refusal({{"FORESHARD_REHEARSAL_DEVICE", "cc=90;speed=3"}}, ask,
                 "FORESHARD_REHEARSAL_DEVICE has no key 'speed'");
  expect_refusal({{"FORESHARD_REHEARSAL_DEVICE", "cc=x"}}, ask,
                 "FORESHARD_REHEARSAL_DEVICE's cc is 'x', which is not a number of at least 1");
  expect_refusal({{"FORESHARD_REHEARSAL_MEMORY", "80GB"}}, ask,
                 "FORESHARD_REHEARSAL_MEMORY is '80GB', ");
}

TEST(NullDeviceMachine, IsWhatTheEnvironmentSays) {
  on_null_device(
      {{"FORESHARD_REHEARSAL_DEVICES", "8"},
       {"FORESHARD_REHEARSAL_MEMORY", "1000000"},
       {"FORESHARD_REHEARSAL_DEVICE", "name=NVIDIA A100;cc=80;sms=108;"}},
      [](const NullDevice& device) {
        int value = 0;
        EXPECT_EQ(CALL(device, cudaGetDeviceCount)(&value), cudaSuccess);
        EXPECT_EQ(value, 8);
        cudaDeviceProp properties{};
        ASSERT_EQ(CALL(device, cudaGetDeviceProperties)(&properties, 7), cudaSuccess);
        EXPECT_STREQ(properties.name, "NVIDIA A100");
        EXPECT_EQ(properties.totalGlobalMem, 1'000'000u);
        EXPECT_EQ(properties.major, 8);
        EXPECT_EQ(properties.minor, 0);
        EXPECT_EQ(properties.multiProcessorCount, 108);
        EXPECT_EQ(CALL(device, cudaDeviceGetAttribute)(&value, cudaDevAttrMultiProcessorCount, 7),
                  cudaSuccess);
        EXPECT_EQ(value, 108);
        unsigned count = 0;
        EXPECT_EQ(device.find<int(unsigned*)>("nvmlDeviceGetCount_v2")(&count), 0);
        EXPECT_EQ(count, 8u);
      });
}

TEST(NullDeviceMachine, GivesTheDriversFunctionsByVersion) {
  on_null_device({}, [](const NullDevice& device) {
    const auto find = [&](const char* name, unsigned version) {
      void* function = nullptr;
      cudaDriverEntryPointQueryResult result{};
      EXPECT_EQ(
          CALL(device, cudaGetDriverEntryPointByVersion)(name, &function, version, 0, &result),
          cudaSuccess);
      EXPECT_EQ(result, function == nullptr ? cudaDriverEntryPointSymbolNotFound
                                            : cudaDriverEntryPointSuccess);
      return function;
    };
    EXPECT_EQ(find("cuMemAlloc", 2000), device.find<void>("cuMemAlloc"));
    EXPECT_EQ(find("cuMemAlloc", 13000), device.find<void>("cuMemAlloc_v2"));
    EXPECT_EQ(find("cuMemCreate", 10020), device.find<void>("cuMemCreate"));
    EXPECT_EQ(find("cuMemCreate", 10010), nullptr);
    EXPECT_EQ(find("cuNothing", 13000), nullptr);
  });
}

}  // namespace
}  // namespace foreshard::tests
