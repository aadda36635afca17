#include "simulator/costs/held_out_errors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <stdexcept>
#include <string_view>

#include "models/base/csv.hpp"
#include "models/base/figures.hpp"
#include "models/base/statistics.hpp"
#include "models/hardware/catalogue/catalogue_text.hpp"
#include "models/hardware/csv_numbers.hpp"

namespace foreshard::simulator {
namespace {

constexpr double kCoverage = 0.9;
constexpr double kProbableError = 0.6745;  // half of a normal distribution, in standard deviations

constexpr auto kWays = static_cast<std::size_t>(CostWay::kCount);
constexpr std::array<std::string_view, kWays> kWayNames{"catalogue", "observed"};

std::vector<double> scores(const std::vector<HeldOutError>& errors, double deviation) {
  std::vector<double> result;
  for (const HeldOutError& error : errors) {
    result.push_back(std::abs(error.logarithm) / std::hypot(deviation, error.admitted));
  }
  return result;
}

// The median score falls as what is left out grows.
double left_out(const std::vector<HeldOutError>& errors) {
  double low = 1e-3, high = 1;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (median(scores(errors, middle)) > kProbableError ? low : high) = middle;
  }
  return high;
}

using WayErrors = std::array<std::vector<HeldOutError>, kWays>;

// The bundled table is a part of the program, as are its errors: they throw.
WayErrors read_errors() {
  const CsvTable table = parse_csv(step_errors_csv(), "step_errors.csv").value();
  WayErrors errors;
  for (const CsvRow& row : table.rows) {
    const auto way = std::find(kWayNames.begin(), kWayNames.end(), table.at(row, "way"));
    if (way == kWayNames.end()) throw std::logic_error("step_errors.csv: unknown way");
    errors[static_cast<std::size_t>(way - kWayNames.begin())].push_back(
        {csv_number(table.at(row, "log_error")).value(),
         csv_number(table.at(row, "admitted")).value(), std::string(table.at(row, "source")),
         table.at(row, "settings") == "known"});
  }
  return errors;
}

std::vector<HeldOutError> with_known_settings(std::vector<HeldOutError> errors) {
  std::erase_if(errors, [](const HeldOutError& error) { return !error.has_known_settings; });
  return errors;
}

std::vector<HeldOutError> by_others(std::vector<HeldOutError> errors, std::string_view source) {
  std::erase_if(errors, [&](const HeldOutError& error) { return error.source == source; });
  return errors;
}

// The finite-sample quantile of split conformal prediction.
double quantile(const std::vector<HeldOutError>& errors, double deviation) {
  std::vector<double> sorted = scores(errors, deviation);
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  const auto rank = static_cast<std::size_t>(std::min(n, std::ceil(kCoverage * (n + 1))));
  return sorted[rank - 1];
}

}  // namespace

ErrorSpread spread_of(const std::vector<HeldOutError>& errors) {
  const std::vector<HeldOutError> known = with_known_settings(errors);
  std::set<std::string_view> sources;
  for (const HeldOutError& error : known) sources.insert(error.source);
  ErrorSpread spread;
  spread.deviation = left_out(known);
  if (sources.size() < 2) {
    spread.quantile = quantile(known, spread.deviation);
  } else {
    for (const std::string_view source : sources) {
      const std::vector<HeldOutError> others = by_others(known, source);
      const auto runs = static_cast<double>(known.size() - others.size());
      spread.quantile += quantile(others, spread.deviation) * runs;
    }
    spread.quantile /= static_cast<double>(known.size());
  }
  spread.basis = "errors of " + plural(static_cast<std::int64_t>(known.size()), "run") + " by " +
                 plural(static_cast<std::int64_t>(sources.size()), "source") +
                 " that nothing was fitted to";
  return spread;
}

const std::vector<HeldOutError>& held_out_errors(CostWay way) {
  static const WayErrors errors = read_errors();
  return errors[static_cast<std::size_t>(way)];
}

const ErrorSpread& held_out_spread(CostWay way) {
  if (way == CostWay::observed) {
    static const ErrorSpread observed = spread_of(held_out_errors(CostWay::observed));
    return observed;
  }
  static const ErrorSpread catalogue = spread_of(held_out_errors(CostWay::catalogue));
  return catalogue;
}

}  // namespace foreshard::simulator
