// The Llama configurations that come with the program: the published family by the sizes on its
// model cards, and small ones that train on a CPU.
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
};

std::span<const BundledConfig> bundled_configs();

LlamaConfig expand(const BundledConfig& bundled);

}  // namespace foreshard
