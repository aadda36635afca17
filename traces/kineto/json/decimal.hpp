// Microseconds as decimal text, exact to the nanosecond: a double has too few digits for the moments
// of a recording.
#pragma once

#include <cstdint>
#include <string_view>

namespace foreshard::traces::kineto {

struct Nanoseconds {
  std::int64_t whole = 0;
  std::int64_t millionths = 0;  // of a nanosecond, of the same sign; further digits are cut off

  Nanoseconds operator+(const Nanoseconds& other) const {
    return {whole + other.whole, millionths + other.millionths};
  }
  std::int64_t rounded() const;  // half away from zero
};

// "4364157268927.519", "-1.5", "1623143093496523", "1.5e3". False where the text is no number or the
// time does not fit some two hundred years.
bool parse_microseconds(std::string_view text, Nanoseconds& out);

}  // namespace foreshard::traces::kineto
