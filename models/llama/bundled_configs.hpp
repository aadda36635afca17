// The configurations that come with the program: published models of Llama's shape by the sizes on
// their model cards, and small ones that train on a CPU.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "models/llama/llama_config.hpp"

namespace foreshard {

struct BundledConfig {
  std::string_view name;
  std::int64_t hidden, intermediate, layers, heads, kv_heads, vocabulary, context;
  double rope_theta;
  double llama3_factor;  // 0: rotary frequencies are not scaled
  bool tied_embeddings;
  ModelFamily family = ModelFamily::llama;
  double rms_norm_eps = 1e-5;
};

std::span<const BundledConfig> bundled_configs();

LlamaConfig expand(const BundledConfig& bundled);

}  // namespace foreshard
