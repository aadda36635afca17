#include "executor/device/processor.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

namespace foreshard::executor {
namespace {

using Sets = std::vector<InstructionSet>;
using enum InstructionSet;
using Vendor = Processor::Vendor;

constexpr Processor kOld{.vendor = Vendor::intel, .family = 6};
constexpr Processor kHaswell{.vendor = Vendor::intel, .family = 6, .has_avx2 = true};
constexpr Processor kSkylakeServer{
    .vendor = Vendor::intel, .family = 6, .has_avx2 = true, .has_avx512 = true};
constexpr Processor kCooperLake{.vendor = Vendor::intel,
                                .family = 6,
                                .has_avx2 = true,
                                .has_avx512 = true,
                                .has_avx512_bf16 = true};
constexpr Processor kSapphireRapids{.vendor = Vendor::intel,
                                    .family = 6,
                                    .has_avx2 = true,
                                    .has_avx512 = true,
                                    .has_avx512_bf16 = true,
                                    .has_amx_bf16 = true};
constexpr Processor kZen3{.vendor = Vendor::amd, .family = 0x19, .has_avx2 = true};
constexpr Processor kZen5{.vendor = Vendor::amd,
                          .family = 0x1a,
                          .has_avx2 = true,
                          .has_avx512 = true,
                          .has_avx512_bf16 = true};

TEST(Processor, PrefersWhatIsFastThere) {
  EXPECT_EQ(instruction_sets(kOld), (Sets{baseline}));
  EXPECT_EQ(instruction_sets(kHaswell), (Sets{avx2, baseline}));
  EXPECT_EQ(instruction_sets(kSkylakeServer), (Sets{avx512, avx2, baseline}));
  EXPECT_EQ(instruction_sets(kCooperLake), (Sets{avx512, avx512_bf16, avx2, baseline}));
  EXPECT_EQ(instruction_sets(kSapphireRapids), (Sets{amx, avx512, avx512_bf16, avx2, baseline}));
  EXPECT_EQ(instruction_sets(kZen3), (Sets{avx2, baseline}));
  EXPECT_EQ(instruction_sets(kZen5), (Sets{avx512_bf16, avx512, avx2, baseline}));
}

// Pairs of bf16 on processors nobody has measured: not before what is known to be fast.
TEST(Processor, DoesNotTrustPairsOfUnknownProcessors) {
  Processor unknown = kZen5;
  unknown.vendor = Vendor::other;
  EXPECT_EQ(instruction_sets(unknown), (Sets{avx512, avx512_bf16, avx2, baseline}));
  EXPECT_FALSE(has_fast_bf16(unknown, avx512_bf16));
}

// A virtual machine may hide what others build on.
TEST(Processor, RunsNothingWhosePartsAreMissing) {
  Processor hidden = kSapphireRapids;
  hidden.has_avx512 = false;
  EXPECT_EQ(instruction_sets(hidden), (Sets{avx2, baseline}));
  hidden = kZen5;
  hidden.has_avx2 = false;
  EXPECT_EQ(instruction_sets(hidden), (Sets{baseline}));
}

TEST(Processor, KnowsWhereBf16IsFast) {
  EXPECT_TRUE(has_fast_bf16(kSapphireRapids, amx));
  EXPECT_FALSE(has_fast_bf16(kSapphireRapids, avx512_bf16));
  EXPECT_FALSE(has_fast_bf16(kSapphireRapids, avx512));
  EXPECT_TRUE(has_fast_bf16(kZen5, avx512_bf16));
  EXPECT_FALSE(has_fast_bf16(kZen5, avx512));
  EXPECT_FALSE(has_fast_bf16(kHaswell, avx2));
}

TEST(Processor, AUserMayForceOneItHas) {
  EXPECT_EQ(choose_instruction_set(kSapphireRapids, ""), amx);
  EXPECT_EQ(choose_instruction_set(kSapphireRapids, "avx512"), avx512);
  EXPECT_EQ(choose_instruction_set(kOld, "baseline"), baseline);
  const auto missing = choose_instruction_set(kZen5, "amx");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().text(),
            "FORESHARD_SIMD: 'amx' is not available on this processor; expected one of "
            "avx512_bf16, avx512, avx2, baseline");
  const auto unknown = choose_instruction_set(kHaswell, "AVX-9");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().text(),
            "FORESHARD_SIMD: 'AVX-9' is not an instruction set; expected one of avx2, baseline");
}

TEST(Processor, ThisOneRunsAtLeastTheBaseline) {
  const Sets here = instruction_sets(this_processor());
  EXPECT_EQ(here.back(), baseline);
  if (std::getenv("FORESHARD_SIMD") == nullptr) {
    EXPECT_EQ(instruction_set(), here.front());
  }
}

}  // namespace
}  // namespace foreshard::executor
