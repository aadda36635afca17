// Operators by hand, with arguments in the order of PyTorch's schemas, and what they must cost.
#include "profiler/rehearsal/program/operator_cost.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace foreshard::profiler {
namespace {

TensorArgument tensor(std::vector<std::int64_t> sizes, const char* type = "bfloat16") {
  std::int64_t elements = 1;
  for (const std::int64_t size : sizes) elements *= size;
  return {0, elements, type, std::move(sizes)};
}

std::string cost(const char* name, std::vector<Argument> arguments, std::int64_t allocated = 0,
                 const char* kernel = "void at::native::kernel", int launches = 1) {
  const DeviceCall call;
  return text(
      cost_of({name, "", false, std::move(arguments)}, {call, kernel, launches, allocated}));
}

// Which of the arguments says that later tokens are hidden differs between the kernels.
TEST(OperatorCost, OfAttentionIsHalfWhereLaterTokensAreHidden) {
  const TensorArgument flash = tensor({2, 1024, 8, 64}), heads_first = tensor({2, 8, 1024, 64});
  const Argument none;
  for (const bool is_causal : {false, true}) {
    const std::string forward = is_causal ? "attention" : "attention_full";
    const std::string dims = " bf16 2 1024 8 8 64";
    EXPECT_EQ(
        cost("aten::_flash_attention_forward", {flash, flash, flash, none, none, std::int64_t{1024},
                                                std::int64_t{1024}, none, is_causal, false}),
        forward + dims);
    EXPECT_EQ(cost("aten::_flash_attention_backward",
                   {flash, flash, flash, flash, flash, none, none, none, std::int64_t{1024},
                    std::int64_t{1024}, none, is_causal}),
              forward + "_backward" + dims);
    EXPECT_EQ(cost("aten::_cudnn_attention_forward",
                   {heads_first, heads_first, heads_first, none, none, none, std::int64_t{1024},
                    std::int64_t{1024}, true, none, is_causal, false}),
              forward + dims);
    EXPECT_EQ(cost("aten::_efficient_attention_forward",
                   {flash, flash, flash, none, none, none, none, none, none,
                    std::int64_t{is_causal ? 1 : 0}, true}),
              forward + dims);
    EXPECT_EQ(
        cost("aten::_efficient_attention_backward",
             {flash, flash, flash, flash, none, flash, none, none, std::int64_t{1024},
              std::int64_t{1024}, none, none, none, none, std::int64_t{is_causal ? 1 : 0}, false}),
        forward + "_backward" + dims);
  }
}

TEST(OperatorCost, OfAttentionToAnotherSequenceGoesByBothLengths) {
  const TensorArgument q = tensor({2, 8, 4096, 64}), k = tensor({2, 8, 64, 64});
  EXPECT_EQ(cost("aten::_cudnn_attention_forward", {q, k, k, Argument{}, true, Argument{}, false}),
            "attention_full bf16 2 512 8 8 64");
  EXPECT_EQ(cost("aten::_cudnn_attention_backward", {q, k, q, q, Argument{}, false}),
            "attention_full_backward bf16 2 512 8 8 64");
}

TEST(OperatorCost, OfBitsandbytesIsItsBytes) {
  const char* const kernel = "_Z40kOptimizerStatic8bit2StateBlockwise";
  const TensorArgument whole = tensor({4096}), moments = tensor({4096}, "uint8");
  EXPECT_EQ(cost("bitsandbytes::optimizer_update_8bit_blockwise",
                 {Argument{}, whole, whole, moments, moments}, 0, kernel),
            "memory_bound fp32 24576 16384");
  EXPECT_EQ(cost("bitsandbytes::dequantize_4bit", {tensor({2048}, "uint8")}, 8192, kernel),
            "memory_bound fp32 2048 8192");
  EXPECT_EQ(cost("bitsandbytes::gemv_4bit", {whole}, 8192, kernel), "opaque fp32 0");
}

TEST(OperatorCost, OfListsIsTheSumOfTheirTensors) {
  const std::vector<TensorArgument> list{tensor({10}, "float32"), tensor({20}, "float32")};
  const std::vector<TensorArgument> halves{tensor({10}), tensor({20})};
  EXPECT_EQ(cost("aten::_foreach_addcdiv_", {list, list, list}), "memory_bound fp32 360 120");
  EXPECT_EQ(cost("aten::_foreach_copy_", {halves, list}), "shard_cast bf16,fp32 30");
  EXPECT_EQ(cost("aten::_foreach_copy_", {list, list}), "memory_bound fp32 120 120");
  EXPECT_EQ(cost("aten::_fused_adamw_", {list, halves, list}), "adamw fp32,bf16 30");
  EXPECT_EQ(cost("aten::_chunk_cat",
                 {halves, std::int64_t{0}, std::int64_t{4}, tensor({4, 8}, "float32")}),
            "reduce_scatter_copy_in fp32,bf16 8 4");
}

TEST(OperatorCost, OfConvolutionsAndGroupsIsThatOfProducts) {
  // 4 images of 32 x 32, 16 filters of 3 x 3 x 8.
  EXPECT_EQ(cost("aten::cudnn_convolution", {tensor({4, 8, 32, 32}), tensor({16, 8, 3, 3})},
                 2 * 4 * 16 * 32 * 32, "cudnn"),
            "matmul bf16 4096 16 72");
  EXPECT_EQ(cost("aten::_grouped_mm", {tensor({1024, 64}), tensor({8, 64, 256})}),
            "batched_matmul bf16 8 128 256 64");
}

TEST(OperatorCost, OfSortsCountsTheirPasses) {
  EXPECT_EQ(cost("aten::sort", {tensor({100}, "float32")}, 1200, "at_cuda_detail::cub::Sort", 4),
            "memory_bound fp32 1600 4800");
}

TEST(OperatorCost, OfSomebodysOwnKernelIsUnknownUnlessItIsTritons) {
  EXPECT_EQ(cost("Mine", {tensor({100})}, 200, "_ZN5flash10fwd_kernelE"), "opaque fp32 0");
  EXPECT_EQ(cost("Mine", {tensor({100})}, 200, "_forward_kernel"), "memory_bound fp32 200 200");
  EXPECT_TRUE(is_timed_by_arguments("_forward_kernel"));
  EXPECT_FALSE(is_timed_by_arguments("triton_poi_fused_add_0"));
}

}  // namespace
}  // namespace foreshard::profiler
