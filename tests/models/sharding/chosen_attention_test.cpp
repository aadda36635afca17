// The choices that torch._fused_sdp_choice of PyTorch 2.11 makes, asked on devices of these capabilities.
#include "models/sharding/chosen_attention.hpp"

#include <gtest/gtest.h>

namespace foreshard {
namespace {

AttentionCall on(int compute_capability) {
  AttentionCall call;
  call.compute_capability = compute_capability;
  return call;
}

AttentionKernel kernel(const AttentionCall& call) {
  return chosen_attention(call).kernel;
}

TEST(ChosenAttention, PrefersCudnnOnHopperAndBlackwellOfDataCentersFrom211On) {
  EXPECT_EQ(kernel(on(90)), AttentionKernel::cudnn);
  EXPECT_EQ(kernel(on(100)), AttentionKernel::cudnn);
  EXPECT_EQ(chosen_attention(on(90)).reason, "PyTorch 2.11's first choice on sm_90");
  for (const int other : {80, 86, 89, 120}) {
    EXPECT_EQ(kernel(on(other)), AttentionKernel::flash) << other;
  }
  AttentionCall older = on(90);
  older.version = {2, 10};
  EXPECT_EQ(kernel(older), AttentionKernel::flash);
  AttentionCall deterministic = on(90);
  deterministic.is_deterministic = true;
  EXPECT_EQ(kernel(deterministic), AttentionKernel::flash);
}

TEST(ChosenAttention, TakesSingleOperatorsInBf16BeforeAmpere) {
  AttentionCall call = on(75);
  EXPECT_EQ(kernel(call), AttentionKernel::math);
  EXPECT_EQ(chosen_attention(call).reason,
            "flash attention needs sm_80, memory-efficient attention takes bf16 from sm_80 on");
  call.type = DType::fp32;
  EXPECT_EQ(kernel(call), AttentionKernel::efficient);
  call.is_grouped = true;
  EXPECT_EQ(kernel(call), AttentionKernel::math);
}

TEST(ChosenAttention, LooksAtTheSizeOfHeads) {
  const auto of_size = [](int capability, std::int64_t size, bool is_grouped, bool has_mask) {
    AttentionCall call = on(capability);
    call.head_size = size;
    call.is_grouped = is_grouped;
    call.has_mask = has_mask;
    return kernel(call);
  };
  EXPECT_EQ(of_size(90, 100, false, false), AttentionKernel::flash);
  EXPECT_EQ(of_size(90, 100, false, true), AttentionKernel::math);
  EXPECT_EQ(of_size(90, 256, true, true), AttentionKernel::cudnn);
  EXPECT_EQ(of_size(100, 136, true, false), AttentionKernel::flash);
  EXPECT_EQ(of_size(100, 136, false, true), AttentionKernel::efficient);
  EXPECT_EQ(of_size(80, 264, false, false), AttentionKernel::efficient);
  EXPECT_EQ(of_size(80, 264, true, false), AttentionKernel::math);
  EXPECT_EQ(of_size(86, 200, false, false), AttentionKernel::efficient);
  EXPECT_EQ(of_size(86, 256, false, false), AttentionKernel::flash);
}

TEST(ChosenAttention, GivesMasksToTheMemoryEfficientKernel) {
  AttentionCall call = on(80);
  call.has_mask = true;
  EXPECT_EQ(kernel(call), AttentionKernel::efficient);
  call.is_grouped = true;
  EXPECT_EQ(kernel(call), AttentionKernel::math);
  call.version = {2, 14};
  EXPECT_EQ(kernel(call), AttentionKernel::efficient);
}

TEST(ChosenAttention, FallsBackFromTheKernelThatAPlanNames) {
  AttentionCall call = on(90);
  call.backend = AttentionBackend::flash;
  EXPECT_EQ(kernel(call), AttentionKernel::flash);
  EXPECT_EQ(chosen_attention(call).reason, "as pytorch.attention demands");
  call.has_mask = true;
  EXPECT_EQ(kernel(call), AttentionKernel::efficient);
  EXPECT_EQ(chosen_attention(call).reason, "flash attention takes no mask");
  call.backend = AttentionBackend::efficient;
  call.is_grouped = true;
  EXPECT_EQ(kernel(call), AttentionKernel::math);
}

TEST(ChosenAttention, PadsHeadsForTheFlashKernelAlone) {
  EXPECT_EQ(padded_head_size(AttentionKernel::flash, 100), 104);
  EXPECT_EQ(padded_head_size(AttentionKernel::flash, 104), 104);
  EXPECT_EQ(padded_head_size(AttentionKernel::efficient, 100), 100);
}

}  // namespace
}  // namespace foreshard
