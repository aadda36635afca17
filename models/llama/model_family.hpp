// The families of models that are built like Llama. Their blocks differ in three things only: which
// projections have biases, whether queries and keys are normalised, and whether attention is
// limited to a window of tokens. One table holds these differences and the values that transformers
// takes where a config.json is silent.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace foreshard {

enum class ModelFamily : std::uint8_t { llama, mistral, qwen2, qwen3 };

// Biases of the attention's projections: none, as attention_bias in config.json is, or those of
// q_proj, k_proj and v_proj.
enum class AttentionBiases : std::uint8_t { none, configured, query_key_value };

// The window of attention: none, config.json's sliding_window, or the same where
// use_sliding_window is true.
enum class AttentionWindow : std::uint8_t { none, always, where_used };

struct FamilyTraits {
  ModelFamily family;
  std::string_view model_type;    // of config.json
  std::string_view class_prefix;  // of transformers' classes
  std::int64_t kv_heads = 0;      // where config.json has none; 0: as many as heads
  std::int64_t head_dim = 0;      // likewise; 0: hidden / heads
  std::int64_t context = 0;       // likewise
  AttentionBiases attention_biases = AttentionBiases::none;
  bool mlp_bias = false;  // whether config.json has that key
  bool query_key_norms = false;
  AttentionWindow window = AttentionWindow::none;
};

std::span<const FamilyTraits> model_families();

const FamilyTraits& traits_of(ModelFamily family);

// The class of Llama in whose place a class of the family stands: "LlamaDecoderLayer" for qwen3's
// "Qwen3DecoderLayer". Other names are returned as they are.
std::string llama_class(ModelFamily family, std::string_view class_name);

}  // namespace foreshard
