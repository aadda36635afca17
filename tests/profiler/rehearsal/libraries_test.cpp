// What libraries of CUDA ask for on the null device: workspaces that are known, and those that are not.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <cudnn.h>
#include <cufft.h>
#include <cusolverDn.h>

#include "tests/profiler/rehearsal/null_device.hpp"

namespace foreshard::tests {
namespace {

using Dimensions = std::array<std::int64_t, 4>;

// Graphs as programs build them: descriptors with attributes, which are gone once the plan is there.
class Graph {
 public:
  explicit Graph(const NullDevice& device) : device_(device) {}

  void add_product(const Dimensions& a, const Dimensions& b) {
    const auto operation = create(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    set(operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC, {tensor(a)});
    set(operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC, {tensor(b)});
    operations_.push_back(operation);
  }

  // What a plan of the first engine asks for, and an execution of it counts.
  std::int64_t workspace_bytes() {
    const auto graph = create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, operations_);
    const auto heuristics = create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    set(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, {graph});
    auto configuration = create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    std::int64_t count = 0;
    get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count,
        &configuration);
    const auto plan = create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, {configuration});
    for (const auto descriptor : descriptors_)
      if (descriptor != plan) CALL(device_, cudnnBackendDestroyDescriptor)(descriptor);
    std::int64_t bytes = -1;
    get(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, count, &bytes);
    cudnnHandle_t handle = nullptr;
    EXPECT_EQ(CALL(device_, cudnnCreate)(&handle), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(CALL(device_, cudnnBackendExecute)(handle, plan, nullptr), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(device_.counts().at("cudnn_workspace_bytes"), bytes);
    return bytes;
  }

 private:
  cudnnBackendDescriptor_t create(cudnnBackendDescriptorType_t type) {
    descriptors_.emplace_back();
    EXPECT_EQ(CALL(device_, cudnnBackendCreateDescriptor)(type, &descriptors_.back()),
              CUDNN_STATUS_SUCCESS);
    return descriptors_.back();
  }

  void set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
           const std::vector<cudnnBackendDescriptor_t>& parts) {
    EXPECT_EQ(CALL(device_, cudnnBackendSetAttribute)(
                  descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                  static_cast<std::int64_t>(parts.size()), parts.data()),
              CUDNN_STATUS_SUCCESS);
  }

  void get(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
           cudnnBackendAttributeType_t type, std::int64_t& count, void* values) {
    EXPECT_EQ(CALL(device_, cudnnBackendGetAttribute)(descriptor, name, type, 1, &count, values),
              CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(count, 1);
  }

  cudnnBackendDescriptor_t tensor(const Dimensions& dimensions) {
    const auto tensor = create(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    EXPECT_EQ(CALL(device_, cudnnBackendSetAttribute)(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS,
                                                      CUDNN_TYPE_INT64, 4, dimensions.data()),
              CUDNN_STATUS_SUCCESS);
    return tensor;
  }

  const NullDevice& device_;
  std::vector<cudnnBackendDescriptor_t> descriptors_, operations_;
};

std::string notes(const NullDevice& device) {
  return device.find<const char*()>("foreshard_rehearsal_notes")();
}

// Of 2 sequences of 512 tokens, 8 heads of 64 and 2 of keys.
constexpr std::int64_t kB = 2, kS = 512, kH = 8, kK = 2, kD = 64;

TEST(NullDeviceLibraries, AttentionAsksForWhatItsEngineTakes) {
  on_null_device({}, [](const NullDevice& device) {
    Graph forward(device);
    forward.add_product({kB, kH, kS, kD}, {kB, kK, kD, kS});
    forward.add_product({kB, kH, kS, kS}, {kB, kK, kS, kD});
    EXPECT_EQ(forward.workspace_bytes(), 256);
    Graph backward(device);
    backward.add_product({kB, kH, kS, kS}, {kB, kH, kS, kD});  // gradient of the values
    backward.add_product({kB, kH, kS, kD}, {kB, kK, kD, kS});  // scores
    backward.add_product({kB, kH, kS, kD}, {kB, kK, kD, kS});  // their gradient
    backward.add_product({kB, kH, kS, kS}, {kB, kK, kS, kD});
    backward.add_product({kB, kH, kS, kS}, {kB, kH, kS, kD});
    EXPECT_EQ(backward.workspace_bytes(), 4 * kB * kS * kH * kD + 256);
    EXPECT_EQ(notes(device), "");
  });
}

TEST(NullDeviceLibraries, AttentionAsksByArchitecture) {
  on_null_device({{"FORESHARD_REHEARSAL_DEVICE", "cc=80"}}, [](const NullDevice& device) {
    Graph forward(device);
    forward.add_product({kB, kH, kS, kD}, {kB, kH, kD, kS});
    forward.add_product({kB, kH, kS, kS}, {kB, kH, kS, kD});
    EXPECT_EQ(forward.workspace_bytes(), 0);
  });
}

TEST(NullDeviceLibraries, NoteWorkspacesThatAreNotKnownOnce) {
  on_null_device({}, [](const NullDevice& device) {
    for (int i = 0; i < 2; ++i) {
      Graph other(device);
      other.add_product({kB, kH, kS, kD}, {kB, kH, kD, kS});
      EXPECT_EQ(other.workspace_bytes(), 0);
    }
    cufftHandle plan = 0;
    std::size_t bytes = 1;
    EXPECT_EQ(CALL(device, cufftCreate)(&plan), CUFFT_SUCCESS);
    EXPECT_EQ((device.find<int(cufftHandle, int, void*, void*, long long, long long, int, void*,
                               long long, long long, int, long long, std::size_t*, int)>(
                  "cufftXtMakePlanMany")(plan, 1, nullptr, nullptr, 1, 1, 0, nullptr, 1, 1, 0, 1,
                                         &bytes, 0)),
              CUFFT_SUCCESS);
    EXPECT_EQ(bytes, 0u);
    const std::string end = " are not known without a GPU and count as 0: memory is a lower bound";
    EXPECT_EQ(notes(device), "workspaces of cuDNN" + end + "\nworkspaces of cuFFT" + end);
  });
}

TEST(NullDeviceLibraries, FactorizationsSucceedOnTheirStream) {
  on_null_device({}, [](const NullDevice& device) {
    cusolverDnHandle_t handle = nullptr;
    ASSERT_EQ(CALL(device, cusolverDnCreate)(&handle), CUSOLVER_STATUS_SUCCESS);
    int elements = 1;
    EXPECT_EQ(CALL(device, cusolverDnSpotrf_bufferSize)(handle, CUBLAS_FILL_MODE_LOWER, 8, nullptr,
                                                        8, &elements),
              CUSOLVER_STATUS_SUCCESS);
    EXPECT_EQ(elements, 0);
    int* const info = static_cast<int*>(device.allocate(3 * sizeof(int)));
    info[0] = info[1] = info[2] = 7;
    EXPECT_EQ(CALL(device, cusolverDnSpotrfBatched)(handle, CUBLAS_FILL_MODE_LOWER, 8, nullptr, 8,
                                                    info, 2),
              CUSOLVER_STATUS_SUCCESS);
    EXPECT_EQ(info[0], 0);
    EXPECT_EQ(info[1], 0);
    EXPECT_EQ(info[2], 7);
    EXPECT_EQ(device.counts().at("launches"), 1);
    EXPECT_EQ(CALL(device, cusolverDnDestroy)(handle), CUSOLVER_STATUS_SUCCESS);
  });
}

}  // namespace
}  // namespace foreshard::tests
