#include "simulator/fit/nnls.hpp"

#include <Eigen/Dense>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace foreshard::simulator {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

double residual(const Matrix& a, const Eigen::VectorXd& b, const std::vector<double>& x) {
  return (a * Eigen::Map<const Eigen::VectorXd>(x.data(), a.cols()) - b).norm();
}

std::vector<double> fit(const Matrix& a, const Eigen::VectorXd& b) {
  return non_negative_least_squares({a.data(), static_cast<std::size_t>(a.size())},
                                    static_cast<int>(a.cols()),
                                    {b.data(), static_cast<std::size_t>(b.size())});
}

TEST(Nnls, FindsAnExactSolution) {
  // 2 + 3 n at n = 1, 2, 3
  Matrix a(3, 2);
  a << 1, 1, 1, 2, 1, 3;
  const auto x = fit(a, Eigen::Vector3d(5, 8, 11));
  EXPECT_NEAR(x[0], 2, 1e-9);
  EXPECT_NEAR(x[1], 3, 1e-9);
}

TEST(Nnls, LeavesOutATermThatWouldBeNegative) {
  // -1 + 2 n at n = 1, 2: without the constant, the best slope is (1 + 6) / (1 + 4) = 1.4.
  Matrix a(2, 2);
  a << 1, 1, 1, 2;
  const auto x = fit(a, Eigen::Vector2d(1, 3));
  EXPECT_EQ(x[0], 0);
  EXPECT_NEAR(x[1], 1.4, 1e-9);
}

TEST(Nnls, ToleratesTermsOfVeryDifferentSize) {
  // 2e3 + 1e-11 flops
  Matrix a(3, 2);
  a << 1, 1e12, 1, 3e14, 1, 7e15;
  const auto x = fit(a, Eigen::Vector3d(2e3 + 10, 2e3 + 3e3, 2e3 + 7e4));
  EXPECT_NEAR(x[0], 2e3, 1e-5);
  EXPECT_NEAR(x[1], 1e-11, 1e-18);
}

// The optimum leaves some set of columns at zero; trying all sets finds it.
double brute_force(const Matrix& a, const Eigen::VectorXd& b) {
  double best = b.norm();
  for (unsigned set = 1; set < 1U << a.cols(); ++set) {
    std::vector<Eigen::Index> columns;
    for (Eigen::Index j = 0; j < a.cols(); ++j) {
      if (set >> j & 1U) columns.push_back(j);
    }
    Matrix sub(a.rows(), static_cast<Eigen::Index>(columns.size()));
    for (std::size_t j = 0; j < columns.size(); ++j) {
      sub.col(static_cast<Eigen::Index>(j)) = a.col(columns[j]);
    }
    const Eigen::VectorXd x = sub.colPivHouseholderQr().solve(b);
    if ((x.array() >= -1e-12).all()) best = std::min(best, (sub * x - b).norm());
  }
  return best;
}

RC_GTEST_PROP(Nnls, AsGoodAsTryingEverySubset, ()) {
  const auto rows = *rc::gen::inRange(1, 9), columns = *rc::gen::inRange(1, 6);
  Matrix a(rows, columns);
  Eigen::VectorXd b(rows);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) a(i, j) = *rc::gen::inRange(-10, 11);
    b[i] = *rc::gen::inRange(-10, 11);
  }
  const auto x = fit(a, b);
  for (const double value : x) RC_ASSERT(value >= 0);
  RC_ASSERT(residual(a, b, x) <= brute_force(a, b) + 1e-7);
}

}  // namespace
}  // namespace foreshard::simulator
