// What the null device counts, how it says so, and the answers that hooks give to the host's reads.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <cublas_v2.h>
#include <nccl.h>

#include "profiler/rehearsal/device/interface.h"
#include "tests/profiler/rehearsal/null_device.hpp"
#include "tests/temporary_folder.hpp"

namespace foreshard::tests {
namespace {

using nlohmann::json;

const json kNothing = json::parse(R"({"launches": 0, "matrix_products": 0, "cudnn_executions": 0,
    "cudnn_workspace_bytes": 0, "copies": 0, "collectives": [], "host_reads": 0, "host_waits": 0})");

// A kernel as nvcc registers it: an address of the program, and a name.
void launch(const NullDevice& device) {
  static const char stub = 0;
  device.find<void(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*)>(
      "__cudaRegisterFunction")(nullptr, &stub, nullptr, "_Z6kernelv", -1, nullptr, nullptr,
                                nullptr, nullptr, nullptr);
  EXPECT_EQ((device.find<cudaError_t(const void*, dim3, dim3, void**, std::size_t, cudaStream_t)>(
                "cudaLaunchKernel")(&stub, 2, 32, nullptr, 0, nullptr)),
            cudaSuccess);
}

TEST(NullDeviceCounts, LaunchesProductsAndCopies) {
  on_null_device({}, [](const NullDevice& device) {
    EXPECT_EQ(device.counts(), kNothing);
    launch(device);
    launch(device);
    cublasHandle_t handle = nullptr;
    EXPECT_EQ(device.find<cublasStatus_t(cublasHandle_t*)>("cublasCreate_v2")(&handle),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(CALL(device, cublasSgemmEx)(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 3, 4, nullptr,
                                          nullptr, CUDA_R_16BF, 2, nullptr, CUDA_R_16BF, 4, nullptr,
                                          nullptr, CUDA_R_16BF, 2),
              CUBLAS_STATUS_SUCCESS);
    int number = 0;
    void* const pointer = device.allocate(4);
    EXPECT_EQ(CALL(device, cudaMemset)(pointer, 0, 4), cudaSuccess);
    EXPECT_EQ(CALL(device, cudaMemcpy)(pointer, &number, 4, cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(CALL(device, cudaMemcpy)(&number, pointer, 4, cudaMemcpyDefault), cudaSuccess);
    json expected = kNothing;
    expected["launches"] = 2;
    expected["matrix_products"] = 1;
    expected["copies"] = 2;
    expected["host_reads"] = 1;
    EXPECT_EQ(device.counts(), expected);
    EXPECT_EQ(device.counts(), kNothing);
  });
}

TEST(NullDeviceCounts, CollectivesByKindAndRanks) {
  on_null_device({}, [](const NullDevice& device) {
    ncclComm_t all = nullptr, part = nullptr;
    ASSERT_EQ(CALL(device, ncclCommInitRank)(&all, 8, ncclUniqueId{}, 5), ncclSuccess);
    EXPECT_EQ(CALL(device, ncclCommInitRank)(&part, 8, ncclUniqueId{}, 8), ncclInvalidArgument);
    CALL(device, foreshard_rehearsal_next_split)(4, 1);
    ASSERT_EQ(CALL(device, ncclCommSplit)(all, 0, 5, &part, nullptr), ncclSuccess);
    int rank = 0;
    EXPECT_EQ(CALL(device, ncclCommUserRank)(part, &rank), ncclSuccess);
    EXPECT_EQ(rank, 1);
    void* const memory = device.allocate(1 << 20);
    float* const data = static_cast<float*>(memory);
    const float three = 3;
    ASSERT_EQ(CALL(device, cudaMemcpy)(data, &three, sizeof three, cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(CALL(device, ncclGroupStart)(), ncclSuccess);
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(CALL(device, ncclAllReduce)(data, data, 1, ncclFloat32, i == 0 ? ncclSum : ncclMax,
                                            all, nullptr),
                ncclSuccess);
    EXPECT_EQ(CALL(device, ncclGroupEnd)(), ncclSuccess);
    EXPECT_EQ(CALL(device, ncclAllGather)(data, data + 1, 1, ncclFloat32, part, nullptr),
              ncclSuccess);
    EXPECT_EQ(CALL(device, ncclReduceScatter)(data + 5000, data + 9000, 1000, ncclBfloat16, ncclSum,
                                              part, nullptr),
              ncclSuccess);
    EXPECT_EQ(device.counts().at("collectives"), json::parse(R"([
        {"kind": "all_gather", "ranks": 4, "count": 1, "bytes": 4},
        {"kind": "all_reduce", "ranks": 8, "count": 2, "bytes": 8},
        {"kind": "reduce_scatter", "ranks": 4, "count": 1, "bytes": 2000}])"));
    float sums[5] = {};
    ASSERT_EQ(CALL(device, cudaMemcpy)(sums, data, sizeof sums, cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(sums[1], 8 * three);
    EXPECT_EQ(sums[4], 8 * three);
    ncclResult_t error{};
    EXPECT_EQ(CALL(device, ncclCommGetAsyncError)(all, &error), ncclSuccess);
    EXPECT_EQ(error, ncclSuccess);
    EXPECT_EQ(CALL(device, ncclCommDestroy)(part), ncclSuccess);
  });
}

TEST(NullDeviceCounts, AreAnsweredByHooks) {
  on_null_device({}, [](const NullDevice& device) {
    void* const pointer = device.allocate(8);
    const auto read = [&](auto value) {
      EXPECT_EQ(CALL(device, cudaMemcpy)(&value, pointer, sizeof value, cudaMemcpyDefault),
                cudaSuccess);
      return value;
    };
    CALL(device, foreshard_rehearsal_next_count)(-7);
    CALL(device, foreshard_rehearsal_next_count)(9);
    CALL(device, foreshard_rehearsal_next_count)(11);
    EXPECT_EQ(read(char{1}), 0);
    EXPECT_EQ(read(1), -7);
    EXPECT_EQ(read(1LL), 9);
    CALL(device, foreshard_rehearsal_no_count)();
    EXPECT_EQ(read(1), 0);

    static std::string kernel;
    CALL(device, foreshard_rehearsal_on_read)
    ([](void* to, const void*, std::size_t bytes, const char* last) {
      kernel = last;
      if (bytes != 1) return 0;
      *static_cast<char*>(to) = 'x';
      return 1;
    });
    launch(device);
    EXPECT_EQ(read('y'), 'x');
    EXPECT_EQ(kernel, "_Z6kernelv");
    EXPECT_EQ(read(1), 0);
  });
}

TEST(NullDeviceCounts, AreLinesOfALog) {
  const TemporaryFolder folder;
  on_null_device({{"FORESHARD_REHEARSAL_LOG", folder.path("log")}}, [](const NullDevice& device) {
    launch(device);
    CALL(device, foreshard_rehearsal_mark)("step 1");
  });
  std::ostringstream text;
  for (const auto& file : std::filesystem::directory_iterator(folder.path("")))
    text << std::ifstream(file.path()).rdbuf();
  EXPECT_NE(text.str().find(" LAUNCH (nil) 2x1x1 32x1x1 0 _Z6kernelv\n"), std::string::npos)
      << text.str();
  EXPECT_NE(text.str().find(" MARK step 1\n"), std::string::npos) << text.str();
}

}  // namespace
}  // namespace foreshard::tests
