// Classification of cost keys by the rules that their costs follow.
#pragma once

#include "models/program/operators.hpp"

namespace foreshard::simulator {

// A matrix product or attention: arithmetic may decide how long it takes. Of everything else the
// bytes it touches do.
inline bool is_arithmetic(Operator op) {
  return is_matmul(op) || is_attention(op);
}

// Goes over links rather than through arithmetic. Of a processor's ranks one thread does it alone,
// however many a rank has.
inline bool is_transfer(Operator op) {
  return is_collective(op) || is_host_copy(op);
}

// Bytes that a collective or a copy delivers: of the whole buffer, as its key counts them.
inline double payload_bytes(const CostKey& key) {
  return static_cast<double>(key.dims[0]);
}

// How large a piece of work is, in the unit its cost grows with: operations, bytes delivered or
// bytes touched. Comparable between keys of one operator only.
inline double work(const CostKey& key) {
  if (is_arithmetic(key.op)) return flops(key);
  if (is_transfer(key.op)) return payload_bytes(key);
  return bytes_moved(key);
}

// Operations for each byte that is touched: whether arithmetic or memory decides. 0 of work that does
// no arithmetic to speak of.
inline double intensity(const CostKey& key) {
  const double bytes = bytes_moved(key);
  return is_arithmetic(key.op) && bytes > 0 ? flops(key) / bytes : 0;
}

}  // namespace foreshard::simulator
