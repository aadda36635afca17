#include "models/llama/llama_config.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include <nlohmann/json.hpp>

#include "models/base/json_text.hpp"
#include "models/base/nearest_names.hpp"
#include "models/base/text_file.hpp"

namespace foreshard {
namespace {

// The configurations that come with the program: published models of Llama's shape by the sizes on
// their model cards, and small ones that train on a CPU.

struct BundledConfig {
  std::string_view name;
  std::int64_t hidden, intermediate, layers, heads, kv_heads, vocabulary, context;
  double rope_theta;
  double llama3_factor;  // 0: rotary frequencies are not scaled
  bool tied_embeddings;
  ModelFamily family = ModelFamily::llama;
  double rms_norm_eps = 1e-5;
};

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

constexpr std::array<std::string_view, 6> kRopeTypes = {"default", "linear", "llama3",
                                                        "dynamic", "yarn",   "longrope"};

// The keys that only some families have.
void add_family_keys(const LlamaConfig& config, nlohmann::ordered_json& json) {
  const FamilyTraits& family = traits_of(config.family);
  if (family.attention_biases == AttentionBiases::configured) {
    json["attention_bias"] = config.output_bias;
  }
  if (family.mlp_bias) json["mlp_bias"] = config.mlp_bias;
  if (family.window == AttentionWindow::where_used) {
    json["use_sliding_window"] = config.sliding_window != 0;
  }
  if (config.sliding_window != 0) {
    json["sliding_window"] = config.sliding_window;
    if (family.window == AttentionWindow::where_used) {
      json["max_window_layers"] = config.first_window_layer;
    }
  } else if (family.window == AttentionWindow::always) {
    json["sliding_window"] = nullptr;
  }
}

}  // namespace

std::string_view RopeScaling::type() const {
  return kRopeTypes[static_cast<std::size_t>(kind)];
}

std::int64_t LlamaConfig::parameters() const {
  const std::int64_t query = heads * head_dim, key = kv_heads * head_dim;
  std::int64_t layer = hidden * (2 * query + 2 * key) + 3 * hidden * intermediate + 2 * hidden;
  if (attention_bias) layer += query + 2 * key;
  if (output_bias) layer += hidden;
  if (mlp_bias) layer += 2 * intermediate + hidden;
  if (has_query_key_norms()) layer += 2 * head_dim;
  const std::int64_t embeddings = (tied_embeddings ? 1 : 2) * vocabulary * hidden;
  return embeddings + layers * layer + hidden;
}

std::vector<std::string> bundled_models() {
  std::vector<std::string> names;
  for (const BundledConfig& config : bundled_configs()) names.emplace_back(config.name);
  return names;
}

Result<LlamaConfig> load_llama_config(const std::string& model) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path path(model);
  if (fs::is_directory(path, error)) {
    path /= "config.json";
  } else if (!fs::exists(path, error)) {
    const std::vector<std::string> names = bundled_models();
    for (const BundledConfig& config : bundled_configs()) {
      if (config.name == model) return expand(config);
    }
    return fail(model, "",
                "is neither a folder, a file nor a bundled model; expected a folder with a "
                "config.json, such a file, or a name that `foreshard list models` prints" +
                    did_you_mean(nearest_names(model, names)));
  }

  Result<std::string> text = read_text_file(path.string(), "a Llama model's config.json");
  if (!text) return tl::unexpected(text.error());
  Result<LlamaConfig> config = parse_llama_config(*text, path.string());
  if (config)
    config->name = fs::absolute(path).lexically_normal().parent_path().filename().string();
  return config;
}

std::string to_json(const LlamaConfig& config) {
  nlohmann::ordered_json rope = {{"rope_theta", config.rope_theta},
                                 {"rope_type", config.rope_scaling.type()}};
  const RopeScaling& scaling = config.rope_scaling;
  if (scaling.kind != RopeScaling::Kind::none) rope["factor"] = scaling.factor;
  if (scaling.kind == RopeScaling::Kind::llama3) {
    rope["low_freq_factor"] = scaling.low_frequency_factor;
    rope["high_freq_factor"] = scaling.high_frequency_factor;
    // Hugging Face holds a count of tokens here, ours is the double the formula divides by.
    rope["original_max_position_embeddings"] = std::llround(scaling.original_context);
  }
  const FamilyTraits& family = traits_of(config.family);
  nlohmann::ordered_json json = {
      {"_name_or_path", config.name},
      {"architectures", {std::string(family.class_prefix) + "ForCausalLM"}},
      {"model_type", family.model_type},
      {"hidden_size", config.hidden},
      {"intermediate_size", config.intermediate},
      {"num_hidden_layers", config.layers},
      {"num_attention_heads", config.heads},
      {"num_key_value_heads", config.kv_heads},
      {"head_dim", config.head_dim},
      {"vocab_size", config.vocabulary},
      {"max_position_embeddings", config.context},
      {"hidden_act", "silu"},
      {"rms_norm_eps", config.rms_norm_eps},
      {"rope_parameters", rope},
      {"tie_word_embeddings", config.tied_embeddings},
      {"initializer_range", config.initializer_range},
      {"dtype", "float32"},
  };
  add_family_keys(config, json);
  return json_text(json, 2) + "\n";
}

}  // namespace foreshard
