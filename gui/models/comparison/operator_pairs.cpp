#include "gui/models/comparison/operator_pairs.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "gui/models/base/units_text.hpp"

namespace foreshard::gui {
namespace {

class WhyWords {
  Q_DECLARE_TR_FUNCTIONS(Compare)
};

constexpr double kEqual = 0.03;         // of the logarithm: 3 %
constexpr double kSlope = 0.12;         // 8 times longer is off by 1.28 times more
constexpr double kRangeOfSizes = 0.35;  // standard deviation of the sizes' logarithm

PairSpread::Shape shape_of(const PairSpread& spread, double range_of_sizes) {
  using Shape = PairSpread::Shape;
  if (spread.pairs == 0) return Shape::none;
  const double shift = std::abs(std::log(spread.factor));
  if (shift < kEqual && spread.spread < kEqual) return Shape::equal;
  const bool can_fan = spread.pairs >= 4 && range_of_sizes > kRangeOfSizes;
  const double explained = std::abs(spread.slope) * range_of_sizes;
  if (can_fan && std::abs(spread.slope) > kSlope && explained > spread.spread / 2) {
    return Shape::fanning;
  }
  return spread.spread <= std::max(shift, kEqual) ? Shape::parallel : Shape::scattered;
}

double decades(std::int64_t ns) {
  return std::log10(static_cast<double>(std::max<std::int64_t>(ns, 1)));
}

}  // namespace

PairSpread pair_spread(const std::vector<ComparedPair>& pairs) {
  std::vector<double> sizes, ratios;
  for (const ComparedPair& pair : pairs) {
    if (pair.baseline_ns <= 0 || pair.candidate_ns <= 0) continue;
    const double size = std::log(static_cast<double>(pair.baseline_ns));
    sizes.push_back(size);
    ratios.push_back(std::log(static_cast<double>(pair.candidate_ns)) - size);
  }
  PairSpread spread;
  spread.pairs = sizes.size();
  if (sizes.empty()) return spread;
  const auto mean = [](const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  };
  const double size = mean(sizes), ratio = mean(ratios);
  double size_variance = 0, ratio_variance = 0, covariance = 0;
  for (std::size_t n = 0; n < sizes.size(); ++n) {
    size_variance += (sizes[n] - size) * (sizes[n] - size);
    ratio_variance += (ratios[n] - ratio) * (ratios[n] - ratio);
    covariance += (sizes[n] - size) * (ratios[n] - ratio);
  }
  const auto count = static_cast<double>(sizes.size());
  spread.factor = std::exp(ratio);
  spread.spread = std::sqrt(ratio_variance / count);
  spread.slope = size_variance > 0 ? covariance / size_variance : 0;
  spread.shape = shape_of(spread, std::sqrt(size_variance / count));
  return spread;
}

QString why_sentence(const PairSpread& spread, bool is_prediction) {
  const QString factor = QString::number(spread.factor, 'f', 2);
  switch (spread.shape) {
    case PairSpread::Shape::none:
      return WhyWords::tr(
          "No event of this step has a counterpart by key, so that only totals can "
          "be compared.");
    case PairSpread::Shape::equal: return WhyWords::tr("Both agree within 3 % at every event.");
    case PairSpread::Shape::parallel:
      return is_prediction ? WhyWords::tr(
                                 "All sizes are off by about one factor, %1: the machine's speed "
                                 "differed from when costs were recorded, not the formula.")
                                 .arg(factor)
                           : WhyWords::tr(
                                 "All sizes changed by about one factor, %1: the machine's speed "
                                 "differed, not the work.")
                                 .arg(factor);
    case PairSpread::Shape::fanning: {
      const QString where =
          spread.slope > 0 ? WhyWords::tr("long events") : WhyWords::tr("short events");
      return is_prediction
                 ? WhyWords::tr(
                       "The ratio depends on the size and is highest at %1: the formula of "
                       "this operator is off, not the machine's speed.")
                       .arg(where)
                 : WhyWords::tr("The ratio depends on the size and is highest at %1.").arg(where);
    }
    case PairSpread::Shape::scattered:
      return WhyWords::tr(
                 "Ratios scatter by %1 around a factor of %2: events of one size took "
                 "different times, such as when something else ran at the same time.")
          .arg(percent_text(std::expm1(spread.spread), 0), factor);
  }
  return {};
}

PairPlot::PairPlot(const std::vector<ComparedPair>& pairs) {
  constexpr double kMargin = 0.2, kLeast = 1;
  double low = 9, high = 0;
  for (const ComparedPair& pair : pairs) {
    low = std::min({low, decades(pair.baseline_ns), decades(pair.candidate_ns)});
    high = std::max({high, decades(pair.baseline_ns), decades(pair.candidate_ns)});
  }
  lowest_ = std::min(low, high) - kMargin;
  highest_ = std::max(high, lowest_ + kLeast) + kMargin;
}

double PairPlot::share(std::int64_t ns) const {
  return (decades(ns) - lowest_) / (highest_ - lowest_);
}

std::vector<ComparedPair> PairPlot::seen(const std::vector<ComparedPair>& pairs) const {
  constexpr int kCells = 128;  // a side
  std::unordered_set<int> filled;
  std::vector<ComparedPair> first;
  for (const ComparedPair& pair : pairs) {
    const auto cell = [&](std::int64_t ns) { return static_cast<int>(share(ns) * kCells); };
    if (filled.insert(cell(pair.baseline_ns) * kCells + cell(pair.candidate_ns)).second) {
      first.push_back(pair);
    }
  }
  return first;
}

}  // namespace foreshard::gui
