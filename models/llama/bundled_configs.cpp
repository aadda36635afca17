#include "models/llama/bundled_configs.hpp"

namespace foreshard {
namespace {

using enum ModelFamily;

// clang-format off
constexpr BundledConfig kConfigs[] = {
    // name            hidden inter. layers heads kv  vocab. context theta llama3 tied family  eps
    {"llama-2-7b",       4096, 11008,  32,   32,  32,  32000,   4096, 1e4,  0, false},
    {"llama-2-13b",      5120, 13824,  40,   40,  40,  32000,   4096, 1e4,  0, false},
    {"llama-2-70b",      8192, 28672,  80,   64,   8,  32000,   4096, 1e4,  0, false},
    {"codellama-34b",    8192, 22016,  48,   64,   8,  32000,  16384, 1e6,  0, false},
    {"llama-3-8b",       4096, 14336,  32,   32,   8, 128256,   8192, 5e5,  0, false},
    {"llama-3-70b",      8192, 28672,  80,   64,   8, 128256,   8192, 5e5,  0, false},
    {"llama-3.1-8b",     4096, 14336,  32,   32,   8, 128256, 131072, 5e5,  8, false},
    {"llama-3.1-70b",    8192, 28672,  80,   64,   8, 128256, 131072, 5e5,  8, false},
    {"llama-3.1-405b",  16384, 53248, 126,  128,   8, 128256, 131072, 5e5,  8, false},
    {"llama-3.2-1b",     2048,  8192,  16,   32,   8, 128256, 131072, 5e5, 32, true},
    {"llama-3.2-3b",     3072,  8192,  28,   24,   8, 128256, 131072, 5e5, 32, true},
    {"llama-3.3-70b",    8192, 28672,  80,   64,   8, 128256, 131072, 5e5,  8, false},
    {"mistral-7b-v0.3",  4096, 14336,  32,   32,   8,  32768,  32768, 1e6,  0, false, mistral},
    {"qwen2.5-0.5b",      896,  4864,  24,   14,   2, 151936,  32768, 1e6,  0, true,  qwen2,  1e-6},
    {"qwen2.5-1.5b",     1536,  8960,  28,   12,   2, 151936, 131072, 1e6,  0, true,  qwen2,  1e-6},
    {"qwen2.5-7b",       3584, 18944,  28,   28,   4, 152064, 131072, 1e6,  0, false, qwen2,  1e-6},
    {"qwen2.5-14b",      5120, 13824,  48,   40,   8, 152064, 131072, 1e6,  0, false, qwen2,  1e-6},
    {"qwen2.5-32b",      5120, 27648,  64,   40,   8, 152064, 131072, 1e6,  0, false, qwen2,  1e-6},
    {"qwen2.5-72b",      8192, 29568,  80,   64,   8, 152064, 131072, 1e6,  0, false, qwen2,  1e-6},
    {"qwen3-0.6b",       1024,  3072,  28,   16,   8, 151936,  40960, 1e6,  0, true,  qwen3,  1e-6},
    {"qwen3-1.7b",       2048,  6144,  28,   16,   8, 151936,  40960, 1e6,  0, true,  qwen3,  1e-6},
    {"qwen3-4b",         2560,  9728,  36,   32,   8, 151936,  40960, 1e6,  0, true,  qwen3,  1e-6},
    {"qwen3-8b",         4096, 12288,  36,   32,   8, 151936,  40960, 1e6,  0, false, qwen3,  1e-6},
    {"qwen3-14b",        5120, 17408,  40,   40,   8, 151936,  40960, 1e6,  0, false, qwen3,  1e-6},
    {"qwen3-32b",        5120, 25600,  64,   64,   8, 151936,  40960, 1e6,  0, false, qwen3,  1e-6},
    {"llama-tiny-3m",     256,   688,   4,    8,   4,    512,   2048, 1e4,  0, false},
    {"llama-small-14m",   384,  1024,   6,    6,   6,   4096,   2048, 1e4,  0, false},
    {"llama-110m",        768,  2048,  12,   12,  12,  32000,   2048, 1e4,  0, true},
};
// clang-format on

}  // namespace

std::span<const BundledConfig> bundled_configs() {
  return kConfigs;
}

LlamaConfig expand(const BundledConfig& bundled) {
  LlamaConfig config;
  config.name = bundled.name;
  config.family = bundled.family;
  config.hidden = bundled.hidden;
  config.intermediate = bundled.intermediate;
  config.layers = bundled.layers;
  config.heads = bundled.heads;
  config.kv_heads = bundled.kv_heads;
  const FamilyTraits& family = traits_of(bundled.family);
  config.head_dim = family.head_dim != 0 ? family.head_dim : bundled.hidden / bundled.heads;
  config.vocabulary = bundled.vocabulary;
  config.context = bundled.context;
  config.rms_norm_eps = bundled.rms_norm_eps;
  config.attention_bias = family.attention_biases == AttentionBiases::query_key_value;
  config.rope_theta = bundled.rope_theta;
  config.tied_embeddings = bundled.tied_embeddings;
  if (bundled.llama3_factor > 0) {
    config.rope_scaling = {RopeScaling::Kind::llama3, bundled.llama3_factor, 1.0, 4.0, 8192};
  }
  return config;
}

}  // namespace foreshard
