// What the search keeps of each candidate that it has predicted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "models/base/units.hpp"

namespace foreshard::simulator {

struct Outcome {
  std::size_t plan = 0;    // its number among the candidates
  std::size_t target = 0;  // index into the request's
  bool is_beaten = false;  // by its time, so that nothing else is known
  bool fits = true;
  Nanoseconds step_time{0};  // 0: unknown
  double tokens_per_s = 0;
  double goodput = 1;  // of the training, the share of its time in which it trains what it keeps
  std::int64_t peak_reserved = 0;  // bytes, of the rank that reserves most

  void take_time_of(const Outcome& other) {
    step_time = other.step_time;
    tokens_per_s = other.tokens_per_s;
    goodput = other.goodput;
  }
  double kept_tokens_per_s() const { return tokens_per_s * goodput; }
  bool has_time() const { return fits && step_time.count() > 0; }
};

}  // namespace foreshard::simulator
