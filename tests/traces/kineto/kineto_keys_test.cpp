// Cost keys by the arguments of operators, copies and collectives.
#include <string>

#include <gtest/gtest.h>

#include "traces/kineto/costs/arguments.hpp"
#include "traces/kineto/costs/operator_keys.hpp"
#include "traces/kineto/costs/transfer_keys.hpp"

namespace foreshard::traces::kineto {
namespace {

struct Call {
  std::string_view name, dims, types, values = "", strides = "";
};

std::string key_of(const Call& call) {
  RawEvent event;
  event.name = call.name;
  event.input_dims = call.dims;
  event.input_types = call.types;
  event.concrete_inputs = call.values;
  event.input_strides = call.strides;
  const KeyRule rule = key_rule(event.name);
  const auto found = rule == nullptr ? std::nullopt : rule(Arguments(event));
  return found ? text(found->key) : "none";
}

constexpr const char* kTwoFloats = R"(["float", "float"])";

TEST(KinetoKeys, MatrixProducts) {
  EXPECT_EQ(key_of({"aten::mm", "[[5, 7], [7, 9]]", kTwoFloats}), "matmul fp32 5 9 7");
  EXPECT_EQ(key_of({"aten::mm", "[[5, 7], [7, 9]]", R"(["c10::Half", "c10::Half"])"}),
            "matmul fp16 5 9 7");
  EXPECT_EQ(key_of({"aten::addmm", "[[9], [5, 7], [7, 9], [], []]",
                    R"(["double", "double", "double", "Scalar", "Scalar"])"}),
            "matmul fp64 5 9 7 1");
  EXPECT_EQ(key_of({"aten::bmm", "[[2, 5, 7], [2, 7, 9]]", kTwoFloats}),
            "batched_matmul fp32 2 5 9 7");
  EXPECT_EQ(key_of({"aten::bmm", "[[1, 5, 7], [1, 7, 9]]", kTwoFloats}), "matmul fp32 5 9 7");
  EXPECT_EQ(key_of({"aten::baddbmm", "[[2, 5, 9], [2, 5, 7], [2, 7, 9], [], []]",
                    R"(["float", "float", "float", "Scalar", "Scalar"])", R"(["","","","1","1"])"}),
            "batched_matmul fp32 2 5 9 7 1");
}

TEST(KinetoKeys, ProductsOfEightBitsSayWhatTheyWrite) {
  const std::string_view dims = "[[16, 64], [64, 32], [16, 1], [1, 32], [], [], [], []]";
  const std::string_view types =
      R"(["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float", "", "", "Scalar", "Scalar"])";
  EXPECT_EQ(key_of({"aten::_scaled_mm", dims, types, R"(["", "", "", "", "", "", "15", "True"])"}),
            "matmul fp8,bf16 16 32 64");
  EXPECT_EQ(key_of({"aten::_scaled_mm", dims, types}), "none");
}

TEST(KinetoKeys, ProductsThatDoNotFitHaveNone) {
  EXPECT_EQ(key_of({"aten::mm", "[[5, 7], [8, 9]]", kTwoFloats}), "none");
  EXPECT_EQ(key_of({"aten::mm", "[[5, 7], [7, 9]]", R"(["float", "double"])"}), "none");
  EXPECT_EQ(key_of({"aten::mm", "[[5, 7], [7, 9]]", R"(["QInt8", "QInt8"])"}), "none");
  EXPECT_EQ(key_of({"aten::mm", "[[5, 7], [7", kTwoFloats}), "none");
  EXPECT_EQ(key_of({"aten::mm", "[[0, 7], [7, 9]]", kTwoFloats}), "none");
  EXPECT_EQ(key_of({"aten::mm", "[[99999999999, 99999999999], [99999999999, 9]]", kTwoFloats}),
            "none");
}

constexpr std::string_view kFlashDims =
    "[[2, 32, 64, 16], [2, 8, 64, 16], [2, 8, 64, 16], [], [], [], []]";
constexpr std::string_view kFlashTypes =
    R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar", "Scalar", "Scalar"])";

std::string flash(std::string_view values) {
  return key_of({"aten::_scaled_dot_product_flash_attention", kFlashDims, kFlashTypes, values});
}

TEST(KinetoKeys, AttentionIsCausalOrNotAsTheRecordingSays) {
  EXPECT_EQ(flash(R"(["", "", "", "0.", "True", "False", "0.25"])"), "attention bf16 2 64 32 8 16");
  EXPECT_EQ(flash(R"(["", "", "", "0.", "False", "False", "0.25"])"),
            "attention_full bf16 2 64 32 8 16");
  EXPECT_EQ(flash(""), "none");
  EXPECT_EQ(flash(R"(["", "", "", "0.1", "True", "False", "0.25"])"), "none");  // dropout
}

TEST(KinetoKeys, AttentionInOtherLayoutsAndBackward) {
  const std::string_view types =
      R"(["c10::Half", "c10::Half", "c10::Half", "c10::Half", "c10::Half", "float", "", ""])";
  EXPECT_EQ(key_of({"aten::_flash_attention_backward",
                    "[[2, 64, 32, 16], [2, 64, 32, 16], [2, 64, 8, 16], [2, 64, 8, 16], "
                    "[2, 64, 32, 16], [2, 32, 64], [], [], [], [], [], []]",
                    types, R"(["", "", "", "", "", "", "", "", "64", "64", "0.", "True"])"}),
            "attention_backward fp16 2 64 32 8 16");
  const std::string_view masked =
      "[[2, 4, 64, 16], [2, 4, 64, 16], [2, 4, 64, 16], [2, 1, 64, 64], [], [], []]";
  const std::string_view values = R"(["", "", "", "", "True", "0.", "False"])";
  const std::string_view with_mask = R"(["float", "float", "float", "float"])";
  EXPECT_EQ(key_of({"aten::_scaled_dot_product_efficient_attention", masked, with_mask, values}),
            "none");
  EXPECT_EQ(key_of({"aten::_scaled_dot_product_efficient_attention",
                    "[[2, 4, 64, 16], [2, 4, 64, 16], [2, 4, 64, 16], [], [], [], []]",
                    R"(["float", "float", "float", "", "Scalar", "Scalar", "Scalar"])", values}),
            "attention_full fp32 2 64 4 4 16");
}

std::string library(std::string_view window) {
  const std::string values =
      R"(["", "", "", "0.", "0.25", "True", )" + std::string(window) + R"(, "0.", "", "False"])";
  return key_of({"flash_attn::_flash_attn_forward",
                 "[[2, 64, 4, 16], [2, 64, 4, 16], [2, 64, 4, 16], [], [], [], [], [], [], [], []]",
                 R"(["c10::Half", "c10::Half", "c10::Half"])", values});
}

TEST(KinetoKeys, AttentionWithAWindowHasNone) {
  EXPECT_EQ(library(R"("-1", "-1")"), "attention fp16 2 64 4 4 16");
  EXPECT_EQ(library(R"("-1", "0")"), "attention fp16 2 64 4 4 16");
  EXPECT_EQ(library(R"("32", "0")"), "none");
}

TEST(KinetoKeys, WhatProgramsOfModelsLaunch) {
  EXPECT_EQ(key_of({"aten::embedding", "[[100, 8], [4, 6], []]", R"(["float", "long int"])"}),
            "embedding fp32 24 100 8");
  EXPECT_EQ(key_of({"aten::embedding_dense_backward", "[[4, 6, 8], [4, 6], [], [], []]",
                    R"(["c10::BFloat16", "long int", "Scalar"])", R"(["", "", "100", "-1"])"}),
            "embedding_backward bf16 24 100 8");
  EXPECT_EQ(key_of({"aten::_fused_rms_norm", "[[2, 3, 8], [], [8], []]",
                    R"(["float", "ScalarList", "float", "Scalar"])"}),
            "rms_norm fp32 6 8");
  EXPECT_EQ(key_of({"aten::add", "[[2, 3], [2, 3], []]", R"(["c10::BFloat16", "float", "Scalar"])",
                    R"(["", "", "1"])"}),
            "add fp32,bf16 6");
  EXPECT_EQ(key_of({"aten::copy_", "[[2, 3], [2, 3], []]", R"(["c10::BFloat16", "float", ""])"}),
            "cast bf16,fp32 6");
  EXPECT_EQ(key_of({"aten::zero_", "[[2, 3]]", R"(["double"])"}), "fill_zero fp32 48");
  EXPECT_EQ(key_of({"fsdp::all_gather_copy_in", "[[[4], [6]], [40], [], [], []]",
                    R"(["TensorList", "c10::BFloat16", "ScalarList", "Scalar", "Scalar"])",
                    R"(["", "", "[4, 6]", "10", "0"])"}),
            "all_gather_copy_in bf16 10 4");
  EXPECT_EQ(
      key_of({"aten::split_with_sizes_copy", "[[4, 10], [], [], [[4, 4], [4, 6]]]",
              R"(["float", "ScalarList", "Scalar", "TensorList"])", R"(["", "[4, 6]", "1", ""])"}),
      "all_gather_copy_out fp32 10 4");
}

TEST(KinetoKeys, ElementwiseOperatorsCountTheirBytes) {
  EXPECT_EQ(key_of({"aten::mul", "[[8], [2, 3, 8]]", R"(["c10::BFloat16", "c10::BFloat16"])"}),
            "memory_bound fp32 112 96");
  EXPECT_EQ(key_of({"aten::mul", "[[2, 1], [4]]", R"(["c10::Half", "c10::BFloat16"])"}),
            "memory_bound fp32 12 32");
  EXPECT_EQ(key_of({"aten::mul_", "[[2, 8], [8]]", R"(["c10::BFloat16", "float"])"}),
            "memory_bound fp32 64 32");
  EXPECT_EQ(key_of({"aten::add", "[[2, 8], [], []]", R"(["float", "double", "Scalar"])"}),
            "memory_bound fp32 64 64");
  EXPECT_EQ(key_of({"aten::lt", "[[2, 8], [2, 8]]", kTwoFloats}), "memory_bound fp32 128 16");
  EXPECT_EQ(key_of({"aten::mul", "[[2, 3], [2, 4]]", kTwoFloats}), "none");
  EXPECT_EQ(key_of({"aten::mul", "[[2, 3], [2, 3]]", R"(["long int", "long int"])"}), "none");
  // The result given along is not read.
  EXPECT_EQ(key_of({"aten::clamp_min", "[[4], [], [4]]", R"(["float", "Int", "float"])"}),
            "memory_bound fp32 16 16");
}

TEST(KinetoKeys, ReductionsNeedToKnowOverWhat) {
  const std::string_view dims = "[[2, 3, 8], [], [], []]";
  const std::string_view types = R"(["float", "ScalarList", "Scalar", ""])";
  EXPECT_EQ(key_of({"aten::mean", dims, types, R"(["", "[-1]", "True", ""])"}),
            "memory_bound fp32 192 24");
  EXPECT_EQ(key_of({"aten::sum", dims, types, R"(["", "[]", "False", ""])"}),
            "memory_bound fp32 192 4");
  EXPECT_EQ(key_of({"aten::sum", dims, types, R"(["", "[3]", "False", ""])"}), "none");
  EXPECT_EQ(key_of({"aten::sum", dims, types}), "none");
}

TEST(KinetoKeys, SoftmaxAndNorms) {
  EXPECT_EQ(key_of({"aten::_log_softmax", "[[4, 8], [], []]", R"(["c10::BFloat16"])",
                    R"(["", "1", "True"])"}),
            "memory_bound fp32 64 128");
  EXPECT_EQ(key_of({"aten::_log_softmax_backward_data", "[[4, 8], [4, 8], [], []]",
                    R"(["float", "float", "Scalar", "Scalar"])", R"(["", "", "1", "15"])"}),
            "memory_bound fp32 256 64");
  EXPECT_EQ(key_of({"aten::native_layer_norm", "[[4, 8], [], [8], [8], []]",
                    R"(["float", "ScalarList", "float", "float", "Scalar"])"}),
            "memory_bound fp32 192 160");
}

TEST(KinetoKeys, ListsOfTensorsHaveNoTypesAndSoNoKey) {
  EXPECT_EQ(key_of({"aten::cat", "[[[2, 3], [2, 3]], []]", R"(["TensorList", "Scalar"])"}), "none");
  EXPECT_EQ(key_rule("aten::_fused_adamw_"), nullptr);
  EXPECT_EQ(key_rule("aten::linear"), nullptr);  // its parts have theirs
}

TEST(KinetoKeys, CollectivesCountTheirLargerSide) {
  RawEvent event;
  event.collective = "_reduce_scatter_base";
  event.element_type = "Float";
  event.in_elements = 800;
  event.out_elements = 100;
  event.group_size = 8;
  EXPECT_EQ(text(*collective_key(event)), "reduce_scatter fp32 3200 8");
  event.element_type = "Half";
  EXPECT_EQ(text(*collective_key(event)), "reduce_scatter fp16 1600 8");
  event.element_type = "Byte";
  EXPECT_EQ(collective_bytes(event), 800);
  EXPECT_FALSE(collective_key(event));
}

TEST(KinetoKeys, Copies) {
  EXPECT_EQ(text(*copy_key("Memcpy DtoD (Device -> Device)", 8)), "copy_device_to_device fp32 8");
  EXPECT_EQ(text(*copy_key("Memcpy DtoH (Device -> Pinned)", 8)), "copy_device_to_host fp32 8");
  EXPECT_FALSE(copy_key("Memcpy PtoP (Device -> Device)", 8));
  EXPECT_FALSE(copy_key("Memcpy DtoD (Device -> Device)", 0));
}

}  // namespace
}  // namespace foreshard::traces::kineto
