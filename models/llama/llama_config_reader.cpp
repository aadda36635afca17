// parse_llama_config: from JSON to LlamaConfig, every value checked before anything is computed
// from it. The bounds are far above any published model and low enough that byte counts of a model
// and its training state stay inside 64 bits.
#include <cstdint>
#include <optional>

#include <nlohmann/json.hpp>

#include "models/base/json_limits.hpp"
#include "models/base/utf8.hpp"
#include "models/llama/config_fields.hpp"
#include "models/llama/llama_config.hpp"

namespace foreshard {
namespace {

constexpr int kMaxNesting = 64;
constexpr std::int64_t kMaxWidth = 1 << 20;  // of any dimension: hidden, intermediate, vocabulary
constexpr std::int64_t kMaxLayers = 10'000;
constexpr std::int64_t kMaxContext = std::int64_t{1} << 32;
constexpr double kMaxParameters = 1e14;

RopeScaling::Kind rope_kind(const std::string& type, const std::string& spelling,
                            ConfigFields& rope) {
  using Kind = RopeScaling::Kind;
  for (const Kind kind :
       {Kind::none, Kind::linear, Kind::llama3, Kind::dynamic, Kind::yarn, Kind::longrope}) {
    if (RopeScaling{kind}.type() == type) return kind;
  }
  rope.wrong(spelling,
             "is \"" + type + "\"; expected default, linear, dynamic, yarn, longrope or llama3");
  return Kind::none;
}

// Old spelling: rope_theta beside rope_scaling {type | rope_type, ...} or null. Transformers 5:
// rope_parameters {rope_theta, rope_type, ...}.
void read_rope(const Json& json, ConfigFields& fields, LlamaConfig& config, const std::string& file,
               std::optional<Error>& error) {
  config.rope_theta = fields.number("rope_theta", 1.0, 1e15, 10000.0);
  const std::string key = fields.find("rope_parameters") ? "rope_parameters" : "rope_scaling";
  const Json* rope = fields.find(key);
  if (rope == nullptr) return;
  if (!rope->is_object()) {
    fields.wrong(key, "is " + shown(*rope) + "; expected an object with a rope_type");
    return;
  }
  ConfigFields inner(json.at(key), key + ".", file, error);
  config.rope_theta = inner.number("rope_theta", 1.0, 1e15, config.rope_theta);
  inner.only("partial_rotary_factor", 1.0);
  const std::string spelling = inner.find("rope_type") ? "rope_type" : "type";
  const std::string type = inner.string(spelling, "default");
  RopeScaling& scaling = config.rope_scaling;
  using Kind = RopeScaling::Kind;
  scaling.kind = rope_kind(type, spelling, inner);
  const bool is_computed = scaling.kind == Kind::linear || scaling.kind == Kind::llama3;
  if (scaling.kind != Kind::none) {
    scaling.factor = inner.number("factor", 1.0, 1e6,
                                  is_computed ? std::nullopt : std::optional(scaling.factor));
  }
  if (scaling.kind == Kind::llama3) {
    scaling.low_frequency_factor = inner.number("low_freq_factor", 1e-6, 1e6);
    scaling.high_frequency_factor = inner.number("high_freq_factor", 1e-6, 1e6);
    scaling.original_context =
        static_cast<double>(inner.integer("original_max_position_embeddings", 1, kMaxContext));
    if (scaling.high_frequency_factor <= scaling.low_frequency_factor) {
      inner.wrong("high_freq_factor", "is not above low_freq_factor; expected a larger number");
    }
  }
}

const FamilyTraits* family_of(const std::string& model_type) {
  for (const FamilyTraits& family : model_families()) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

// The family, if this is a model for causal language modelling, computed the way we compute it.
ModelFamily read_architecture(ConfigFields& fields) {
  const std::string type = fields.string("model_type", "");
  const FamilyTraits* family = family_of(type);
  if (family == nullptr) {
    fields.wrong("model_type", (type.empty() ? "is missing" : "is \"" + type + "\"") +
                                   "; expected \"llama\", \"mistral\", \"qwen2\" or \"qwen3\"");
    return ModelFamily::llama;
  }
  if (const Json* architectures = fields.find("architectures")) {
    const std::string expected = std::string(family->class_prefix) + "ForCausalLM";
    const bool causal =
        architectures->is_array() && architectures->size() == 1 &&
        ((*architectures)[0] == expected ||
         (family->family == ModelFamily::llama && (*architectures)[0] == "LLaMAForCausalLM"));
    if (!causal) {
      fields.wrong("architectures",
                   "is " + shown(*architectures) + "; expected [\"" + expected + "\"]");
    }
  }
  fields.only("hidden_act", "silu");
  fields.only("attention_dropout", 0.0);
  if (const Json* quantization = fields.find("quantization_config")) {
    fields.wrong("quantization_config",
                 "is " + shown(*quantization) + "; expected weights that are not quantised");
  }
  return family->family;
}

void read_sizes(ConfigFields& fields, LlamaConfig& config) {
  const FamilyTraits& family = traits_of(config.family);
  config.hidden = fields.integer("hidden_size", 1, kMaxWidth);
  config.intermediate = fields.integer("intermediate_size", 1, kMaxWidth);
  config.layers = fields.integer("num_hidden_layers", 1, kMaxLayers);
  config.heads = fields.integer("num_attention_heads", 1, kMaxWidth);
  const bool has_default_kv_heads = family.kv_heads != 0 && !fields.has("num_key_value_heads");
  config.kv_heads = fields.integer("num_key_value_heads", 1, kMaxWidth,
                                   has_default_kv_heads ? family.kv_heads : config.heads);
  config.vocabulary = fields.integer("vocab_size", 1, kMaxWidth);
  config.context = fields.integer("max_position_embeddings", 1, kMaxContext, family.context);

  if (config.heads % config.kv_heads != 0) {
    fields.wrong("num_key_value_heads", "is " + std::to_string(config.kv_heads) +
                                            "; expected a divisor of num_attention_heads, " +
                                            std::to_string(config.heads));
  }
  const bool has_default_head_dim = family.head_dim != 0 && !fields.has("head_dim");
  if (fields.find("head_dim") == nullptr && !has_default_head_dim &&
      config.hidden % config.heads != 0) {
    fields.wrong("num_attention_heads",
                 "is " + std::to_string(config.heads) + "; expected a divisor of hidden_size, " +
                     std::to_string(config.hidden) + ", as no head_dim is given");
  }
  config.head_dim =
      fields.integer("head_dim", 1, kMaxWidth,
                     has_default_head_dim ? family.head_dim : config.hidden / config.heads);
  if (config.head_dim % 2 != 0) {
    fields.wrong("head_dim", "is " + std::to_string(config.head_dim) +
                                 "; expected an even number, which rotary embeddings need");
  }
  if (config.heads * config.head_dim > kMaxWidth) {
    fields.wrong("head_dim", "times num_attention_heads is " +
                                 std::to_string(config.heads * config.head_dim) +
                                 "; expected at most " + std::to_string(kMaxWidth));
  }
}

// The first layer with a window, all after which have one: by layer_types where config.json has them, else
// by max_window_layers.
std::int64_t first_window_layer(ConfigFields& fields, std::int64_t layers) {
  constexpr std::int64_t kDefaultFullLayers = 28;
  const Json* const types = fields.find("layer_types");
  if (types == nullptr) {
    return fields.integer("max_window_layers", 0, kMaxLayers, kDefaultFullLayers);
  }
  const std::string expected =
      "expected a list of num_hidden_layers words, first \"full_attention\", then "
      "\"sliding_attention\"";
  if (!types->is_array() || types->size() != static_cast<std::size_t>(layers)) {
    fields.wrong("layer_types", "is another list; " + expected);
    return 0;
  }
  std::int64_t first = layers;
  for (std::size_t i = 0; i < types->size(); ++i) {
    const bool is_sliding = (*types)[i] == "sliding_attention";
    if (is_sliding && first == layers) first = static_cast<std::int64_t>(i);
    if (!is_sliding && ((*types)[i] != "full_attention" || first != layers)) {
      fields.wrong("layer_types", "has " + shown((*types)[i]) + " at layer " + std::to_string(i) +
                                      "; " + expected);
      return 0;
    }
  }
  return first;
}

// Biases and window, by the keys that the family has.
void read_attention(ConfigFields& fields, LlamaConfig& config) {
  constexpr std::int64_t kDefaultWindow = 4096;
  const FamilyTraits& family = traits_of(config.family);
  config.output_bias = family.attention_biases == AttentionBiases::configured &&
                       fields.flag("attention_bias", false);
  config.attention_bias =
      config.output_bias || family.attention_biases == AttentionBiases::query_key_value;
  config.mlp_bias = family.mlp_bias && fields.flag("mlp_bias", false);
  const bool has_window =
      family.window == AttentionWindow::always ||
      (family.window == AttentionWindow::where_used && fields.flag("use_sliding_window", false));
  if (has_window) {
    config.sliding_window = fields.integer("sliding_window", 1, kMaxContext,
                                           fields.has("sliding_window") ? 0 : kDefaultWindow);
  }
  if (config.sliding_window != 0 && family.window == AttentionWindow::where_used) {
    config.first_window_layer = first_window_layer(fields, config.layers);
  }
}

}  // namespace

Result<LlamaConfig> parse_llama_config(std::string_view text, const std::string& file) {
  if (const std::string excess = json_excess(text, kMaxNesting); !excess.empty()) {
    return fail(file, "", excess + "; expected a Llama model config (JSON)");
  }
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    return fail(file, line_and_column(text, error.byte),
                "is not valid JSON; expected a Llama model config (JSON)");
  } catch (const Json::exception&) {
    return fail(file, "", "has a number beyond the range of JSON; expected a Llama model config");
  }
  if (!json.is_object())
    return fail(file, "", "is not a JSON object; expected a Llama model config (JSON)");

  std::optional<Error> error;
  ConfigFields fields(json, "", file, error);
  LlamaConfig config;
  config.name = fields.string("_name_or_path", "");
  config.family = read_architecture(fields);
  read_sizes(fields, config);
  config.rms_norm_eps = fields.number("rms_norm_eps", 0.0, 1.0, config.rms_norm_eps);
  config.initializer_range = fields.number("initializer_range", 0.0, 1e3, 0.02);
  config.tied_embeddings = fields.flag("tie_word_embeddings", false);
  read_attention(fields, config);
  read_rope(json, fields, config, file, error);
  if (error) return tl::unexpected(*error);

  // The bounds above allow 8e16; 16 bytes of training state for each of those would be near 2^63.
  if (static_cast<double>(config.parameters()) > kMaxParameters) {
    return fail(file, "num_hidden_layers",
                "results in a model of " + shown(config.parameters()) +
                    " parameters; expected at most 1e14");
  }
  return config;
}

}  // namespace foreshard
