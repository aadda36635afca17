// Sums of the values that ranks show each other, in a ring's order.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include <nccl.h>

#include "tests/cuda/nccl/meeting.hpp"

namespace foreshard::host_nccl {

struct Bf16 {
  std::uint16_t bits;
};
inline float widen(Bf16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}
inline float widen(float x) {
  return x;
}
inline double widen(double x) {
  return x;
}
inline void narrow(float x, float& out) {
  out = x;
}
inline void narrow(double x, double& out) {
  out = x;
}
// To the nearest, for finite values.
inline void narrow(float x, Bf16& out) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  out.bits = static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline std::size_t item_size(ncclDataType_t type) {
  switch (type) {
    case ncclFloat64: return 8;
    case ncclFloat32: return 4;
    case ncclBfloat16: return 2;
    default: return 1;
  }
}

// `bytes` that lie in every rank's slot, beginning with the rank after `owner`.
template <class T>
void sum(const Meeting& meeting, int owner, bool is_average, std::byte* to, std::size_t bytes) {
  for (std::size_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
    T total{};
    for (int k = 1; k <= meeting.size(); ++k) {
      T next;
      std::memcpy(&next, meeting.slot((owner + k) % meeting.size()) + at, sizeof next);
      narrow(k == 1 ? widen(next) : widen(total) + widen(next), total);
    }
    using Wide = decltype(widen(total));
    if (is_average) narrow(widen(total) / static_cast<Wide>(meeting.size()), total);
    std::memcpy(to + at, &total, sizeof total);
  }
}

inline void sum(const Meeting& meeting, ncclDataType_t type, int owner, bool is_average,
                std::byte* to, std::size_t bytes) {
  switch (type) {
    case ncclFloat64: return sum<double>(meeting, owner, is_average, to, bytes);
    case ncclFloat32: return sum<float>(meeting, owner, is_average, to, bytes);
    default: return sum<Bf16>(meeting, owner, is_average, to, bytes);
  }
}

}  // namespace foreshard::host_nccl
