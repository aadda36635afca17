#include "gui/paint/time_ticks.hpp"

#include <cmath>

#include "gui/models/base/precise_time.hpp"

namespace foreshard::gui {
namespace {

// The smallest of 1, 2, 5 times a power of ten that is at least that.
double round_step(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(std::max(least, 1e-300))));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

}  // namespace

std::vector<Tick> time_ticks(std::int64_t start_ns, std::int64_t origin_ns, double ns_per_pixel,
                             double width, double apart) {
  std::vector<Tick> ticks;
  const double step = std::max(round_step(apart * ns_per_pixel), 1.0);
  const double first = static_cast<double>(start_ns - origin_ns);
  const int parts = 5;
  const double small = step / parts;
  const double last = first + width * ns_per_pixel;
  for (double n = std::ceil(first / small); n * small <= last; ++n) {
    const double value = n * small;
    const bool is_large = std::fmod(std::abs(n) + 0.5, parts) < 1;
    // All labels in the unit of the step, so that neighbours read alike.
    QString text;
    if (is_large) {
      const Figure figure = time_figure(value);
      text = QString::number(value / ns_of_unit(figure.unit), 'g', 14) + QLatin1Char(' ') +
             figure.unit;
      if (n == 0) text = QStringLiteral("0");
      text.replace(QLatin1Char('-'), QChar(0x2212));
    }
    ticks.push_back({(value - first) / ns_per_pixel, text});
  }
  return ticks;
}

std::vector<double> value_ticks(double most, int count) {
  std::vector<double> ticks;
  if (most <= 0) return ticks;
  const double step = round_step(most / std::max(count, 1));
  for (int n = 0; n * step <= most * (1 + 1e-9); ++n) ticks.push_back(n * step);
  return ticks;
}

std::vector<std::int64_t> byte_ticks(std::int64_t most, int count) {
  const double unit = most >= (1ll << 30) ? 1ll << 30 : most >= (1ll << 20) ? 1ll << 20 : 1024;
  std::vector<std::int64_t> ticks;
  for (const double value : value_ticks(static_cast<double>(most) / unit, count)) {
    ticks.push_back(std::llround(value * unit));
  }
  return ticks;
}

}  // namespace foreshard::gui
