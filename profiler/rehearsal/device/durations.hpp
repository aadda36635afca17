// How long work takes on the simulated clock of streams and events (streams.hpp): nominal durations, so that programs
// which time themselves see numbers of a plausible size. They predict nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace foreshard::rehearsal::durations {

// In nanoseconds. A kernel, a call of a library, and what any other work takes besides its bytes
// and operations.
inline constexpr std::int64_t kKernel = 50'000;
inline constexpr std::int64_t kEvent =
    1'000;  // to record: programs divide by what lies between two

inline constexpr std::int64_t copy(std::size_t bytes) {
  constexpr std::int64_t kBytesPerNanosecond = 50;  // PCIe's, as H100s have it
  return kKernel + static_cast<std::int64_t>(bytes) / kBytesPerNanosecond;
}

inline constexpr std::int64_t collective(std::size_t bytes) {
  constexpr std::int64_t kBytesPerNanosecond = 200;  // NVLink's
  return kKernel + static_cast<std::int64_t>(bytes) / kBytesPerNanosecond;
}

inline constexpr std::int64_t product(std::int64_t m, std::int64_t n, std::int64_t k,
                                      std::int64_t batch) {
  constexpr double kOperationsPerNanosecond = 400'000;
  const double operations = 2.0 * static_cast<double>(m) * static_cast<double>(n) *
                            static_cast<double>(k) * static_cast<double>(batch);
  return kKernel + static_cast<std::int64_t>(operations / kOperationsPerNanosecond);
}

}  // namespace foreshard::rehearsal::durations
