// Figures in the units that are shown: four digits, a true minus sign, one space before the unit.
#pragma once

#include <QString>
#include <cstdint>
#include <string>

namespace foreshard::gui {

struct Figure {
  QString number;  // "849.3"
  QString unit;    // "ms"
  QString text() const { return unit.isEmpty() ? number : number + QLatin1Char(' ') + unit; }
};

Figure time_figure(double ns);                                  // s, ms, us or ns
QString time_range_text(double from_ns, double to_ns);          // "314.8 – 316.9 ms"
Figure bytes_figure(std::int64_t bytes);                        // GiB, MiB, KiB or B
QString round_bytes_text(std::int64_t bytes);                   // "10 GiB", for what is round
Figure rate_figure(double bytes_per_s);                         // TB/s, GB/s, MB/s: decimal
Figure flops_figure(double operations);                         // TFLOP, GFLOP: decimal
Figure count_figure(std::int64_t count);                        // 77,166
Figure measured_figure(double value, const std::string& unit);  // 87.5 %, 1,410 MHz
QString percent_text(double fraction, int decimals = 1);        // "2.0 %"
QString signed_text(const Figure& figure, bool is_negative);    // "+3.0 ms", "−3.0 ms"
QString bytes_text(std::int64_t bytes, bool is_difference);     // which has a sign
QString exact_bytes(std::int64_t bytes);                        // "4,202,692,608 B", for tooltips

}  // namespace foreshard::gui
