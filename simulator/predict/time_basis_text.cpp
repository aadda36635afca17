#include "simulator/predict/time_basis_text.hpp"

#include <algorithm>
#include <cmath>

#include "models/base/figures.hpp"

namespace foreshard::simulator {
namespace {

constexpr std::size_t kShown = 12;
constexpr double kWorthALine = 0.001;  // of the variance

std::string operator_table(const std::vector<OperatorBasis>& operators) {
  std::string text = formatted("\n  %-44s %6s %10s  %-8s %6s  %s\n", "the step's work, alone",
                               "count", "time", "cost", "+-", "which rests on");
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

std::string doubt_table(const std::vector<DoubtPart>& doubts) {
  double all = 0;
  for (const DoubtPart& doubt : doubts) all += doubt.variance;
  std::string text = formatted("\n  %-24s %10s %6s %9s  %s\n", "what makes the band", "of step",
                               "+-", "of band", "as known from");
  for (const DoubtPart& doubt : doubts) {
    if (std::abs(doubt.variance) < kWorthALine * all) continue;
    text += formatted("  %-24s %8.1f %% %4.0f %% %7.1f %%  %s\n", doubt.name.c_str(),
                      100 * doubt.share, 100 * doubt.deviation,
                      all > 0 ? 100 * doubt.variance / all : 0, doubt.basis.c_str());
  }
  return text;
}

}  // namespace

std::string time_basis_text(const TimeBasis& basis) {
  std::string text = operator_table(basis.operators) + doubt_table(basis.doubts);
  const auto percents = [](double half_width) { return 100 * std::expm1(half_width); };
  text += formatted("  The band is %.2f standard deviations to each side: up to %.1f %% longer.\n",
                    basis.quantile, percents(basis.half_width));
  if (!basis.narrowing) return text + "  No measurement that is known here would narrow it.\n";
  return text + formatted("  What would narrow it most: %s, from %.1f %% to %.1f %%.\n",
                          basis.narrowing->measurement.c_str(), percents(basis.half_width),
                          percents(basis.narrowing->half_width));
}

}  // namespace foreshard::simulator
