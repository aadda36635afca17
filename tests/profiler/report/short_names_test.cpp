// Names as torch.profiler and Nsight Systems write them, as a person would say them.
#include "profiler/report/short_names.hpp"

#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "profiler/report/format.hpp"

namespace foreshard::profiler {
namespace {

TEST(ShortName, OfElementwiseKernelsSaysWhatTheyDo) {
  EXPECT_EQ(short_name("void at::native::detail::chunk_cat_cuda_kernel<float, c10::BFloat16>("
                       "c10::BFloat16**, float*, long*)"),
            "chunk_cat_cuda_kernel<fp32>");
  EXPECT_EQ(short_name("void at::native::vectorized_elementwise_kernel<4, "
                       "at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int, "
                       "at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)"),
            "vectorized_elementwise_kernel<CUDAFunctor_add bf16>");
  EXPECT_EQ(
      short_name("void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<"
                 "at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, "
                 "at::native::binary_internal::MulFunctor<float> > >(at::TensorIteratorBase&, "
                 "at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, "
                 "at::native::binary_internal::MulFunctor<float> > const&)::{lambda(int)#1}>(int)"),
      "elementwise_kernel<MulFunctor bf16>");
  EXPECT_EQ(
      short_name(
          "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl<"
          "at::native::(anonymous namespace)::direct_copy_kernel_cuda("
          "at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#12}::"
          "operator()() const::{lambda(c10::Half)#1}>(at::TensorIteratorBase&, "
          "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2} "
          "const&)::{lambda(int)#1}>(int, at::native::gpu_kernel_impl<int>::{lambda(int)#1})"),
      "elementwise_kernel<direct_copy fp16>");
  EXPECT_EQ(short_name("void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous "
                       "namespace)::silu_kernel(at::TensorIteratorBase&)::{lambda()#1}::operator()"
                       "() const::{lambda()#6}::operator()() const::{lambda(c10::BFloat16)#1}, "
                       "std::array<char*, 2ul> >(int)"),
            "vectorized_elementwise_kernel<silu bf16>");
}

// The same from Nsight Systems, which writes casts and numbers its lambdas.
TEST(ShortName, OfNsightSystemsIsTheSame) {
  EXPECT_EQ(short_name("void at::native::elementwise_kernel<(int)128, (int)2, void "
                       "at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda("
                       "at::TensorIteratorBase &)::[lambda() (instance 3)]::operator ()() const::"
                       "[lambda() (instance 7)]::operator ()() const::[lambda(float) (instance "
                       "1)]>(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>"
                       "(int, T3)"),
            "elementwise_kernel<direct_copy fp32>");
  EXPECT_EQ(short_name("void at::native::vectorized_elementwise_kernel<(int)4, void at::native::"
                       "<unnamed>::pow_tensor_scalar_kernel_impl<float, float>("
                       "at::TensorIteratorBase &, T2)::[lambda(float) (instance 1)], "
                       "std::array<char *, (unsigned long)2>>(int, T2, T3)"),
            "vectorized_elementwise_kernel<pow_tensor_scalar fp32>");
}

TEST(ShortName, OfReductionsAndForeachSaysWhatTheyDo) {
  EXPECT_EQ(short_name("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
                       "at::native::MeanOps<float, float, float, float>, unsigned int, float, 4> "
                       ">(at::native::ReduceOp<float, at::native::MeanOps<float, float> >)"),
            "reduce_kernel<MeanOps fp32>");
  EXPECT_EQ(short_name("void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::BFloat16, "
                       "at::native::func_wrapper_t<c10::BFloat16, at::native::sum_functor<"
                       "c10::BFloat16, float, c10::BFloat16>::operator()(at::TensorIterator&)::"
                       "{lambda(float, float)#1}>, unsigned int, c10::BFloat16, 4> >(int)"),
            "reduce_kernel<sum_functor bf16>");
  EXPECT_EQ(short_name("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<"
                       "at::native::(anonymous namespace)::TensorListMetadata<2>, at::native::"
                       "(anonymous namespace)::UnaryOpFunctor<float, 2, 1, 1>, "
                       "at::native::Sqrt<float> >(at::native::Sqrt<float>)"),
            "multi_tensor_apply_kernel<UnaryOpFunctor Sqrt fp32>");
}

TEST(ShortName, OfLibrariesIsTheirOwn) {
  EXPECT_EQ(short_name("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4>"
                       "(cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4::Params)"),
            "cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4");
  EXPECT_EQ(short_name("void cutlass::device_kernel<deep::gemm::fp8_ptp128c::GemmKernel>("
                       "deep::gemm::fp8_ptp128c::GemmKernel::Params)"),
            "cutlass::device_kernel<fp8_ptp128c::GemmKernel>");
  EXPECT_EQ(short_name("void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, "
                       "false, false, cutlass::bfloat16_t> >(flash::Flash_fwd_params)"),
            "flash::flash_fwd_kernel<bf16>");
  EXPECT_EQ(short_name("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize"
                       "1x1x1_execute_segment_k_off_kernel__5x_cublas"),
            "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x12…");
  EXPECT_EQ(short_name("ncclDevKernel_SendRecv(ncclDevComm*, unsigned long)"),
            "ncclDevKernel_SendRecv");
  EXPECT_EQ(short_name("std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, "
                       "void>::type vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(int)"),
            "vllm::fused_add_rms_norm_kernel<bf16>");
  EXPECT_EQ(short_name("_ZN2at6native54_GLOBAL__N__d8ceb000_21_DistributionNormal_cu_17e44f7d43"
                       "distribution_elementwise_grid_stride_kernelIfLi4EZNS0_9templates4cuda"),
            "distribution_elementwise_grid_stride_kernel");
  EXPECT_EQ(short_name("triton_poi_fused_add_bitwise_and_bitwise_not_bitwise_or_ge_lt_mul_sub_0"),
            "triton_poi_fused_add_bitwise_and_bitwise_not_bi…ul_sub_0");
}

TEST(ShortName, OfTheHostStaysWhole) {
  for (const char* name :
       {"aten::_scaled_dot_product_flash_attention_for_cpu", "matmul", "Optimizer.step#AdamW.step",
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter", "FSDP::pre_forward (layers.0)",
        "Memcpy HtoD (Pageable -> Device)", "Torch-Compiled Region: 0/1", "(", ")", "<", "void ",
        "_Z", "_ZN9999999999999999999999a", ""}) {
    EXPECT_EQ(short_name(name), name);
  }
  EXPECT_EQ(short_name("autograd::engine::evaluate_function: MmBackward0"),
            "autograd: MmBackward0");
  EXPECT_EQ(short_name("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"),
            "autograd: AccumulateGrad");
  EXPECT_EQ(short_name("äöüäöü", 4), "äöü…") << "characters, not bytes";
}

TEST(ShortNames, TellApartWhatWouldLookTheSame) {
  // As much as is needed where that fits, the difference where it does not.
  EXPECT_EQ(short_names({"void ep::dispatch<false, 8, true, 8>(int4*)", "matmul",
                         "void ep::dispatch<false, 8, false, 8>(int4*)", "matmul"}),
            (std::vector<std::string>{"ep::dispatch<false, 8, true, 8>", "matmul",
                                      "ep::dispatch<false, 8, false, 8>", "matmul"}));
  const std::string before = "void at::native::vectorized_elementwise_kernel<",
                    after = ", at::native::FillFunctor<float>, std::array<char*, 1ul> >(int)";
  EXPECT_EQ(short_names({before + "2" + after, before + "4" + after}),
            (std::vector<std::string>{"vectorized_elementwise_kernel<FillFunctor fp32> [2]",
                                      "vectorized_elementwise_kernel<FillFunctor fp32> [4]"}));
  EXPECT_EQ(short_names({"kernel(int)", "kernel(long)"}),
            (std::vector<std::string>{"kernel [int]", "kernel [long]"}));
}

RC_GTEST_PROP(ShortNames, AreShortAndDistinctWhateverTheNames, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::vector<std::string>>>(
      rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
          "void ", "at::native::", "elementwise_kernel", "<", ">", "(", ")", ", ", "float",
          "::", "(anonymous namespace)", "MulFunctor", "{lambda(int)#1}", "4", "_Z", "N2at", "-",
          "ä", "operator()", "autograd::engine::evaluate_function: ", " ", "triton_")));
  std::vector<std::string> names;
  for (const auto& name : pieces) {
    names.emplace_back();
    for (const std::string& piece : name) names.back() += piece;
  }
  const std::vector<std::string> texts = short_names(names, 40);
  RC_ASSERT(texts.size() == names.size());
  for (const std::string& text : texts) RC_ASSERT(width(text) <= 40u);
  RC_ASSERT(std::set(names.begin(), names.end()).size() ==
            std::set(texts.begin(), texts.end()).size());
}

}  // namespace
}  // namespace foreshard::profiler
