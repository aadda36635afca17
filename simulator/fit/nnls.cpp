#include "simulator/fit/nnls.hpp"

#include <algorithm>
#include <limits>

#include <Eigen/Dense>

namespace foreshard::simulator {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;

// The least-squares solution over the columns in `passive`, zero elsewhere.
Vector solve_passive(const Matrix& a, const Vector& b, const std::vector<Eigen::Index>& passive) {
  Matrix sub(a.rows(), static_cast<Eigen::Index>(passive.size()));
  for (std::size_t j = 0; j < passive.size(); ++j) {
    sub.col(static_cast<Eigen::Index>(j)) = a.col(passive[j]);
  }
  const Vector part = sub.colPivHouseholderQr().solve(b);
  Vector full = Vector::Zero(a.cols());
  for (std::size_t j = 0; j < passive.size(); ++j)
    full[passive[j]] = part[static_cast<Eigen::Index>(j)];
  return full;
}

}  // namespace

std::vector<double> non_negative_least_squares(std::span<const double> a, int columns,
                                               std::span<const double> b) {
  const auto rows = static_cast<Eigen::Index>(b.size());
  Matrix matrix = Eigen::Map<const Matrix>(a.data(), rows, columns);
  const Vector rhs = Eigen::Map<const Vector>(b.data(), rows);

  // Columns of very different size (flops, bytes, 1) are brought to length 1 first.
  Vector scale(columns);
  for (Eigen::Index j = 0; j < columns; ++j) {
    const double norm = matrix.col(j).norm();
    scale[j] = norm > 0 ? 1.0 / norm : 0.0;
    matrix.col(j) *= scale[j];
  }
  const double tolerance = 1e-10 * std::max(1e-300, rhs.norm());

  Vector x = Vector::Zero(columns);
  std::vector<Eigen::Index> passive;
  const int limit = 10 * columns + 10;
  for (int round = 0; round < limit; ++round) {
    const Vector gradient = matrix.transpose() * (rhs - matrix * x);
    Eigen::Index best = -1;
    for (Eigen::Index j = 0; j < columns; ++j) {
      const bool is_free = std::find(passive.begin(), passive.end(), j) != passive.end();
      if (is_free || scale[j] == 0 || gradient[j] <= tolerance) continue;
      if (best < 0 || gradient[j] > gradient[best]) best = j;
    }
    if (best < 0) break;
    passive.push_back(best);

    // Walk towards the unconstrained solution, dropping the columns that would turn negative.
    while (!passive.empty()) {
      const Vector candidate = solve_passive(matrix, rhs, passive);
      double step = 1.0;
      for (const Eigen::Index j : passive) {
        if (candidate[j] <= 0) step = std::min(step, x[j] / std::max(x[j] - candidate[j], 1e-300));
      }
      x += step * (candidate - x);
      if (step >= 1.0) break;
      std::erase_if(passive, [&](Eigen::Index j) {
        if (candidate[j] > 0 || x[j] > 1e-14 * std::max(1e-300, x.maxCoeff())) return false;
        x[j] = 0;
        return true;
      });
    }
  }
  std::vector<double> result(static_cast<std::size_t>(columns));
  for (Eigen::Index j = 0; j < columns; ++j) {
    result[static_cast<std::size_t>(j)] = std::max(0.0, x[j]) * scale[j];
  }
  return result;
}

}  // namespace foreshard::simulator
