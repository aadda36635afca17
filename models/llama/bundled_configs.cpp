#include "models/llama/bundled_configs.hpp"

#include <array>

namespace foreshard {
namespace {

// clang-format off
constexpr std::array kConfigs = {
    //             name             hidden  inter. layers heads  kv  vocab.  context  theta  llama3  tied
    BundledConfig{"llama-2-7b",      4096,  11008,  32,   32,   32,  32000,   4096,    1e4,   0,  false},
    BundledConfig{"llama-2-13b",     5120,  13824,  40,   40,   40,  32000,   4096,    1e4,   0,  false},
    BundledConfig{"llama-2-70b",     8192,  28672,  80,   64,    8,  32000,   4096,    1e4,   0,  false},
    BundledConfig{"codellama-34b",   8192,  22016,  48,   64,    8,  32000,  16384,    1e6,   0,  false},
    BundledConfig{"llama-3-8b",      4096,  14336,  32,   32,    8, 128256,   8192,    5e5,   0,  false},
    BundledConfig{"llama-3-70b",     8192,  28672,  80,   64,    8, 128256,   8192,    5e5,   0,  false},
    BundledConfig{"llama-3.1-8b",    4096,  14336,  32,   32,    8, 128256, 131072,    5e5,   8,  false},
    BundledConfig{"llama-3.1-70b",   8192,  28672,  80,   64,    8, 128256, 131072,    5e5,   8,  false},
    BundledConfig{"llama-3.1-405b", 16384,  53248, 126,  128,    8, 128256, 131072,    5e5,   8,  false},
    BundledConfig{"llama-3.2-1b",    2048,   8192,  16,   32,    8, 128256, 131072,    5e5,  32,  true},
    BundledConfig{"llama-3.2-3b",    3072,   8192,  28,   24,    8, 128256, 131072,    5e5,  32,  true},
    BundledConfig{"llama-3.3-70b",   8192,  28672,  80,   64,    8, 128256, 131072,    5e5,   8,  false},
    BundledConfig{"llama-tiny-3m",    256,    688,   4,    8,    4,    512,   2048,    1e4,   0,  false},
    BundledConfig{"llama-small-14m",  384,   1024,   6,    6,    6,   4096,   2048,    1e4,   0,  false},
    BundledConfig{"llama-110m",       768,   2048,  12,   12,   12,  32000,   2048,    1e4,   0,  true},
};
// clang-format on

}  // namespace

std::span<const BundledConfig> bundled_configs() {
  return kConfigs;
}

LlamaConfig expand(const BundledConfig& bundled) {
  LlamaConfig config;
  config.name = bundled.name;
  config.hidden = bundled.hidden;
  config.intermediate = bundled.intermediate;
  config.layers = bundled.layers;
  config.heads = bundled.heads;
  config.kv_heads = bundled.kv_heads;
  config.head_dim = bundled.hidden / bundled.heads;
  config.vocabulary = bundled.vocabulary;
  config.context = bundled.context;
  config.rms_norm_eps = 1e-5;
  config.rope_theta = bundled.rope_theta;
  config.tied_embeddings = bundled.tied_embeddings;
  if (bundled.llama3_factor > 0) {
    config.rope_scaling = {RopeScaling::Kind::llama3, bundled.llama3_factor, 1.0, 4.0, 8192};
  }
  return config;
}

}  // namespace foreshard
