#include "simulator/fit/fitted_factors.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <Eigen/Dense>

#include "simulator/costs/held_out_errors.hpp"

namespace foreshard::simulator {
namespace {

constexpr double kDegrees = 3;     // of freedom of what all limits have in common
constexpr int kWidenings = 200;    // of its variance, until it changes by
constexpr double kSettled = 1e-6;  // of itself

// The limits' own factors, and the common one last.
constexpr auto kOwn = static_cast<Eigen::Index>(kRates);
constexpr Eigen::Index kStates = kOwn + 1;
using StateVector = Eigen::Matrix<double, kStates, 1>;
using StateMatrix = Eigen::Matrix<double, kStates, kStates>;

struct Belief {
  StateVector mean;
  StateMatrix covariance;
};

// Of a normal distribution after linear observations of it, whose errors have h in common.
Belief updated(const StateVector& variances, const std::vector<RateObservation>& observations) {
  const auto n = static_cast<Eigen::Index>(observations.size());
  Eigen::Matrix<double, Eigen::Dynamic, kStates> gradients(n, kStates);
  Eigen::VectorXd y(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const RateObservation& one = observations[static_cast<std::size_t>(i)];
    for (Eigen::Index r = 0; r < kOwn; ++r) {
      gradients(i, r) = one.gradient[static_cast<std::size_t>(r)];
    }
    gradients(i, kOwn) = std::accumulate(one.gradient.begin(), one.gradient.end(), 0.0);
    y(i) = one.log_ratio;
  }
  const StateMatrix prior = variances.asDiagonal();
  Eigen::MatrixXd noise = Eigen::MatrixXd::Constant(n, n, kHandDeviation * kHandDeviation);
  noise.diagonal().array() += kOwnDeviation * kOwnDeviation;
  const Eigen::MatrixXd shown = gradients * prior;
  const Eigen::LLT<Eigen::MatrixXd> variance(shown * gradients.transpose() + noise);
  return {shown.transpose() * variance.solve(y), prior - shown.transpose() * variance.solve(shown)};
}

}  // namespace

std::vector<RateObservation> observations_of(const std::vector<ObservedStep>& steps) {
  std::map<std::string, std::vector<const ObservedStep*>> questions;
  for (const ObservedStep& step : steps) questions[step.question].push_back(&step);
  std::vector<RateObservation> observations;
  for (const auto& [question, figures] : questions) {
    RateObservation& one = observations.emplace_back();
    one.gradient = figures.front()->gradient;
    for (const ObservedStep* figure : figures) {
      one.log_ratio += figure->log_ratio / static_cast<double>(figures.size());
    }
  }
  return observations;
}

RateFactors fitted_factors(const KernelRates& rates,
                           const std::vector<RateObservation>& observations) {
  RateFactors factors = prior_factors(rates);
  const double unverified = rates.unverified.value * rates.unverified.value / 2;
  const double left_out = held_out_spread(CostWay::catalogue).deviation;
  const double least = left_out * left_out + unverified;
  StateVector variances;
  for (std::size_t r = 0; r < kRates; ++r) {
    variances(static_cast<Eigen::Index>(r)) = factors.covariance[r][r] + unverified;
  }
  variances(kOwn) = least;
  Belief belief = updated(variances, observations);
  for (int widening = 0; widening < kWidenings; ++widening) {
    const double squared = belief.mean(kOwn) * belief.mean(kOwn) + belief.covariance(kOwn, kOwn);
    const double widened = std::max(least, (kDegrees * least + squared) / (kDegrees + 1));
    if (std::abs(widened - variances(kOwn)) < kSettled * least) break;
    variances(kOwn) = widened;
    belief = updated(variances, observations);
  }
  // What counts for a step is the sum of a limit's own factor and the common one.
  Eigen::Matrix<double, kOwn, kStates> sums;
  sums << Eigen::Matrix<double, kOwn, kOwn>::Identity(), Eigen::Matrix<double, kOwn, 1>::Ones();
  const Eigen::Matrix<double, kOwn, 1> mean = sums * belief.mean;
  const Eigen::Matrix<double, kOwn, kOwn> covariance = sums * belief.covariance * sums.transpose();
  const StateMatrix prior = variances.asDiagonal();
  const Eigen::Matrix<double, kOwn, kOwn> explained =
      sums * (prior - belief.covariance) * sums.transpose();
  for (std::size_t i = 0; i < kRates; ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    factors.logarithm[i] = mean(row);
    for (std::size_t j = 0; j < kRates; ++j) {
      const auto column = static_cast<Eigen::Index>(j);
      factors.covariance[i][j] = covariance(row, column);
      factors.explained[i][j] = explained(row, column);
    }
  }
  return factors;
}

}  // namespace foreshard::simulator
