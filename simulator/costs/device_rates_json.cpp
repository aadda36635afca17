#include "simulator/costs/device_rates_json.hpp"

#include <string>

#include <nlohmann/json.hpp>

namespace foreshard::simulator {
namespace {

constexpr double kMaxLogarithm = 10;  // a factor of 22,000
constexpr std::int64_t kMaxNs = std::int64_t{1} << 50;

}  // namespace

nlohmann::json to_json(const DeviceRates& rates) {
  nlohmann::json factors = nlohmann::json::array(), observed = nlohmann::json::array();
  for (std::size_t i = 0; i < kRates; ++i) {
    nlohmann::json row{{"rate", kRateNames[i]}, {"log_factor", rates.factors.logarithm[i]}};
    for (std::size_t j = 0; j < kRates; ++j) {
      row[std::string("covariance_") + std::string(kRateNames[j])] = rates.factors.covariance[i][j];
    }
    factors.push_back(std::move(row));
  }
  for (const ObservedStep& step : rates.observed) {
    observed.push_back({{"plan", step.plan},
                        {"model", step.model},
                        {"ranks", step.ranks},
                        {"measured_ns", step.measured_ns},
                        {"catalogue_ns", step.catalogue_ns},
                        {"fitted_ns", step.fitted_ns}});
  }
  return {{"machine", rates.machine},
          {"factors", factors},
          {"unexplained", rates.factors.unexplained},
          {"observed", observed}};
}

DeviceRates read_device_rates(CostFileReader reader) {
  DeviceRates rates;
  rates.machine = reader.word("machine");
  reader.list("factors", [&](CostFileReader& row) {
    const std::string name = row.word("rate");
    for (std::size_t i = 0; i < kRates; ++i) {
      if (name != kRateNames[i]) continue;
      rates.factors.logarithm[i] = row.number("log_factor", -kMaxLogarithm, kMaxLogarithm);
      for (std::size_t j = 0; j < kRates; ++j) {
        const std::string key = std::string("covariance_") + std::string(kRateNames[j]);
        rates.factors.covariance[i][j] = row.number(key.c_str(), -kMaxLogarithm, kMaxLogarithm);
      }
      return;
    }
    row.wrong("rate", "is not a rate; expected product, attention, memory, links or host");
  });
  if (reader.has("unexplained")) {
    rates.factors.unexplained = reader.number("unexplained", 0, kMaxLogarithm);
  }
  reader.list("observed", [&](CostFileReader& item) {
    ObservedStep step;
    step.plan = item.word("plan");
    step.model = item.word("model");
    step.ranks = static_cast<int>(item.integer("ranks", 1, 1 << 24));
    step.measured_ns = item.integer("measured_ns", 0, kMaxNs);
    step.catalogue_ns = item.integer("catalogue_ns", 0, kMaxNs);
    step.fitted_ns = item.integer("fitted_ns", 0, kMaxNs);
    rates.observed.push_back(std::move(step));
  });
  return rates;
}

}  // namespace foreshard::simulator
