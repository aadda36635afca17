// A model of Llama's shape as Hugging Face's config.json describes it, in the old spelling
// (rope_theta, rope_scaling, torch_dtype) and in transformers 5's (rope_parameters, dtype).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/dtype.hpp"
#include "models/base/error.hpp"
#include "models/llama/model_family.hpp"

namespace foreshard {

// How rotary frequencies are stretched beyond the context a model was trained on. The parameters
// are those of linear and llama3; the other kinds take the same memory and are not computed here.
struct RopeScaling {
  enum class Kind : std::uint8_t { none, linear, llama3, dynamic, yarn, longrope };
  Kind kind = Kind::none;
  double factor = 1.0;
  double low_frequency_factor = 1.0;
  double high_frequency_factor = 4.0;
  double original_context = 8192;

  std::string_view type() const;  // as rope_type spells it
  bool operator==(const RopeScaling&) const = default;
};

struct LlamaConfig {
  std::string name;  // of the bundled model, or of the folder the config was read from
  ModelFamily family = ModelFamily::llama;
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;  // default: hidden / heads
  std::int64_t vocabulary = 0;
  std::int64_t context = 0;  // max_position_embeddings
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000.0;
  RopeScaling rope_scaling;
  bool tied_embeddings = false;
  bool attention_bias = false;  // of q_proj, k_proj and v_proj
  bool output_bias = false;     // of o_proj
  bool mlp_bias = false;
  std::int64_t sliding_window = 0;      // tokens that attention reaches back; 0: all
  std::int64_t first_window_layer = 0;  // layers below it reach back all the way
  double initializer_range = 0.02;

  bool has_window(std::int64_t layer) const {
    return sliding_window != 0 && layer >= first_window_layer;
  }
  // Tokens that a token of a sequence sees in a layer, itself included; 0: all up to itself.
  std::int64_t window(std::int64_t layer, std::int64_t sequence) const {
    return has_window(layer) && sliding_window < sequence ? sliding_window : 0;
  }
  bool has_query_key_norms() const { return traits_of(family).query_key_norms; }
  std::int64_t parameters() const;
  bool operator==(const LlamaConfig&) const = default;
};

// A config file's text; `file` is used in messages only.
Result<LlamaConfig> parse_llama_config(std::string_view json, const std::string& file);

// `model` is a folder with a config.json, a path to such a file, or the name of a bundled config.
Result<LlamaConfig> load_llama_config(const std::string& model);

// The config as Hugging Face spells it today; parse_llama_config reads it back unchanged.
std::string to_json(const LlamaConfig& config);

std::vector<std::string> bundled_models();

}  // namespace foreshard
