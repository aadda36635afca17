// Memory of the null device: exactly as much as it is said to have, at addresses that real copies
// reach.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <cuda.h>

#include "tests/profiler/rehearsal/null_device.hpp"

namespace foreshard::tests {
namespace {

constexpr std::size_t kPage = std::size_t{2} << 20;
const Environment kFourPages{{"FORESHARD_REHEARSAL_MEMORY", std::to_string(4 * kPage)}};

std::size_t free_memory(const NullDevice& device) {
  std::size_t free = 0, total = 0;
  EXPECT_EQ(CALL(device, cudaMemGetInfo)(&free, &total), cudaSuccess);
  EXPECT_EQ(total, 4 * kPage);
  return free;
}

TEST(NullDeviceMemory, HasWhatItIsSaidToHaveAndNoMore) {
  on_null_device(kFourPages, [](const NullDevice& device) {
    std::vector<void*> all(4);
    for (void*& pointer : all) {
      ASSERT_EQ(CALL(device, cudaMalloc)(&pointer, 1), cudaSuccess);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % kPage, 0u);
    }
    EXPECT_EQ(free_memory(device), 0u);
    void* more = nullptr;
    EXPECT_EQ(CALL(device, cudaMalloc)(&more, 1), cudaErrorMemoryAllocation);
    EXPECT_EQ(CALL(device, cudaGetLastError)(), cudaErrorMemoryAllocation);
    EXPECT_EQ(CALL(device, cudaGetLastError)(), cudaSuccess);
    EXPECT_EQ(CALL(device, cudaFree)(all[1]), cudaSuccess);
    EXPECT_EQ(CALL(device, cudaFree)(all[1]), cudaErrorInvalidValue);
    EXPECT_EQ(CALL(device, cudaMalloc)(&more, kPage + 1), cudaErrorMemoryAllocation);
    EXPECT_EQ(CALL(device, cudaMalloc)(&more, kPage), cudaSuccess);
  });
}

TEST(NullDeviceMemory, OfEachDeviceIsItsOwn) {
  Environment two = kFourPages;
  two["FORESHARD_REHEARSAL_DEVICES"] = "2";
  on_null_device(two, [](const NullDevice& device) {
    void* pointer = nullptr;
    ASSERT_EQ(CALL(device, cudaSetDevice)(1), cudaSuccess);
    ASSERT_EQ(CALL(device, cudaMalloc)(&pointer, 4 * kPage), cudaSuccess);
    EXPECT_EQ(free_memory(device), 0u);
    cudaPointerAttributes attributes{};
    EXPECT_EQ(CALL(device, cudaPointerGetAttributes)(&attributes, static_cast<char*>(pointer) + 5),
              cudaSuccess);
    EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
    EXPECT_EQ(attributes.device, 1);
    ASSERT_EQ(CALL(device, cudaSetDevice)(0), cudaSuccess);
    EXPECT_EQ(free_memory(device), 4 * kPage);
    EXPECT_EQ(CALL(device, cudaSetDevice)(2), cudaErrorInvalidDevice);
  });
}

TEST(NullDeviceMemory, IsGivenFromTheTopDown) {
  on_null_device({}, [](const NullDevice& device) {
    void *first = nullptr, *second = nullptr;
    ASSERT_EQ(CALL(device, cudaMalloc)(&first, kPage), cudaSuccess);
    ASSERT_EQ(CALL(device, cudaMalloc)(&second, 3 * kPage), cudaSuccess);
    EXPECT_EQ(static_cast<char*>(second) + 3 * kPage, first);
  });
}

TEST(NullDeviceMemory, HoldsWhatSmallCopiesWriteAndNothingElse) {
  on_null_device({}, [](const NullDevice& device) {
    constexpr std::size_t kReal = std::size_t{64} << 10;
    void* pointer = nullptr;
    ASSERT_EQ(CALL(device, cudaMalloc)(&pointer, kPage), cudaSuccess);
    for (const std::size_t bytes : {kReal, kReal + 1}) {
      const std::vector<char> written(bytes, 'x');
      std::vector<char> read(bytes, 'y');
      ASSERT_EQ(CALL(device, cudaMemcpy)(pointer, written.data(), bytes, cudaMemcpyDefault),
                cudaSuccess);
      ASSERT_EQ(CALL(device, cudaMemcpy)(read.data(), pointer, bytes, cudaMemcpyDefault),
                cudaSuccess);
      EXPECT_EQ(read, std::vector<char>(bytes, bytes == kReal ? 'x' : 'y'));
    }
    // What is freed is forgotten.
    ASSERT_EQ(CALL(device, cudaFree)(pointer), cudaSuccess);
    ASSERT_EQ(CALL(device, cudaMalloc)(&pointer, kPage), cudaSuccess);
    char read = 'y';
    ASSERT_EQ(CALL(device, cudaMemcpy)(&read, pointer, 1, cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(read, '\0');
  });
}

TEST(NullDeviceMemory, IsPinnedWhereTheHostAsks) {
  on_null_device({}, [](const NullDevice& device) {
    const auto type = [&](const void* pointer) {
      cudaPointerAttributes attributes{};
      EXPECT_EQ(CALL(device, cudaPointerGetAttributes)(&attributes, pointer), cudaSuccess);
      return attributes.type;
    };
    void* pinned = nullptr;
    std::vector<char> own(100);
    ASSERT_EQ(CALL(device, cudaHostAlloc)(&pinned, 100, cudaHostAllocDefault), cudaSuccess);
    EXPECT_EQ(type(static_cast<char*>(pinned) + 99), cudaMemoryTypeHost);
    EXPECT_EQ(type(own.data()), cudaMemoryTypeUnregistered);
    ASSERT_EQ(CALL(device, cudaHostRegister)(own.data(), own.size(), 0), cudaSuccess);
    EXPECT_EQ(type(own.data()), cudaMemoryTypeHost);
    ASSERT_EQ(CALL(device, cudaHostUnregister)(own.data()), cudaSuccess);
    EXPECT_EQ(type(own.data()), cudaMemoryTypeUnregistered);
    EXPECT_EQ(CALL(device, cudaFreeHost)(pinned), cudaSuccess);
  });
}

// CUDA 13 has put reserved words behind them.
TEST(NullDeviceMemory, DescribesPointersWithinCuda12sStructure) {
  on_null_device({}, [](const NullDevice& device) {
    constexpr std::size_t kBytes = 24;
    for (const void* pointer : {device.allocate(1), static_cast<void*>(nullptr)}) {
      std::vector<char> attributes(kBytes + 1, 'x');
      EXPECT_EQ((device.find<int(void*, const void*)>("cudaPointerGetAttributes")(attributes.data(),
                                                                                  pointer)),
                0);
      EXPECT_EQ(attributes[kBytes], 'x');
    }
  });
}

TEST(NullDeviceMemory, IsTakenFromCreationToTheLastMapping) {
  on_null_device(kFourPages, [](const NullDevice& device) {
    CUdeviceptr address = 0;
    CUmemGenericAllocationHandle memory = 0;
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = 0;
    ASSERT_EQ(CALL(device, cuMemAddressReserve)(&address, 100 * kPage, 0, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(free_memory(device), 4 * kPage);
    EXPECT_EQ(CALL(device, cuMemCreate)(&memory, 5 * kPage, &properties, 0),
              CUDA_ERROR_OUT_OF_MEMORY);
    ASSERT_EQ(CALL(device, cuMemCreate)(&memory, 3 * kPage, &properties, 0), CUDA_SUCCESS);
    ASSERT_EQ(CALL(device, cuMemMap)(address, 3 * kPage, 0, memory, 0), CUDA_SUCCESS);
    ASSERT_EQ(CALL(device, cuMemSetAccess)(address, 3 * kPage, nullptr, 0), CUDA_SUCCESS);
    ASSERT_EQ(CALL(device, cuMemRelease)(memory), CUDA_SUCCESS);
    EXPECT_EQ(free_memory(device), kPage);
    std::memset(reinterpret_cast<void*>(address), 1, 3 * kPage);
    ASSERT_EQ(CALL(device, cuMemUnmap)(address, 3 * kPage), CUDA_SUCCESS);
    EXPECT_EQ(free_memory(device), 4 * kPage);
    EXPECT_EQ(CALL(device, cuMemAddressFree)(address, 100 * kPage), CUDA_SUCCESS);
  });
}

}  // namespace
}  // namespace foreshard::tests
