// The importer's parts: decimal times, JSON text, annotations.
#include <string>

#include <gtest/gtest.h>

#include "traces/kineto/json/exact_time.hpp"
#include "traces/kineto/json/json_text.hpp"
#include "traces/kineto/recording.hpp"
#include "traces/meaning/annotations.hpp"
#include "traces/meaning/communication.hpp"

namespace foreshard::traces::kineto {
namespace {

std::int64_t nanoseconds(std::string_view text) {
  ExactTime out;
  return parse_time(text, out) ? out.rounded() : -1;
}

TEST(KinetoDecimal, ReadsAllFormsExactly) {
  EXPECT_EQ(nanoseconds("4364157268927.519"), 4'364'157'268'927'519);
  EXPECT_EQ(nanoseconds("1623143093496523"), 1'623'143'093'496'523'000);
  EXPECT_EQ(nanoseconds("1712195495522445.2"), 1'712'195'495'522'445'200);
  EXPECT_EQ(nanoseconds("0.0004999999999"), 0);
  EXPECT_EQ(nanoseconds("0.0005"), 1);
  EXPECT_EQ(nanoseconds("1.23456789"), 1'235);
  EXPECT_EQ(nanoseconds("1.5e3"), 1'500'000);
  EXPECT_EQ(nanoseconds("15E-1"), 1'500);
  EXPECT_EQ(nanoseconds("1.7e+2"), 170'000);
  EXPECT_EQ(nanoseconds("5e-9"), 0);
  EXPECT_EQ(nanoseconds("-0.002"), -2);
  EXPECT_EQ(nanoseconds(".5"), 500);
  for (const char* bad : {"", "-", ".", "abc", "1.2.3", "1e", "1e99", "NaN", "Infinity", "1 2",
                          "99999999999999999999"}) {
    EXPECT_EQ(nanoseconds(bad), -1) << bad;
  }
}

TEST(KinetoDecimal, SumsKeepWhatIsBelowANanosecond) {
  ExactTime start, duration;
  ASSERT_TRUE(parse_time("1.0004", start));
  ASSERT_TRUE(parse_time("2.0004", duration));
  EXPECT_EQ(start.rounded(), 1'000);
  EXPECT_EQ((start + duration).rounded(), 3'001);
}

TEST(KinetoJson, ValuesEndWhereTheirBracketsDo) {
  const std::string text = R"({"a": "}\"{\\", "b": [1, {"c": "]"}]} , 7)";
  EXPECT_EQ(value_end(text, 0), text.find(" , 7"));
  EXPECT_EQ(value_end("12, 3", 0), 2U);
  EXPECT_EQ(value_end("12", 0), kNotThere);
  EXPECT_EQ(value_end(R"("abc)", 0), kNotThere);
  EXPECT_EQ(value_end("[[[]]", 0), kNotThere);
  EXPECT_EQ(value_end("[[[]]]", 0, 4), kNotThere);
}

TEST(KinetoJson, EventsAreFoundByTheirKeys) {
  const std::string text = R"(12 {x}, "args": {"name": "p"}}, { "ph": "X"}, {"cat": 1})";
  EXPECT_EQ(next_event(text, 0), text.find("{ \"ph\""));
  EXPECT_EQ(next_event(text, text.find("{\"cat\"")), text.find("{\"cat\""));
  EXPECT_EQ(next_event(text, text.size() - 3), kNotThere);
  EXPECT_EQ(last_boundary(text), text.find(", {\"cat\""));
  EXPECT_EQ(last_boundary(R"({"name": "f{g}, {h}"})"), kNotThere);
}

TEST(KinetoAnnotations, NameUnitsAndPhases) {
  const auto is = [](std::string_view name, std::string_view unit, std::string_view phase) {
    const Annotation found = annotation_of(name);
    EXPECT_EQ(found.unit, unit) << name;
    EXPECT_EQ(found.phase, phase) << name;
  };
  is("FSDP::pre_forward (layers.0)", "layers.0", "forward");
  is("FSDP::pre_forward", "root", "forward");
  is("FSDP::all_gather (norm, lm_head)", "norm, lm_head", "");
  is("FSDP::all_gather", "root", "");
  is("FSDP::backward_prefetch for layers.3", "layers.3", "backward");
  is("FSDP::post_backward_reduce (a.b)", "a.b", "backward");
  is("FSDP::something_new (a)", "a", "");
  is("FSDP::all_gather (layers.0) [pg=1]", "layers.0", "");
  is("FSDP::post_backward_rs_wait [pg=0]", "root", "backward");
  is("FullyShardedDataParallel._pre_forward", "", "forward");
  is("FullyShardedDataParallel._post_backward_hook", "", "backward");
  is("Optimizer.step#AdamW.step", "", "optimizer");
  is("autograd::engine::evaluate_function: MmBackward0", "", "backward");
  is("aten::mm", "", "");
  EXPECT_EQ(annotation_of("ProfilerStep#12").step, 12);
  EXPECT_EQ(annotation_of("train_step 3").step, 3);
  EXPECT_EQ(annotation_of("iteration_7").step, 7);
  EXPECT_FALSE(annotation_of("epoch 3").step.has_value());
  EXPECT_FALSE(annotation_of("step3").step.has_value());
  EXPECT_FALSE(annotation_of("ProfilerStep#x").step.has_value());
  EXPECT_FALSE(annotation_of("ProfilerStep#99999999999").step.has_value());
}

TEST(Communication, IsKnownByItsLibrariesWords) {
  for (const char* const kernel :
       {"ncclDevKernel_Generic_4(x)", "void RcclKernel", "void mscclKernel_Sum_half_LL",
        "void deep_ep::internode::combine<false, 8>", "void deep_ep::intranode::dispatch<8, 768>",
        "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)",
        "void vllm::cross_device_reduce_1stage<__half, 2>",
        "void one_shot_all_reduce_kernel<float>", "oneccl_allreduce", "nvshmemi_barrier"}) {
    EXPECT_TRUE(is_communication_kernel(kernel)) << kernel;
  }
  for (const char* const kernel : {"gemm", "nc", "void at::native::reduce_kernel<512>",
                                   "void dispatch_expert<4>", "ampere_sgemm_128x64_nn"}) {
    EXPECT_FALSE(is_communication_kernel(kernel)) << kernel;
  }
}

}  // namespace
}  // namespace foreshard::traces::kineto
