// Which instruction set this process computes with: of those its processor has, the one that is
// fastest for training there, or the one that FORESHARD_SIMD names.
//
// The choice follows from what the processor is, never from timing, because the bits of a result
// depend on it: sums over lanes and pairs are added in another order.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/base/error.hpp"

namespace foreshard::executor {

enum class InstructionSet : std::uint8_t {
  baseline,  // what the program was built for: SSE2 on x86-64, NEON on aarch64
  avx2,
  avx512,
  avx512_bf16,  // and products of pairs of bf16
  amx           // and products of tiles of bf16
};

std::string_view name(InstructionSet set);

struct Processor {
  enum class Vendor : std::uint8_t { other, intel, amd };
  Vendor vendor = Vendor::other;
  int family = 0;           // as CPUID counts, extended family included
  bool has_avx2 = false;    // with fused multiply-add
  bool has_avx512 = false;  // F, BW, VL and DQ
  bool has_avx512_bf16 = false;
  bool has_amx_bf16 = false;  // tiles and their bf16 products, which the system lets us use
};

// What CPUID and the system report; requests once the permission to use tiles.
const Processor& this_processor();

// Those it can run, the fastest for training first. AVX512_BF16 multiplies bf16 at twice the rate of
// fp32 on AMD from Zen 4 on, but at half of it on Intel (measured on Sapphire Rapids: 87 against 160
// GFLOP/s a core), where widening to fp32 is faster.
std::vector<InstructionSet> instruction_sets(const Processor& processor);

// Whether bf16 is multiplied faster than fp32 there.
bool has_fast_bf16(const Processor& processor, InstructionSet set);

// The one called `wanted`, or the fastest where that is empty. An error names those to choose from.
Result<InstructionSet> choose_instruction_set(const Processor& processor, std::string_view wanted);

// What FORESHARD_SIMD selects on this processor; the same on every call.
const Result<InstructionSet>& requested_instruction_set();

// The one this process uses. Throws std::invalid_argument where FORESHARD_SIMD is wrong, which
// programs find out beforehand from requested_instruction_set().
InstructionSet instruction_set();

}  // namespace foreshard::executor
