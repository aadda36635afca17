// Ticks of an axis: round figures, as many as there is room for.
#pragma once

#include <QString>
#include <cstdint>
#include <vector>

namespace foreshard::gui {

struct Tick {
  double pixel = 0;
  QString text;  // empty: a small one
};

// Of time, for nanoseconds per pixel; figures count from `origin_ns`. The first pixel shows
// `start_ns`. Labels are at least `apart` pixels from one another.
std::vector<Tick> time_ticks(std::int64_t start_ns, std::int64_t origin_ns, double ns_per_pixel,
                             double width, double apart = 110);

// Round values from 0 up to `most`, of which at most `count` fit: 20, 40, 60. Of bytes: in GiB or MiB,
// in steps of 1, 2, 5 times a power of ten of them.
std::vector<double> value_ticks(double most, int count);
std::vector<std::int64_t> byte_ticks(std::int64_t most, int count);

}  // namespace foreshard::gui
