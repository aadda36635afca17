// Llamas small enough for a test, by the sizes that tell them apart.
#pragma once

#include "models/llama/llama_config.hpp"

namespace foreshard::tests {

struct Sizes {
  std::int64_t hidden, intermediate, layers, heads, kv_heads, vocabulary;
};

inline LlamaConfig small_llama(const Sizes& sizes) {
  LlamaConfig config;
  config.name = "small";
  config.hidden = sizes.hidden;
  config.intermediate = sizes.intermediate;
  config.layers = sizes.layers;
  config.heads = sizes.heads;
  config.kv_heads = sizes.kv_heads;
  config.head_dim = sizes.hidden / sizes.heads;
  config.vocabulary = sizes.vocabulary;
  config.context = 512;
  return config;
}

}  // namespace foreshard::tests
