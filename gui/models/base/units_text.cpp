#include "gui/models/base/units_text.hpp"

#include <array>
#include <cmath>

#include "gui/models/base/precise_time.hpp"

namespace foreshard::gui {
namespace {

const QChar kMinus(0x2212);

// Four digits: 849.3, 16.74, 1.112, 1234.
QString four_digits(double value) {
  const double size = std::abs(value);
  const int decimals = size >= 999.95 ? 0 : size >= 99.995 ? 1 : size >= 9.9995 ? 2 : 3;
  QString text = QString::number(size, 'f', size == 0 ? 0 : decimals);
  return value < 0 ? kMinus + text : text;
}

struct Step {
  double size;
  const char* unit;
};

template <std::size_t N>
Figure in_unit(double value, const std::array<Step, N>& steps) {
  for (const Step& step : steps) {
    if (std::abs(value) >= step.size * 0.99995) {
      return {four_digits(value / step.size), QString::fromLatin1(step.unit)};
    }
  }
  return {four_digits(value / steps.back().size), QString::fromLatin1(steps.back().unit)};
}

}  // namespace

Figure time_figure(double ns) {
  static constexpr std::array<Step, 4> steps{{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}};
  if (std::abs(ns) < 1000) return {count_figure(std::llround(ns)).number, QStringLiteral("ns")};
  return in_unit(ns, steps);
}

// With as many digits as tell the ends from one another.
QString time_range_text(double from_ns, double to_ns) {
  const double apart = std::abs(to_ns - from_ns) / 10;
  const Figure from = precise_time(from_ns, apart), to = precise_time(to_ns, apart);
  return QStringLiteral("%1 – %2").arg(from.unit == to.unit ? from.number : from.text(), to.text());
}

Figure bytes_figure(std::int64_t bytes) {
  static constexpr std::array<Step, 3> steps{
      {{1073741824.0, "GiB"}, {1048576.0, "MiB"}, {1024.0, "KiB"}}};
  if (std::abs(bytes) < 1024) return {count_figure(bytes).number, QStringLiteral("B")};
  return in_unit(static_cast<double>(bytes), steps);
}

QString round_bytes_text(std::int64_t bytes) {
  const Figure figure = bytes_figure(bytes);
  return Figure{QString::number(figure.number.toDouble()), figure.unit}.text();
}

Figure rate_figure(double bytes_per_s) {
  static constexpr std::array<Step, 4> steps{
      {{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}}};
  return in_unit(bytes_per_s, steps);
}

Figure flops_figure(double operations) {
  static constexpr std::array<Step, 5> steps{
      {{1e15, "PFLOP"}, {1e12, "TFLOP"}, {1e9, "GFLOP"}, {1e6, "MFLOP"}, {1e3, "kFLOP"}}};
  return in_unit(operations, steps);
}

Figure count_figure(std::int64_t count) {
  QString digits = QString::number(std::abs(count));
  for (qsizetype at = digits.size() - 3; at > 0; at -= 3) digits.insert(at, QLatin1Char(','));
  return {count < 0 ? kMinus + digits : digits, {}};
}

Figure measured_figure(double value, const std::string& unit) {
  constexpr double kWhole = 999.95, kMost = 1e15;
  const double size = std::abs(value);
  if (size >= kWhole && size < kMost) {
    return {count_figure(std::llround(value)).number, QString::fromStdString(unit)};
  }
  const QString digits = QString::number(size, 'g', 4);
  return {value < 0 ? kMinus + digits : digits, QString::fromStdString(unit)};
}

QString percent_text(double fraction, int decimals) {
  QString text = QString::number(std::abs(fraction) * 100, 'f', decimals);
  const bool is_zero = text.toDouble() == 0;
  return (fraction < 0 && !is_zero ? kMinus + text : text) + QStringLiteral(" %");
}

QString signed_text(const Figure& figure, bool is_negative) {
  QString text = figure.text();
  if (text.startsWith(kMinus)) text.remove(0, 1);
  return (is_negative ? kMinus : QChar(QLatin1Char('+'))) + text;
}

QString bytes_text(std::int64_t bytes, bool is_difference) {
  const Figure figure = bytes_figure(bytes);
  return is_difference ? signed_text(figure, bytes < 0) : figure.text();
}

QString exact_bytes(std::int64_t bytes) {
  return count_figure(bytes).number + QStringLiteral(" B");
}

}  // namespace foreshard::gui
