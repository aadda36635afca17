// Times with the digits that tell apart what is so many nanoseconds apart, and no fewer than other
// figures have: "314.8125 ms".
#pragma once

#include <algorithm>
#include <cmath>

#include "gui/models/base/units_text.hpp"

namespace foreshard::gui {

inline double ns_of_unit(const QString& unit) {
  return unit == QLatin1String("s")    ? 1e9
         : unit == QLatin1String("ms") ? 1e6
         : unit == QLatin1String("us") ? 1e3
                                       : 1;
}

// `apart_ns`: 0 for four digits. Nothing is finer than a nanosecond.
inline Figure precise_time(double ns, double apart_ns) {
  Figure figure = time_figure(ns);
  const double unit = ns_of_unit(figure.unit);
  const qsizetype point = figure.number.indexOf(QLatin1Char('.'));
  const auto shown = point < 0 ? 0 : static_cast<int>(figure.number.size() - point) - 1;
  const int wanted =
      apart_ns <= 0
          ? 0
          : static_cast<int>(std::ceil(std::log10(unit / std::max(apart_ns, 1.0)) - 1e-9));
  if (wanted <= shown) return figure;
  figure.number = QString::number(ns / unit, 'f', wanted);
  figure.number.replace(QLatin1Char('-'), QChar(0x2212));
  return figure;
}

}  // namespace foreshard::gui
