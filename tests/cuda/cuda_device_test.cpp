// The CUDA device on the host's runtime: order of streams, events, memory, progress.
#include "executor/cuda/cuda_device.hpp"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

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
    CudaDevice device(run_, 0, 0, fsdp2_streams(), precision);
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

}  // namespace
}  // namespace foreshard::executor::cuda
