// Attention by a backend before the plain kernel: what it computes, and what becomes of launches that it declines. On
// the emulated device the stand-in takes cuDNN's place.
#include <thread>

#include "executor/cuda/device/cuda_device.hpp"
#include "executor/cuda/kernels/cudnn/fused_attention.hpp"
#include "models/program/attention_workspace.hpp"
#include "models/sharding/cuda_device.hpp"
#include "tests/cuda/cudnn/stand_in_cudnn.hpp"
#include "tests/executor/cpu/attention_reference.hpp"

namespace foreshard::executor {
namespace {

// Of the GPU, or of the emulated one with the stand-in.
DeviceTraits traits_here() {
  DeviceTraits traits = tested_device();
  traits.has_fused_attention = true;
  traits.is_deterministic = false;
  return traits;
}

DeviceTraits deterministic(DeviceTraits traits) {
  traits.is_deterministic = true;
  return traits;
}
DeviceTraits plain(DeviceTraits traits) {
  traits.has_fused_attention = false;
  return traits;
}

// A device whose kernels are tested launch by launch.
class Attending {
 public:
  explicit Attending(const DeviceTraits& traits) : traits_(traits) {}

  // Every operand begins `shift` bytes behind an address that is a multiple of 256.
  std::vector<Tensor> run(const Launch& launch, std::size_t shift = 0) {
    std::vector<std::span<std::byte>> places;
    std::size_t bytes = 0;
    for (const auto* operands : {&launch.reads, &launch.writes}) {
      for (const Tensor& t : *operands) bytes += (t.bytes.size() / 256 + 2) * 256;
    }
    constexpr Address kAddress = 1 << 20;
    EXPECT_TRUE(device_.backing().commit(kAddress, static_cast<std::int64_t>(bytes)));
    std::byte* next = device_.pointer(kAddress);
    for (const auto* operands : {&launch.reads, &launch.writes}) {
      for (const Tensor& t : *operands) {
        places.emplace_back(next + shift, t.bytes.size());
        device_.copy(Stream::compute, 0, places.back(), t.bytes.data());
        next += (t.bytes.size() / 256 + 2) * 256;
      }
    }
    const auto reads = static_cast<std::ptrdiff_t>(launch.reads.size());
    const std::vector<std::span<const std::byte>> in(places.begin(), places.begin() + reads);
    const std::vector<std::span<std::byte>> out(places.begin() + reads, places.end());
    device_.launch(Stream::compute, 1, {launch.key, in, out});
    std::vector<Tensor> done = launch.writes;
    for (std::size_t i = 0; i < done.size(); ++i) {
      device_.copy(Stream::compute, 2, done[i].bytes, out[i].data());
    }
    device_.synchronize();
    device_.backing().decommit(kAddress, static_cast<std::int64_t>(bytes));
    return done;
  }

  std::vector<Tensor> backward(const AttentionShape& s, const AttentionValues& x,
                               std::size_t shift = 0) {
    const Launch forward = forward_launch(s, DType::bf16, x.q, x.k, x.v);
    Launch launch = backward_launch(s, DType::bf16, forward, run(forward, shift), x.dout);
    launch.writes.back() =
        Tensor::unwritten(DType::fp32, scratch_bytes(launch.key, traits_).count / 4);
    return run(launch, shift);
  }

  std::vector<std::string> warnings() const { return run_.warnings(); }

 private:
  const DeviceTraits traits_;
  RunControl run_{1};
  cuda::CudaDevice device_{run_, 0, 0, fsdp2_streams(), {.traits = traits_}};
};

// Of several sequences, groups and parts.
constexpr AttentionShape kShapes[] = {
    {2, 33, 4, 2, 16}, {1, 97, 5, 1, 24}, {3, 130, 4, 4, 64}, {2, 64, 6, 2, 128}};

class AttentionBackend : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::has_fused_attention()) GTEST_SKIP() << "cuDNN is not there";
  }

  const DeviceTraits traits_ = traits_here();
  const cuda::StandInCudnn is_there_;
};

TEST_F(AttentionBackend, AgreesWithTheWholeScoreMatrix) {
  for (const DeviceTraits& traits : {traits_, deterministic(traits_)}) {
    Attending device(traits);
    for (const AttentionShape& s : kShapes) {
      SCOPED_TRACE(text(s.key(Operator::attention, DType::bf16)) +
                   (traits.is_deterministic ? ", deterministic" : ""));
      const AttentionValues x(s, DType::bf16);
      const Attended expected = attend(s, x.q, x.k, x.v, x.dout);
      const auto done = device.run(forward_launch(s, DType::bf16, x.q, x.k, x.v));
      EXPECT_LT(row_error(done[0].values(), expected.out, static_cast<std::size_t>(s.d)),
                3 * kBf16);
      // An error of lse is the relative one of all the row's probabilities in backward.
      for (std::size_t i = 0; i < expected.lse.size(); ++i) {
        ASSERT_NEAR(done[1].at(i), expected.lse[i], kBf16 / 64);
      }
      const auto gradients = device.backward(s, x);
      EXPECT_LT(relative_error(gradients[0].values(), expected.dq), 2 * kBf16);
      EXPECT_LT(relative_error(gradients[1].values(), expected.dk), 2 * kBf16);
      EXPECT_LT(relative_error(gradients[2].values(), expected.dv), 2 * kBf16);
    }
    EXPECT_EQ(device.warnings(), std::vector<std::string>()) << "the backend is to compute all";
  }
}

TEST_F(AttentionBackend, DeterministicGradientsAreTheSameBits) {
  const AttentionShape s{2, 200, 2, 2, 16};
  const AttentionValues x(s, DType::bf16);
  Attending device(deterministic(traits_));
  EXPECT_EQ(cudnn_backward_part(s.key(Operator::attention_backward, DType::bf16),
                                deterministic(cuda_device(90, 132))),
            (AttentionPart{1, 1}))
      << "the shape is to be computed in parts";
  const auto first = device.backward(s, x);
  for (int round = 0; round < 4; ++round) {
    const auto again = device.backward(s, x);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(again[i].bytes == first[i].bytes);
  }
}

// By the same bits as on a device without the backend.
TEST_F(AttentionBackend, DeclinedLaunchesArePlainWithOneWarning) {
  Attending without(plain(traits_));
  const AttentionShape s{2, 33, 4, 2, 16};
  const AttentionValues x(s, DType::bf16);
  const auto expected = without.backward(s, x);
  Attending device(traits_);
  for (int round = 0; round < 3; ++round) {
    const auto misaligned = device.backward(s, x, 4);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(misaligned[i].bytes == expected[i].bytes);
  }
  ASSERT_GE(device.warnings().size(), 1u);
  EXPECT_LE(device.warnings().size(), 2u) << "one for forward and backward each, at most";
  EXPECT_EQ(device.warnings()[0].find("attention is computed by the plain kernel, not by cuDNN: "),
            0u);
  EXPECT_EQ(device.warnings()[0].find('\n'), std::string::npos);
  EXPECT_EQ(without.warnings(), std::vector<std::string>());
}

TEST_F(AttentionBackend, DeclinesWhereTheScratchIsTooSmall) {
  const AttentionShape s{2, 33, 4, 2, 16};
  const AttentionValues x(s, DType::bf16);
  Attending without(plain(traits_)), device(traits_);
  const auto expected = without.backward(s, x);
  const Launch forward = forward_launch(s, DType::bf16, x.q, x.k, x.v);
  Launch launch = backward_launch(s, DType::bf16, forward, without.run(forward), x.dout);
  launch.writes.back() = Tensor::unwritten(DType::fp32, s.rows());
  const auto done = device.run(launch);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(done[i].bytes == expected[i].bytes);
  EXPECT_EQ(device.warnings().size(), 1u);
}

// What a program does not count on is not offered, and nothing is said.
TEST_F(AttentionBackend, OneTokenAndFp32ArePlainWithoutAWord) {
  Attending device(traits_);
  for (const auto& [s, type] : {std::pair(AttentionShape{2, 1, 4, 2, 16}, DType::bf16),
                                {AttentionShape{2, 33, 4, 2, 16}, DType::fp32},
                                {AttentionShape{2, 33, 4, 2, 12}, DType::bf16}}) {
    const AttentionValues x(s, type);
    device.run(forward_launch(s, type, x.q, x.k, x.v));
  }
  EXPECT_EQ(device.warnings(), std::vector<std::string>());
}

// Ranks that share a GPU share plans too.
TEST_F(AttentionBackend, RanksLaunchAtTheSameTime) {
  const AttentionShape s{2, 33, 4, 2, 16};
  const AttentionValues x(s, DType::bf16);
  const auto expected = Attending(deterministic(traits_)).backward(s, x);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.emplace_back([&] {
      Attending device(deterministic(traits_));
      for (int round = 0; round < 3; ++round) {
        const auto done = device.backward(s, x);
        for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(done[i].bytes == expected[i].bytes);
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

}  // namespace
}  // namespace foreshard::executor
