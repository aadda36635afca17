// The matrix products of a 14 M parameter Llama's linear layers, one sequence of 512 tokens: hidden
// 384, feed-forward 1024, vocabulary 4096.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "models/program/operators.hpp"

namespace foreshard::executor {

struct LinearProduct {
  std::string layer;
  Operator op;
  CostDims dims;
};

inline std::vector<LinearProduct> linear_products() {
  constexpr std::int64_t T = 512, D = 384, F = 1024, V = 4096;
  struct Layer {
    const char* name;
    std::int64_t out, in;
  };
  std::vector<LinearProduct> all;
  for (const auto& [name, out, in] :
       {Layer{"q", D, D}, {"gate", F, D}, {"down", D, F}, {"head", V, D}}) {
    all.push_back({name, Operator::matmul, {T, out, in, 0}});
    all.push_back({name, Operator::matmul_input_gradient, {T, in, out, 0}});
    all.push_back({name, Operator::matmul_weight_gradient, {out, in, T}});
  }
  return all;
}

}  // namespace foreshard::executor
