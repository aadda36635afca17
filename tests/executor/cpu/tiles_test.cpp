// Products by tiles: bit for bit what adding the same products in the same order gives.
#include <vector>

#include "tests/executor/cpu/kernel_fixture.hpp"
#include "tests/executor/cpu/kernels_in_use.hpp"
#include "tests/executor/cpu/software_tiles.hpp"

namespace foreshard::executor {
namespace {

struct TiledShape {
  std::int64_t m, n, k;
};

// Whole tiles, ragged edges on every side, odd and single steps, several blocks of the summed index.
constexpr TiledShape kTileShapes[] = {{32, 32, 32},   {64, 96, 256},  {1, 1, 1},     {5, 7, 3},
                                      {33, 31, 65},   {16, 48, 31},   {70, 40, 512}, {31, 33, 513},
                                      {40, 70, 1025}, {96, 200, 1400}};

using Words = std::vector<std::uint16_t>;

Words words_of(const Tensor& t) {
  Words words(t.bytes.size() / 2);
  std::memcpy(words.data(), t.bytes.data(), t.bytes.size());
  return words;
}

// One element of rows x[.., k] times w[.., k]', in the order of tiles: 16 pairs at a time.
float element(const Words& x, const Words& w, std::int64_t i, std::int64_t j, std::int64_t k) {
  float sum = 0;
  for (std::int64_t first = 0; first < k; first += 32) {
    std::uint16_t left[32] = {}, right[32] = {};
    for (std::int64_t s = first; s < std::min(k, first + 32); ++s) {
      left[s - first] = x[static_cast<std::size_t>(i * k + s)];
      right[s - first] = w[static_cast<std::size_t>(j * k + s)];
    }
    sum = add_tile_products(sum, left, right, 2);
  }
  return sum;
}

Tensor turned(const Tensor& rows, std::int64_t count, std::int64_t k) {
  Tensor out = rows;
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t s = 0; s < k; ++s) {
      std::memcpy(out.bytes.data() + 2 * (s * count + i), rows.bytes.data() + 2 * (i * k + s), 2);
    }
  }
  return out;
}

void expect_same_bits(const Words& got, const Words& expected, const char* what,
                      const TiledShape& s) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) wrong += got[i] != expected[i];
  EXPECT_EQ(wrong, 0U) << what << " " << s.m << " " << s.n << " " << s.k;
}

class Tiles : public testing::Test {
  const KernelsInUse in_use_{software_tile_kernels()};
};

TEST(KernelsInUse, AreThoseBeforeThemAfterwards) {
  const std::string_view before = simd_kernels().name;
  const SimdKernels& slowest = *available_simd_kernels().back();
  {
    const KernelsInUse asked_for(slowest);
    { const KernelsInUse tiles(software_tile_kernels()); }
    EXPECT_EQ(simd_kernels().name, slowest.name);
  }
  EXPECT_EQ(simd_kernels().name, before);
}

TEST_F(Tiles, AddInTheOrderOfTheInstruction) {
  constexpr DType kType = DType::bf16;
  for (const TiledShape& s : kTileShapes) {
    const Tensor x = Tensor::of(kType, random_values(s.m * s.k, 1)),
                 w = Tensor::of(kType, random_values(s.n * s.k, 2)),
                 bias = Tensor::of(kType, random_values(s.n, 3)),
                 old = Tensor::of(kType, random_values(s.m * s.n, 4));
    const Words x_words = words_of(x), w_words = words_of(w), bias_words = words_of(bias),
                old_words = words_of(old);
    Words plain, biased, added;
    for (std::int64_t i = 0; i < s.m; ++i) {
      for (std::int64_t j = 0; j < s.n; ++j) {
        const float sum = element(x_words, w_words, i, j, s.k);
        const auto at = static_cast<std::size_t>(i * s.n + j);
        plain.push_back(float_to_bf16(sum));
        biased.push_back(
            float_to_bf16(sum + bf16_to_float(bias_words[static_cast<std::size_t>(j)])));
        added.push_back(float_to_bf16(sum + bf16_to_float(old_words[at])));
      }
    }
    const Tensor unwritten = Tensor::unwritten(kType, s.m * s.n);
    const auto outcome = [&](const CostKey& key, std::vector<Tensor> reads, const Tensor& c,
                             int threads) {
      return words_of(run({key, std::move(reads), {c, unwritten_workspace()}}, threads)[0]);
    };
    const Tensor x_turned = turned(x, s.m, s.k), w_turned = turned(w, s.n, s.k);
    for (const int threads : {1, 5}) {
      const CostKey forward{Operator::matmul, kType, kType, kType, {s.m, s.n, s.k, 0}};
      CostKey with_bias = forward;
      with_bias.dims[3] = 1;
      expect_same_bits(outcome(forward, {x, w}, unwritten, threads), plain, "forward", s);
      expect_same_bits(outcome(with_bias, {x, w, bias}, unwritten, threads), biased, "bias", s);
      const CostKey input{Operator::matmul_input_gradient, kType, kType, kType, {s.m, s.n, s.k, 1}};
      expect_same_bits(outcome(input, {x, w_turned}, old, threads), added, "input gradient", s);
      const CostKey weight{Operator::matmul_weight_gradient, kType, kType, kType, {s.m, s.n, s.k}};
      expect_same_bits(outcome(weight, {x_turned, w_turned}, unwritten, threads), plain,
                       "weight gradient", s);
    }
  }
}

}  // namespace
}  // namespace foreshard::executor
