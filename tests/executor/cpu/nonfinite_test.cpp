// NaN and infinity behave as in PyTorch: the expected values are what PyTorch 2.11 gives on the CPU
// for the same operands. A diverged run must look diverged.
#include "tests/executor/cpu/nonfinite.hpp"

namespace foreshard::executor {
namespace {

class Nonfinite : public KernelTest {};

// `count` copies of `some`, so that whole vectors and their ends meet every value.
Values repeated(const Values& some, std::size_t count) {
  Values all;
  for (std::size_t i = 0; i < count; ++i) all.insert(all.end(), some.begin(), some.end());
  return all;
}

TEST_P(Nonfinite, Swiglu) {
  for (const DType type : kTypes) {
    const Values gate = repeated({kNan, kInf, -kInf, 1, -2}, 9), up(gate.size(), 1.0);
    const auto n = static_cast<std::int64_t>(gate.size());
    const Values silu = repeated({kNan, kInf, kNan, 0.73105858, -0.23840584}, 9);
    const auto out = run_all({{Operator::swiglu, type, type, type, {1, n}},
                              {Tensor::of(type, gate), Tensor::of(type, up)},
                              {Tensor::unwritten(type, n)}});
    expect_values(out[0], silu, tolerance(type), "out");
    const auto gradients = run_all({{Operator::swiglu_backward, type, type, type, {1, n}},
                                    {Tensor::of(type, up)},
                                    {Tensor::of(type, gate), Tensor::of(type, up)}});
    expect_values(gradients[0], repeated({kNan, kNan, kNan, 0.92767054, -0.09078425}, 9),
                  tolerance(type), "dgate");
    expect_values(gradients[1], silu, tolerance(type), "dup");
  }
}

struct Logits {
  Values row;
  double loss;
  Values gradient;
};

TEST_P(Nonfinite, CrossEntropyOfSmallRows) {
  const Logits cases[] = {
      {{1, kNan, 0}, kNan, {kNan, kNan, kNan}},
      {{1, kInf, 0}, kNan, {kNan, kNan, kNan}},
      {{1, -kInf, 0}, 0.31326166, {-0.2689414, 0, 0.26894143}},
      {{-kInf, -kInf, -kInf}, kNan, {kNan, kNan, kNan}},
      {{-kInf, 1, 0}, kInf, {-1, 0.73105858, 0.26894143}},
      {{kInf, kInf, 1}, kNan, {kNan, kNan, kNan}},
  };
  for (const DType type : kTypes) {
    for (const Logits& c : cases) {
      const Tensor target = Tensor::of(DType::int32, {0});
      const auto done =
          run_all({{Operator::cross_entropy, type, type, type, {1, 3, 1}},
                   {Tensor::of(type, c.row), target},
                   {Tensor::unwritten(DType::fp32, 1), Tensor::of(DType::fp64, {0.0})}});
      expect_values(done[1], {c.loss}, tolerance(type), "loss");
      const auto gradient =
          run_all({{Operator::cross_entropy_backward, type, type, type, {1, 3, 1}},
                   {target, done[0]},
                   {Tensor::of(type, c.row)}});
      expect_values(gradient[0], c.gradient, tolerance(type), "gradient");
    }
  }
}

// Wherever in a long row the NaN or the infinity stands, and though it is not the target's.
TEST_P(Nonfinite, CrossEntropySeesEveryLogit) {
  constexpr std::int64_t V = 1100;
  for (const DType type : kTypes) {
    for (const double spoilt : {kNan, kInf}) {
      for (const std::size_t at : {1U, 5U, 15U, 16U, 500U, 1040U, 1098U, 1099U}) {
        Values logits = random_values(V, 1);
        logits[at] = spoilt;
        const auto done =
            run_all({{Operator::cross_entropy, type, type, type, {1, V, 1}},
                     {Tensor::of(type, logits), Tensor::of(DType::int32, {0})},
                     {Tensor::unwritten(DType::fp32, 1), Tensor::of(DType::fp64, {0.0})}});
        EXPECT_TRUE(std::isnan(done[1].at(0))) << spoilt << " at " << at;
      }
    }
  }
}

TEST_P(Nonfinite, RmsNorm) {
  struct Case {
    double spoilt;
    Values y, dw;
  };
  const Case cases[] = {{kNan, {kNan, kNan, kNan, kNan}, {kNan, kNan, kNan, kNan}},
                        {kInf, {0, kNan, 0, 0}, {0, kNan, 0, 0}},
                        {-kInf, {0, kNan, 0, 0}, {0, kNan, 0, 0}}};
  for (const DType type : kTypes) {
    for (const Case& c : cases) {
      const Tensor x = Tensor::of(type, {1, c.spoilt, 0, 2}), ones = Tensor::of(type, Values(4, 1));
      const auto done = run_all({{Operator::rms_norm, type, type, type, {1, 4}},
                                 {x, ones},
                                 {Tensor::unwritten(type, 4), Tensor::unwritten(DType::fp32, 1)}});
      expect_values(done[0], c.y, tolerance(type), "y");
      const CostKey key{Operator::rms_norm_backward, type, type, type, {1, 4, 0}};
      const auto gradients = run_all(
          {key,
           {ones, x, ones, done[1]},
           {Tensor::unwritten(type, 4), Tensor::unwritten(type, 4), unwritten_scratch(key)}});
      expect_values(gradients[0], Values(4, kNan), 0, "dx");
      expect_values(gradients[1], c.dw, tolerance(type), "dw");
    }
  }
}

// A product of x[m,k] and w[n,k] as forward makes it, or of the transposed operands as the weight's
// gradient does.
Values multiplied(DType type, std::int64_t m, std::int64_t n, std::int64_t k, const Values& x,
                  const Values& w, bool transposed) {
  const auto turned = [&](const Values& rows, std::int64_t count) {
    Values columns(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i) / k, step = static_cast<std::int64_t>(i) % k;
      columns[static_cast<std::size_t>(step * count + row)] = rows[i];
    }
    return Tensor::of(type, transposed ? columns : rows);
  };
  const Operator op = transposed ? Operator::matmul_weight_gradient : Operator::matmul;
  Launch launch{{op, type, type, type, {m, n, k}},
                {turned(x, m), turned(w, n)},
                {Tensor::unwritten(type, m * n), unwritten_workspace()}};
  return run(launch)[0].values();
}

// What is not finite in x spoils its row of the product and no other; in w its column.
TEST_P(Nonfinite, MatrixProducts) {
  struct Shape {
    std::int64_t m, n, k;
  };
  for (const auto& [m, n, k] : {Shape{5, 7, 3}, {37, 50, 33}, {20, 40, 900}, {33, 35, 1}}) {
    for (const DType type : kTypes) {
      Values x = random_values(m * k, 1), w = random_values(n * k, 2);
      for (double& e : x) e = std::abs(e) + 0.1;
      for (double& e : w) e = std::abs(e) + 0.1;
      for (const bool transposed : {false, true}) {
        const Values clean = multiplied(type, m, n, k, x, w, transposed);
        const auto expect_spoilt = [&, m = m, n = n, k = k](double value, std::int64_t row,
                                                            std::int64_t column) {
          const Values got = multiplied(type, m, n, k, x, w, transposed);
          for (std::size_t i = 0; i < got.size(); ++i) {
            const auto at = static_cast<std::int64_t>(i);
            const bool is_spoilt = at / n == row || at % n == column;
            const double y = is_spoilt ? value : clean[i];
            EXPECT_TRUE(std::isnan(y) ? std::isnan(got[i]) : got[i] == y)
                << got[i] << " at " << at / n << ", " << at % n << ", expected " << y;
          }
        };
        for (const double value : {kNan, kInf, -kInf}) {
          for (const std::int64_t step : {std::int64_t{0}, k - 1}) {
            double& left = x[static_cast<std::size_t>(m / 2 * k + step)];
            double& right = w[static_cast<std::size_t>(n / 3 * k + step)];
            const double kept_left = left, kept_right = right;
            left = value;
            expect_spoilt(value, m / 2, -1);
            left = kept_left;
            right = value;
            expect_spoilt(value, -1, n / 3);
            right = kept_right;
          }
        }
      }
    }
  }
}

TEST_P(Nonfinite, RopeSumsCastsAndEmbeddings) {
  for (const DType type : kTypes) {
    constexpr std::int64_t d = 10;
    const Tensor table = Tensor::of(DType::fp32, Values(d, 0.5));
    for (const double value : {kNan, kInf}) {
      Values q(d, 1.0), spoilt(d, 0.0);  // element 1 pairs with element 6
      q[1] = value;
      spoilt[1] = value, spoilt[6] = value;
      for (std::size_t i = 0; i < d; ++i) {
        if (i % 5 != 1) spoilt[i] = i < 5 ? 0.0 : 1.0;
      }
      const auto turned = run_all(
          {{Operator::rope, type, type, type, {1, 1, 1, d}}, {table}, {Tensor::of(type, q)}});
      expect_values(turned[0], spoilt, tolerance(type), "rope");
    }
    Values x(77, 1.0);
    x[3] = kNan, x[40] = kInf, x[76] = -kInf;
    const Tensor row = Tensor::of(type, x);
    const auto sums = run_all({{Operator::bias_gradient, type, type, type, {1, 77}},
                               {row},
                               {Tensor::unwritten(type, 77)}});
    expect_values(sums[0], x, 0, "bias gradient");
    for (const DType to : kTypes) {
      const auto cast =
          run_all({{Operator::cast, to, type, to, {77}}, {row}, {Tensor::zeros(to, 77)}});
      expect_values(cast[0], x, 0, "cast");
      const auto add =
          run_all({{Operator::add, to, type, to, {77}}, {row}, {Tensor::zeros(to, 77)}});
      expect_values(add[0], x, 0, "add");
    }
    const CostKey key{Operator::embedding_backward, type, type, type, {1, 1, 77, 0}};
    const auto rows = run_all({key,
                               {row, Tensor::of(DType::int32, {0})},
                               {Tensor::unwritten(type, 77), unwritten_scratch(key)}});
    expect_values(rows[0], x, 0, "embedding gradient");
  }
}

double norm_of(DType type, const Values& gradient) {
  const auto n = static_cast<std::int64_t>(gradient.size());
  return run({{Operator::gradient_norm, type, type, type, {n}},
              {Tensor::of(type, gradient)},
              {Tensor::of(DType::fp64, {0})}})[0]
      .at(0);
}

// clip_grad_norm_, then one step of fused AdamW from parameters of 1 and learning rate 0.1.
TEST_P(Nonfinite, ClippingAndOptimizers) {
  for (const double value : {kNan, kInf, -kInf}) {
    for (const std::size_t at : {0U, 17U, 99U}) {
      for (const DType type : kTypes) {
        Values g(100, 1.0);
        g[at] = value;
        const double squares = norm_of(type, g);
        EXPECT_TRUE(std::isnan(value) ? std::isnan(squares) : squares == kInf);
      }
    }
    Launch clip{{Operator::clip_coefficient, DType::fp64, DType::fp64, DType::fp64, {1}},
                {Tensor::of(DType::fp64, {value * value})},
                {Tensor::unwritten(DType::fp64, 2)}};
    clip.scalars.clip_grad_norm = 1;
    const Tensor clipped = run_all(clip)[0];
    EXPECT_TRUE(std::isnan(value) ? std::isnan(clipped.at(0)) : clipped.at(0) == kInf);
    EXPECT_TRUE(std::isnan(value) ? std::isnan(clipped.at(1)) : clipped.at(1) == 0);
    clip.scalars.clip_grad_norm = 0;
    const Tensor unclipped = run_all(clip)[0];
    EXPECT_EQ(unclipped.at(1), 1.0);

    UnitLayout unit;
    unit.parameters.emplace_back();
    unit.parameters[0].padded = unit.parameters[0].local = unit.padded = 2;
    const DType type = DType::fp32;
    const Values ones = repeated({1}, 2), gradients = {value, 1};
    const Tensor gradient = Tensor::of(type, gradients), parameters = Tensor::of(type, ones);
    for (const bool clips : {true, false}) {
      Launch adamw{{Operator::adamw, type, type, type, {2}},
                   {gradient, clips ? clipped : unclipped},
                   {parameters, Tensor::zeros(type, 2), Tensor::zeros(type, 2)},
                   0,
                   unit,
                   {.lr = 0.1, .weight_decay = 0.01}};
      const double second = !clips ? 0.899 : std::isnan(value) ? kNan : 0.999;
      expect_values(run_all(adamw)[0], {kNan, second}, 1e-6, "adamw");
      Launch sgd{{Operator::sgd, type, type, type, {2}},
                 {gradient, clips ? clipped : unclipped},
                 {parameters},
                 0,
                 unit,
                 {.lr = 0.1}};
      const double first = clips || std::isnan(value) ? kNan : -value;
      expect_values(run_all(sgd)[0],
                    {first, !clips              ? 0.9
                            : std::isnan(value) ? kNan
                                                : 1},
                    1e-6, "sgd");
    }
  }
}

FORESHARD_KERNEL_SUITE(Nonfinite);

}  // namespace
}  // namespace foreshard::executor
