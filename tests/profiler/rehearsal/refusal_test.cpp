// Where the null device would have to guess it ends the process and says at what; and what it says
// of itself.
#include <cstring>
#include <string>
#include <vector>

#include <cuda.h>

#include "tests/profiler/rehearsal/null_device.hpp"

namespace foreshard::tests {
namespace {

TEST(NullDeviceRefusal, NamesTheEntryPointThatIsNotDescribed) {
  for (const std::string name :
       {"cufftExecC2C", "cusparseSpGEMM_compute", "cudnnRNNForward", "cudaIpcGetMemHandle",
        "cuGetExportTable", "cublasSnrm2_v2", "ncclGather"})
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
      "ncclCommSplit: the number of ranks in the split is unknown");
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
  expect_refusal({{"FORESHARD_REHEARSAL_GPU_TIMING", "soon"}}, ask,
                 "FORESHARD_REHEARSAL_GPU_TIMING is 'soon'; expected ready or late");
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

// The places that fields of CUDA 12's cudaDeviceProp have in its header.
TEST(NullDeviceMachine, HasPropertiesInTheLayoutOfCuda12) {
  on_null_device(
      {{"FORESHARD_REHEARSAL_MEMORY", "1000000"}, {"FORESHARD_REHEARSAL_DEVICE", "cc=80;sms=108;"}},
      [](const NullDevice& device) {
        constexpr std::size_t kBytes = 1'032;
        std::vector<char> properties(kBytes + 1, 'x');
        ASSERT_EQ(device.find<int(void*, int)>("cudaGetDeviceProperties_v2")(properties.data(), 0),
                  0);
        const auto at = [&](std::size_t offset) {
          int value = 0;
          std::memcpy(&value, &properties[offset], sizeof value);
          return value;
        };
        EXPECT_EQ(at(288), 1'000'000);   // totalGlobalMem
        EXPECT_EQ(at(360), 8);           // major
        EXPECT_EQ(at(388), 108);         // multiProcessorCount
        EXPECT_EQ(at(616), 52'428'800);  // l2CacheSize
        EXPECT_EQ(at(640), 233'472);     // sharedMemPerMultiprocessor
        EXPECT_EQ(at(696), 232'448);     // sharedMemPerBlockOptin
        EXPECT_EQ(at(744), 1);           // memoryPoolsSupported
        EXPECT_EQ(at(772), 1);           // clusterLaunch
        EXPECT_EQ(properties[kBytes], 'x');
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

    using Find =
        cudaError_t(const char*, void**, unsigned long long, cudaDriverEntryPointQueryResult*);
    void* function = nullptr;
    EXPECT_EQ(device.find<Find>("cudaGetDriverEntryPoint")("cuMemAlloc", &function, 0, nullptr),
              cudaSuccess);
    EXPECT_EQ(function, device.find<void>("cuMemAlloc_v2"));
  });
}

}  // namespace
}  // namespace foreshard::tests
