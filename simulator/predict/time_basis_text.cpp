#include "simulator/predict/time_basis_text.hpp"

#include <algorithm>
#include <cmath>

#include "models/base/figures.hpp"

namespace foreshard::simulator {
namespace {

constexpr std::size_t kShown = 12;
constexpr double kWorthALine = 0.001;  // of the variance

std::string operator_table(const std::vector<OperatorBasis>& operators) {
  std::string text = formatted("\n  %-44s %6s %10s  %-8s %6s  %s\n", "operators of one rank",
                               "count", "time", "cost", "+-", "basis");
  std::int64_t rest_ns = 0, rest_count = 0;
  for (std::size_t n = 0; n < operators.size(); ++n) {
    const OperatorBasis& op = operators[n];
    if (n >= kShown) {
      rest_ns += op.ns;
      rest_count += op.count;
      continue;
    }
    text += formatted("  %-44s %6lld %10s  %-8s %4.0f %%  %s\n", op.name.substr(0, 44).c_str(),
                      static_cast<long long>(op.count), duration(op.ns).c_str(),
                      std::string(name(op.source)).c_str(), 100 * op.deviation, op.basis.c_str());
  }
  if (rest_count == 0) return text;
  return text +
         formatted("  %-44s %6lld %10s\n",
                   plural(static_cast<std::int64_t>(operators.size() - kShown), "other").c_str(),
                   static_cast<long long>(rest_count), duration(rest_ns).c_str());
}

std::string component_table(const std::vector<UncertaintyComponent>& components) {
  double all = 0;
  for (const UncertaintyComponent& part : components) all += part.variance;
  std::string text =
      formatted("\n  %-24s %10s %6s %9s  %s\n", "uncertainty", "of step", "+-", "of band", "basis");
  for (const UncertaintyComponent& part : components) {
    if (std::abs(part.variance) < kWorthALine * all) continue;
    text += formatted("  %-24s %8.1f %% %4.0f %% %7.1f %%  %s\n", part.name.c_str(),
                      100 * part.share, 100 * part.deviation,
                      all > 0 ? 100 * part.variance / all : 0, part.basis.c_str());
  }
  return text;
}

}  // namespace

std::string time_basis_text(const TimeBasis& basis) {
  std::string text = operator_table(basis.operators) + component_table(basis.components);
  const auto percents = [](double half_width) { return 100 * std::expm1(half_width); };
  text += formatted("  The band is %.2f standard deviations to each side: up to %.1f %% longer.\n",
                    basis.quantile, percents(basis.half_width));
  if (!basis.recommended)
    return text + "  Recommended measurement: none that would narrow the band.\n";
  return text +
         formatted(
             "  Recommended measurement: %s, which narrows the band from %.1f %% to %.1f %%.\n",
             basis.recommended->measurement.c_str(), percents(basis.half_width),
             percents(basis.recommended->half_width));
}

}  // namespace foreshard::simulator
