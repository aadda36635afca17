#include "models/llama/llama_config.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "models/base/json_text.hpp"
#include "models/base/nearest_names.hpp"
#include "models/base/text_file.hpp"
#include "models/llama/bundled_configs.hpp"

namespace foreshard {
namespace {

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
