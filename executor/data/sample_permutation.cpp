#include "executor/data/sample_permutation.hpp"

namespace foreshard::executor {
namespace {

constexpr std::uint64_t kRounds = 6;

// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace

SamplePermutation::SamplePermutation(std::uint64_t seed, std::int64_t epoch, std::int64_t samples)
    : key_(mixed(mixed(seed) ^ static_cast<std::uint64_t>(epoch))),
      samples_(static_cast<std::uint64_t>(samples)) {
  while (std::uint64_t{1} << (2 * half_bits_) < samples_) ++half_bits_;
}

std::uint64_t SamplePermutation::permuted(std::uint64_t number) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = number >> half_bits_, right = number & mask;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::uint64_t next = left ^ (mixed(key_ ^ mixed(right + (round << 32))) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

std::int64_t SamplePermutation::sample_at(std::int64_t place) const {
  auto number = static_cast<std::uint64_t>(place);
  do {
    number = permuted(number);
  } while (number >= samples_);
  return static_cast<std::int64_t>(number);
}

}  // namespace foreshard::executor
