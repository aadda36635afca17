// Times in microseconds as decimal text, exact to the nanosecond: a double has too few digits for the
// timestamps of a recording.
#pragma once

#include <cstdint>
#include <string_view>

namespace foreshard::traces::kineto {

struct ExactTime {
  std::int64_t whole = 0;
  std::int64_t millionths = 0;  // of a nanosecond, of the same sign; further digits are cut off

  ExactTime operator+(const ExactTime& other) const {
    return {whole + other.whole, millionths + other.millionths};
  }
  std::int64_t rounded() const;  // half away from zero
};

// "4364157268927.519", "-1.5", "1623143093496523", "1.5e3". False where the text is not a number or the
// time does not fit some two hundred years.
bool parse_time(std::string_view text, ExactTime& out);

}  // namespace foreshard::traces::kineto
