#include "executor/device/processor.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace foreshard::executor {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"baseline", "avx2", "avx512", "avx512_bf16",
                                                    "amx"};
constexpr const char* kSimdVariable = "FORESHARD_SIMD";

#if defined(__x86_64__)

Processor::Vendor vendor_named(const std::string& vendor) {
  if (vendor == "GenuineIntel") return Processor::Vendor::intel;
  if (vendor == "AuthenticAMD") return Processor::Vendor::amd;
  return Processor::Vendor::other;
}

// Linux grants the state of tiles, which is large, to processes that request it.
bool may_use_tiles() {
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

bool has_tile_products() {
  constexpr unsigned kBf16 = 1U << 22, kTiles = 1U << 24;  // leaf 7, EDX
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  return (d & kBf16) != 0 && (d & kTiles) != 0 && may_use_tiles();
}

Processor detect() {
  Processor p;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) != 0) {
    std::string vendor;
    for (const unsigned word : {b, d, c}) {
      for (int byte = 0; byte < 4; ++byte) vendor += static_cast<char>(word >> (8 * byte) & 0xffU);
    }
    p.vendor = vendor_named(vendor);
  }
  if (__get_cpuid(1, &a, &b, &c, &d) != 0) {
    const unsigned family = a >> 8 & 0xfU;
    p.family = static_cast<int>(family == 0xfU ? family + (a >> 20 & 0xffU) : family);
  }
  __builtin_cpu_init();
  p.has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  p.has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  p.has_avx512_bf16 = __builtin_cpu_supports("avx512bf16");
  p.has_amx_bf16 = has_tile_products();
  return p;
}

#else

Processor detect() {
  return {};
}

#endif

bool multiplies_pairs_fast(const Processor& p) {
  constexpr int kZen4 = 0x19;  // the first family whose members may have AVX512_BF16
  return p.vendor == Processor::Vendor::amd && p.family >= kZen4;
}

}  // namespace

std::string_view name(InstructionSet set) {
  return kNames[static_cast<std::size_t>(set)];
}

const Processor& this_processor() {
  static const Processor processor = detect();
  return processor;
}

std::vector<InstructionSet> instruction_sets(const Processor& p) {
  using enum InstructionSet;
  const bool runs_avx512 = p.has_avx2 && p.has_avx512;
  const bool runs_pairs = runs_avx512 && p.has_avx512_bf16;
  const bool prefers_pairs = multiplies_pairs_fast(p);
  std::vector<InstructionSet> sets;
  if (runs_avx512 && p.has_amx_bf16) sets.push_back(amx);
  if (runs_pairs && prefers_pairs) sets.push_back(avx512_bf16);
  if (runs_avx512) sets.push_back(avx512);
  if (runs_pairs && !prefers_pairs) sets.push_back(avx512_bf16);
  if (p.has_avx2) sets.push_back(avx2);
  sets.push_back(baseline);
  return sets;
}

bool has_fast_bf16(const Processor& processor, InstructionSet set) {
  return set == InstructionSet::amx ||
         (set == InstructionSet::avx512_bf16 && multiplies_pairs_fast(processor));
}

Result<InstructionSet> choose_instruction_set(const Processor& processor, std::string_view wanted) {
  const std::vector<InstructionSet> sets = instruction_sets(processor);
  if (wanted.empty()) return sets.front();
  const auto found = std::find_if(sets.begin(), sets.end(),
                                  [wanted](InstructionSet set) { return name(set) == wanted; });
  if (found != sets.end()) return *found;
  const bool is_known = std::find(kNames.begin(), kNames.end(), wanted) != kNames.end();
  std::string expected;
  for (const InstructionSet set : sets) {
    expected += (expected.empty() ? "" : ", ") + std::string(name(set));
  }
  return fail(
      "", kSimdVariable,
      "'" + std::string(wanted) +
          (is_known ? "' is not available on this processor" : "' is not an instruction set") +
          "; expected one of " + expected);
}

const Result<InstructionSet>& requested_instruction_set() {
  static const Result<InstructionSet> requested = [] {
    const char* wanted = std::getenv(kSimdVariable);
    return choose_instruction_set(this_processor(), wanted == nullptr ? "" : wanted);
  }();
  return requested;
}

InstructionSet instruction_set() {
  const Result<InstructionSet>& requested = requested_instruction_set();
  if (!requested) throw std::invalid_argument(requested.error().text());
  return *requested;
}

}  // namespace foreshard::executor
