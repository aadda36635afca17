// The CUDA device on the host's runtime: order of streams, events, memory, progress.
#include "executor/cuda/device/cuda_device.hpp"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cuda/cuda_devices.hpp"
#include "tests/cuda/runtime/device.hpp"

namespace foreshard::executor::cuda {
namespace {

class CudaDeviceTest : public testing::Test {
 protected:
  CudaDeviceTest() { program_.events = 3; }

  RunControl run_{1};
  Program program_;
  CudaDevice device_{run_, 0, 0, fsdp2_streams()};
};

TEST_F(CudaDeviceTest, StreamsCopyAndFillInOrderAndWaitForEvents) {
  std::vector<std::byte> from(1000, std::byte{1}), to(1000), late(1000);
  for (int step = 0; step < 50; ++step) {
    device_.begin(program_);
    device_.fill(Stream::compute, 0, from, static_cast<std::byte>(step));
    device_.copy(Stream::compute, 1, to, from.data());
    device_.record(Stream::compute, 2, unreported(2));
    device_.wait(Stream::device_to_host, 2, unreported(3));
    device_.copy(Stream::device_to_host, 4, late, to.data());
    device_.record(Stream::device_to_host, 0, unreported(5));
    device_.host_wait(0);
    EXPECT_EQ(late, std::vector<std::byte>(1000, static_cast<std::byte>(step)));
  }
  device_.synchronize();
  while (!device_.has_finished(5)) std::this_thread::yield();
}

TEST_F(CudaDeviceTest, KernelsRun) {
  std::vector<float> x(1000, 1.5F), y(1000, 2.0F);
  const CostKey key{Operator::add, DType::fp32, DType::fp32, DType::fp32, {1000}};
  const std::span<const std::byte> reads[] = {std::as_bytes(std::span(x))};
  const std::span<std::byte> writes[] = {std::as_writable_bytes(std::span(y))};
  device_.launch(Stream::compute, 1, {key, reads, writes});
  device_.synchronize();
  EXPECT_EQ(y, std::vector<float>(1000, 3.5F));
}

// 1 + 2^-10 has as many bits of mantissa as TF32, 1 + 2^-12 has more.
TEST_F(CudaDeviceTest, ProductsOfFp32RoundOperandsWhereTheyMay) {
  const auto product = [&](MatmulPrecision precision, float operand) {
    CudaDevice device(run_, 0, 0, fsdp2_streams(), {.matmul_precision = precision});
    const float x[1] = {operand}, w[1] = {1.0F};
    float y[1] = {};
    std::vector<std::byte> workspace(1 << 20);
    const CostKey key{Operator::matmul, DType::fp32, DType::fp32, DType::fp32, {1, 1, 1}};
    const std::span<const std::byte> reads[] = {std::as_bytes(std::span(x)),
                                                std::as_bytes(std::span(w))};
    const std::span<std::byte> writes[] = {std::as_writable_bytes(std::span(y)), workspace};
    device.launch(Stream::compute, 1, {key, reads, writes});
    device.synchronize();
    return y[0];
  };
  for (const float kept : {1.0F + 0x1p-10F, -1.5F, 0.0F}) {
    EXPECT_EQ(product(MatmulPrecision::high, kept), kept);
    EXPECT_EQ(product(MatmulPrecision::highest, kept), kept);
  }
  EXPECT_EQ(product(MatmulPrecision::highest, 1.0F + 0x1p-12F), 1.0F + 0x1p-12F);
  EXPECT_EQ(product(MatmulPrecision::high, 1.0F + 0x1p-12F), 1.0F);
}

// y = x w' of one row and one column, on a device of these choices.
class SmallProduct {
 public:
  SmallProduct(std::vector<float> x, const KernelChoices& choices)
      : x_(std::move(x)), w_(x_.size(), 1.0F), device_(run_, 0, 0, fsdp2_streams(), choices) {}

  float run(bool accumulates = false, float old = 0) {
    y_[0] = old;
    launch(accumulates);
    device_.synchronize();
    return y_[0];
  }
  void launch(bool accumulates) {
    const auto depth = static_cast<std::int64_t>(x_.size());
    const CostKey matmul{Operator::matmul, DType::fp32, DType::fp32, DType::fp32, {1, 1, depth}},
        gradient{Operator::matmul_input_gradient,
                 DType::fp32,
                 DType::fp32,
                 DType::fp32,
                 {1, 1, depth, 1}};
    const std::span<const std::byte> reads[] = {std::as_bytes(std::span(x_)),
                                                std::as_bytes(std::span(w_))};
    const std::span<std::byte> writes[] = {std::as_writable_bytes(std::span(y_)), workspace_};
    device_.launch(Stream::compute, 1, {accumulates ? gradient : matmul, reads, writes});
  }
  CudaDevice& device() { return device_; }
  float result() const { return y_[0]; }

 private:
  std::vector<float> x_, w_;
  float y_[1] = {};
  std::vector<std::byte> workspace_ = std::vector<std::byte>(1 << 20);
  RunControl run_{1};
  CudaDevice device_;
};

struct SlowFirstKernel {
  SlowFirstKernel() { setenv("FORESHARD_HOST_CUBLAS_SLOW", "1", 1); }
  ~SlowFirstKernel() { unsetenv("FORESHARD_HOST_CUBLAS_SLOW"); }
  SlowFirstKernel(const SlowFirstKernel&) = delete;
  SlowFirstKernel& operator=(const SlowFirstKernel&) = delete;
};

// 2^24 + 1 is 2^24 in fp32: the kernel that adds up backwards, the slow one, keeps the ones.
constexpr float kInOrder = 0x1p24F, kBackwards = 0x1p24F + 2;

TEST_F(CudaDeviceTest, TakesTheQuickestKernelWhereProductsAreTuned) {
  const SlowFirstKernel slow;
  const std::vector<float> x = {0x1p24F, 1, 1};
  EXPECT_EQ(SmallProduct(x, {}).run(), kBackwards) << "the first of the list";
  SmallProduct tuned(x, {.tunes_products = true});
  EXPECT_EQ(tuned.run(), kInOrder);
  EXPECT_EQ(tuned.run(), kInOrder);
  EXPECT_EQ(tuned.run(true, 4), kInOrder + 4) << "what was there is added to once";
}

TEST_F(CudaDeviceTest, DoesNotTimeKernelsInACapture) {
  const SlowFirstKernel slow;
  SmallProduct tuned({0x1p24F, 1, 1, 0}, {.tunes_products = true});
  tuned.device().begin(program_);
  const auto graph = tuned.device().capture([&] { tuned.launch(false); });
  graph->launch(0);
  tuned.device().synchronize();
  EXPECT_EQ(tuned.result(), kBackwards) << "the first of the list";
  EXPECT_EQ(tuned.run(), kInOrder);
}

// cuBLASLt chooses a kernel for the bias that it is shown.
TEST_F(CudaDeviceTest, ProductsOfABiasElsewhereGetAKernelOfTheirOwn) {
  const float x[1] = {2}, w[1] = {3};
  alignas(16) const float biases[5] = {1, 5, 0, 0, 7};
  float y[1] = {};
  std::vector<std::byte> workspace(1 << 20);
  const CostKey key{Operator::matmul, DType::fp32, DType::fp32, DType::fp32, {1, 1, 1, 1}};
  for (const std::size_t at : {0UL, 1UL, 4UL}) {
    const std::span<const std::byte> reads[] = {std::as_bytes(std::span(x)),
                                                std::as_bytes(std::span(w)),
                                                std::as_bytes(std::span(biases + at, 1))};
    const std::span<std::byte> writes[] = {std::as_writable_bytes(std::span(y)), workspace};
    device_.launch(Stream::compute, 1, {key, reads, writes});
    device_.synchronize();
    EXPECT_EQ(y[0], 6 + biases[at]);
  }
}

TEST_F(CudaDeviceTest, GraphsComeBetweenWhatIsIssuedBeforeAndAfterOnAnyStream) {
  std::vector<std::byte> a(1000), b(1000), c(1000);
  device_.begin(program_);
  device_.record(Stream::all_gather, 2, kNoTag);
  const auto graph = device_.capture([&] {
    device_.wait(Stream::compute, 2, unreported(1));
    device_.copy(Stream::compute, 2, b, a.data());
    device_.record(Stream::compute, 0, unreported(3));
    device_.wait(Stream::device_to_host, 0, unreported(4));
    device_.copy(Stream::device_to_host, 5, c, b.data());
    device_.record(Stream::device_to_host, 1, unreported(6));
  });
  EXPECT_EQ(c, std::vector<std::byte>(1000)) << "a capture does nothing";
  for (int round = 1; round < 20; ++round) {
    const auto value = static_cast<std::byte>(round);
    Gate gate;
    gate.close(device_, Stream::all_gather);
    device_.fill(Stream::all_gather, 0, a, value);
    graph->launch(0);
    device_.wait(Stream::reduce_scatter, 1, unreported(7));  // a graph's event
    device_.fill(Stream::all_reduce, 8, a, std::byte{99});
    gate.open();
    device_.host_wait(1);
    EXPECT_EQ(c, std::vector<std::byte>(1000, value));
    device_.synchronize();
    EXPECT_EQ(a, std::vector<std::byte>(1000, std::byte{99}));
  }
}

TEST_F(CudaDeviceTest, ProgressCountsWhatGraphsDo) {
  std::vector<std::byte> memory(10);
  device_.begin(program_);
  const auto graph = device_.capture([&] {
    for (Tag tag = 0; tag < 200; ++tag) {
      device_.fill(Stream::compute, tag, memory, std::byte{1});
    }
  });
  EXPECT_EQ(device_.progress().retired, 0);
  constexpr Tag kLater = 1'000;
  for (Tag launch = 1; launch <= 3; ++launch) {
    graph->launch(kLater * launch);
    device_.synchronize();
    EXPECT_GE(device_.progress().retired, 200 * launch - 64);
    EXPECT_LE(device_.progress().retired, 200 * launch);
    EXPECT_GT(device_.progress().last_instruction, kLater * launch + 200 - 2 * 64);
  }
}

TEST_F(CudaDeviceTest, WorkThatNothingFollowsIsSeenToFinishOnceTheHostSaysSo) {
  std::vector<std::byte> memory(10);
  device_.fill(Stream::compute, 1, memory, std::byte{1});
  EXPECT_FALSE(device_.has_finished(1));
  device_.stops_issuing();
  while (!device_.has_finished(1)) std::this_thread::yield();
  EXPECT_EQ(memory[0], std::byte{1});
}

// Device 0 is current on every thread at first: a call of CUDA there makes a context of half a GiB.
TEST(CudaDevice, WhoeverWatchesItMakesNoContextOnAnotherGpu) {
  const HostGpus gpus(2);
  RunControl run(1);
  CudaDevice device(run, 0, 1, fsdp2_streams());
  std::vector<std::byte> memory(10);
  device.fill(Stream::compute, 1, memory, std::byte{1});
  device.fill(Stream::all_gather, 2, memory, std::byte{1});
  device.begin_collective(Stream::all_gather, this, "all_gather");
  host_cuda::forget_contexts();
  std::thread([&] {
    while (!device.has_finished(2)) std::this_thread::yield();
    EXPECT_EQ(device.progress().retired, 2);
    EXPECT_STREQ(device.collective(this), "all_gather");
    EXPECT_EQ(device.collective(&device), nullptr);
  }).join();
  EXPECT_FALSE(host_cuda::has_context(0));
  device.synchronize();
  EXPECT_FALSE(host_cuda::has_context(0));
  EXPECT_TRUE(host_cuda::has_context(1));
}

TEST_F(CudaDeviceTest, WorkOfTheHostIsRefusedInAGraphAndNothingIsLeft) {
  std::vector<std::byte> memory(10);
  device_.begin(program_);
  EXPECT_THROW(static_cast<void>(device_.capture([&] {
                 device_.fill(Stream::compute, 1, memory, std::byte{1});
                 device_.call(Stream::all_gather, 2, [] {});
               })),
               std::runtime_error);
  device_.fill(Stream::all_gather, 3, memory, std::byte{2});
  device_.synchronize();
  EXPECT_EQ(memory, std::vector<std::byte>(10, std::byte{2}));
}

}  // namespace
}  // namespace foreshard::executor::cuda
