#include "tests/executor/cpu/kernel_fixture.hpp"

namespace foreshard::executor {
namespace {

struct ProductShape {
  std::int64_t T, N, K;
};

// Edges of tiles, a single element, one block of the summed index and several.
constexpr ProductShape kProductShapes[] = {
    {1, 1, 1}, {1, 5, 3}, {3, 24, 17}, {7, 33, 129}, {33, 10, 64}, {13, 259, 700}, {130, 96, 1300}};

class Matmul : public KernelTest {};

// Sums, and the absolute values of what they are made of.
struct Sums {
  Values values, terms;

  void add(const Values& more) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] += more[i % more.size()];
      terms[i] += std::abs(more[i % more.size()]);
    }
  }
  // Allows a rounding of the sums as they are now.
  void allow_rounding(DType type) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      terms[i] += tolerance(type) / kOfTerms * std::abs(values[i]);
    }
  }
};

Sums product(std::int64_t m, std::int64_t n, std::int64_t k, auto a, auto b) {
  Sums c{Values(static_cast<std::size_t>(m * n)), Values(static_cast<std::size_t>(m * n))};
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const auto at = static_cast<std::size_t>(i * n + j);
      for (std::int64_t s = 0; s < k; ++s) {
        c.values[at] += a(i, s) * b(s, j);
        c.terms[at] += std::abs(a(i, s) * b(s, j));
      }
    }
  }
  return c;
}

double error_of(const Tensor& got, const Sums& expected, DType type) {
  return element_error(got.values(), expected.values, expected.terms, tolerance(type));
}

// Element (i, j) of a matrix with these strides.
auto element(const Values& v, std::int64_t row, std::int64_t column) {
  return [&v, row, column](std::int64_t i, std::int64_t j) {
    return v[static_cast<std::size_t>(i * row + j * column)];
  };
}

// Two halves that cancel, but for 13: all partial sums are exact in fp32. Of 2 to 16 parts the first, with the 13, is
// not in bf16, whose values of that size are multiples of 2 to 32: parts that are rounded do not add up to 13.
TEST_P(Matmul, PartsOfLongSumsStayInFp32) {
  constexpr std::int64_t K = 8192, T = 3, N = 5;
  Values x, w;
  for (std::int64_t row = 0; row < N; ++row) {
    for (std::int64_t k = 0; k < K; ++k) {
      const std::int64_t mirrored = k < K / 2 ? k : K - 1 - k;
      const double value = 1 + static_cast<double>(mirrored * 89 % 128) / 128;
      if (row < T) x.push_back(k == 0 ? 13 : k == K - 1 ? 0 : value);
      w.push_back(k < K / 2 ? 1 : -1);
    }
  }
  const Launch launch{{Operator::matmul, DType::bf16, DType::bf16, DType::bf16, {T, N, K}},
                      {Tensor::of(DType::bf16, x), Tensor::of(DType::bf16, w)},
                      {Tensor::unwritten(DType::bf16, T * N), unwritten_workspace()}};
  EXPECT_EQ(run(launch)[0].values(), Values(static_cast<std::size_t>(T * N), 13.0));
}

TEST_P(Matmul, AgreesWithNaiveProducts) {
  for (const DType type : {DType::fp32, DType::bf16}) {
    for (const auto& [T, N, K] : kProductShapes) {
      const Values x = rounded(type, random_values(T * K, 1));
      const Values w = rounded(type, random_values(N * K, 2));
      const Values dy = rounded(type, random_values(T * N, 3));
      const Values bias = rounded(type, random_values(N, 4));
      const Values old = rounded(type, random_values(T * K, 5));
      const auto tensor = [type](const Values& v) { return Tensor::of(type, v); };

      for (const bool has_bias : {false, true}) {
        Launch forward{{Operator::matmul, type, type, type, {T, N, K, has_bias}},
                       {tensor(x), tensor(w)},
                       {Tensor::unwritten(type, T * N), unwritten_workspace()}};
        if (has_bias) forward.reads.push_back(tensor(bias));
        Sums expected = product(T, N, K, element(x, K, 1), element(w, 1, K));
        if (has_bias) {
          if (products_may_round_before_bias()) expected.allow_rounding(type);
          expected.add(bias);
        }
        EXPECT_LT(error_of(run_all(forward)[0], expected, type), 1)
            << T << " " << N << " " << K << " " << name(type);
      }
      for (const bool accumulate : {false, true}) {
        const Launch input{
            {Operator::matmul_input_gradient, type, type, type, {T, K, N, accumulate}},
            {tensor(dy), tensor(w)},
            {accumulate ? tensor(old) : Tensor::unwritten(type, T * K), unwritten_workspace()}};
        Sums expected = product(T, K, N, element(dy, N, 1), element(w, K, 1));
        if (accumulate) expected.add(old);
        EXPECT_LT(error_of(run_all(input)[0], expected, type), 1);
      }
      const Launch weight{{Operator::matmul_weight_gradient, type, type, type, {N, K, T}},
                          {tensor(dy), tensor(x)},
                          {Tensor::unwritten(type, N * K), unwritten_workspace()}};
      const Sums expected = product(N, K, T, element(dy, 1, N), element(x, K, 1));
      EXPECT_LT(error_of(run_all(weight)[0], expected, type), 1);
    }
  }
}

// A sum of many small terms rounds once at its end: bf16 partial sums would stall at 256.
TEST_P(Matmul, AccumulatesInFp32) {
  constexpr std::int64_t K = 4096;
  const Tensor ones = Tensor::of(DType::bf16, Values(static_cast<std::size_t>(K), 1.0));
  const Launch launch{{Operator::matmul, DType::bf16, DType::bf16, DType::bf16, {1, 1, K, 0}},
                      {ones, ones},
                      {Tensor::zeros(DType::bf16, 1), unwritten_workspace()}};
  EXPECT_EQ(run_all(launch)[0].at(0), 4096.0);
}

TEST_P(Matmul, ManyThreadsShareTheWorkspace) {
  constexpr std::int64_t T = 70, N = 300, K = 600;
  const Launch launch{{Operator::matmul, DType::bf16, DType::bf16, DType::bf16, {T, N, K, 0}},
                      {Tensor::of(DType::bf16, random_values(T * K, 1)),
                       Tensor::of(DType::bf16, random_values(N * K, 2))},
                      {Tensor::zeros(DType::bf16, T * N), unwritten_workspace()}};
  EXPECT_TRUE(run(launch, 1)[0].bytes == run(launch, 24)[0].bytes);
}

FORESHARD_KERNEL_SUITE(Matmul);

}  // namespace
}  // namespace foreshard::executor
