#include "executor/data/initial_weights.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "executor/device/processor.hpp"

// The same arithmetic, compiled for the baseline and for AVX2. No multiply-add is fused (this file
// is compiled with -ffp-contract=off), so that all machines draw the same bits.
namespace foreshard::executor {

namespace {

constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;

constexpr int kBlocks = 64;  // Philox blocks computed together: small enough for the first cache
constexpr int kElements = 4 * kBlocks;

using Words = std::uint32_t[kBlocks];

[[gnu::always_inline]] inline void philox_blocks(std::uint64_t seed, std::uint32_t stream,
                                                 std::uint64_t first_block, Words* words) {
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    words[0][i] = static_cast<std::uint32_t>(first_block + i);
    words[1][i] = static_cast<std::uint32_t>((first_block + i) >> 32);
    words[2][i] = stream;
    words[3][i] = 0;
  }
  auto key0 = static_cast<std::uint32_t>(seed);
  auto key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kBlocks; ++i) {
      const std::uint64_t product0 = std::uint64_t{kMultiplier0} * words[0][i];
      const std::uint64_t product1 = std::uint64_t{kMultiplier1} * words[2][i];
      words[0][i] = static_cast<std::uint32_t>(product1 >> 32) ^ words[1][i] ^ key0;
      words[1][i] = static_cast<std::uint32_t>(product1);
      words[2][i] = static_cast<std::uint32_t>(product0 >> 32) ^ words[3][i] ^ key1;
      words[3][i] = static_cast<std::uint32_t>(product0);
    }
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
}

// Natural logarithm of a normal positive number: x = m * 2^e with m in [1/sqrt(2), sqrt(2)), and
// log m = 2 artanh((m - 1) / (m + 1)) by its series, whose first term left out is below 1e-15.
[[gnu::always_inline]] inline double logarithm(double x) {
  constexpr std::uint64_t kMantissa = 0x000fffffffffffff, kOne = 0x3ff0000000000000;
  constexpr double kTwoTo52 = 0x1p52;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const double mantissa = std::bit_cast<double>((bits & kMantissa) | kOne);
  // An integer below 2^52 becomes a double by being put into the mantissa of 2^52.
  const double biased =
      std::bit_cast<double>((bits >> 52) | std::bit_cast<std::uint64_t>(kTwoTo52)) - kTwoTo52;
  const bool large = mantissa >= 1.4142135623730951;
  const double m = large ? mantissa * 0.5 : mantissa;
  const double exponent = biased - (large ? 1022.0 : 1023.0);
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double series = 1.0 / 17;
  series = series * z + 1.0 / 15;
  series = series * z + 1.0 / 13;
  series = series * z + 1.0 / 11;
  series = series * z + 1.0 / 9;
  series = series * z + 1.0 / 7;
  series = series * z + 1.0 / 5;
  series = series * z + 1.0 / 3;
  series = series * z + 1.0;
  return exponent * 0.6931471805599453 + 2.0 * s * series;
}

struct Direction {
  double sine, cosine;
};

// Sine and cosine of 2 pi turn / 2^32. The nearest quarter turn is taken off exactly, in integers;
// what is left, at most pi / 4, goes through Taylor's series (error below 1e-13).
[[gnu::always_inline]] inline Direction direction(std::uint32_t turn) {
  const std::uint32_t quarter = (turn + (1u << 29)) >> 30;
  const auto rest = static_cast<std::int32_t>(turn - (quarter << 30));
  const double angle = rest * (6.283185307179586 * 0x1p-32);
  const double z = angle * angle;
  double sine = 1.0 / 6227020800.0;
  sine = sine * z - 1.0 / 39916800.0;
  sine = sine * z + 1.0 / 362880.0;
  sine = sine * z - 1.0 / 5040.0;
  sine = sine * z + 1.0 / 120.0;
  sine = sine * z - 1.0 / 6.0;
  sine = sine * z * angle + angle;
  double cosine = -1.0 / 87178291200.0;
  cosine = cosine * z + 1.0 / 479001600.0;
  cosine = cosine * z - 1.0 / 3628800.0;
  cosine = cosine * z + 1.0 / 40320.0;
  cosine = cosine * z - 1.0 / 720.0;
  cosine = cosine * z + 1.0 / 24.0;
  cosine = cosine * z - 1.0 / 2.0;
  cosine = cosine * z + 1.0;
  const bool swapped = (quarter & 1) != 0;
  const double first = swapped ? cosine : sine;
  const double second = swapped ? sine : cosine;
  const bool sine_negative = (quarter & 2) != 0;
  const bool cosine_negative = ((quarter + 1) & 2) != 0;
  return {sine_negative ? -first : first, cosine_negative ? -second : second};
}

// Box-Muller: words 0 and 2 give radii, words 1 and 3 directions.
[[gnu::always_inline]] inline void normal_blocks(std::uint64_t seed, std::uint32_t stream,
                                                 std::uint64_t first_block, double deviation,
                                                 float* out) {
  alignas(64) Words words[4];
  philox_blocks(seed, stream, first_block, words);
  alignas(64) float pairs[4][kBlocks];
  for (int pair = 0; pair < 2; ++pair) {
    for (int i = 0; i < kBlocks; ++i) {
      // In (0, 1]. Conversion by way of a signed integer is one instruction on every CPU.
      const auto centred = static_cast<std::int32_t>(words[2 * pair][i] ^ 0x80000000u);
      const double uniform = (centred + 2147483649.0) * 0x1p-32;
      const double radius = deviation * std::sqrt(-2.0 * logarithm(uniform));
      const auto [sine, cosine] = direction(words[2 * pair + 1][i]);
      pairs[2 * pair][i] = static_cast<float>(radius * cosine);
      pairs[2 * pair + 1][i] = static_cast<float>(radius * sine);
    }
  }
  for (int i = 0; i < kBlocks; ++i) {
    for (int lane = 0; lane < 4; ++lane) out[4 * i + lane] = pairs[lane][i];
  }
}

[[gnu::always_inline]] inline void fill_blocks(std::uint64_t seed, std::uint32_t stream,
                                               double deviation, std::int64_t first,
                                               std::int64_t count, float* out) {
  alignas(64) float some[kElements];
  while (count > 0) {
    const std::int64_t block = first / 4;
    const std::int64_t skipped = first - 4 * block;
    const std::int64_t taken = std::min<std::int64_t>(kElements - skipped, count);
    const bool direct = taken == kElements;
    normal_blocks(seed, stream, static_cast<std::uint64_t>(block), deviation, direct ? out : some);
    if (!direct) std::copy_n(some + skipped, taken, out);
    first += taken;
    count -= taken;
    out += taken;
  }
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void fill_blocks_avx2(std::uint64_t seed, std::uint32_t stream,
                                              double deviation, std::int64_t first,
                                              std::int64_t count, float* out) {
  fill_blocks(seed, stream, deviation, first, count, out);
}
#endif

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{kMultiplier0} * counter[0];
    const std::uint64_t product1 = std::uint64_t{kMultiplier1} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

Distribution initial_distribution(const ModuleTree& tree, ParameterId parameter) {
  const Parameter& p = tree.parameters[static_cast<std::size_t>(parameter)];
  const Module& module = tree.modules[static_cast<std::size_t>(p.module)];
  if (module.kind == ModuleKind::norm) return Distribution::ones;
  return p.is_vector ? Distribution::zeros : Distribution::normal;
}

void fill_normal(std::uint64_t seed, std::uint32_t stream, double deviation, std::int64_t first,
                 std::int64_t count, float* out) {
#if defined(__x86_64__)
  if (instruction_set() >= InstructionSet::avx2) {
    return fill_blocks_avx2(seed, stream, deviation, first, count, out);
  }
#endif
  fill_blocks(seed, stream, deviation, first, count, out);
}

void InitialWeights::fill(const ModuleTree& tree, ParameterId parameter, std::int64_t first,
                          std::int64_t count, float* out) const {
  switch (initial_distribution(tree, parameter)) {
    case Distribution::zeros: std::fill_n(out, count, 0.0f); return;
    case Distribution::ones: std::fill_n(out, count, 1.0f); return;
    case Distribution::normal: break;
  }
  fill_normal(seed, static_cast<std::uint32_t>(parameter), initializer_range, first, count, out);
}

}  // namespace foreshard::executor
