// parse_llama_config: from JSON to LlamaConfig, every value checked before anything is computed
// from it. The bounds are far above any published model and low enough that byte counts of a model
// and its training state stay inside 64 bits.
#include <cstdint>
#include <optional>

#include <nlohmann/json.hpp>

#include "models/base/json_limits.hpp"
#include "models/base/json_text.hpp"
#include "models/base/utf8.hpp"
#include "models/llama/llama_config.hpp"

namespace foreshard {
namespace {

using Json = nlohmann::json;

constexpr int kMaxNesting = 64;
constexpr std::int64_t kMaxWidth = 1 << 20;  // of any dimension: hidden, intermediate, vocabulary
constexpr std::int64_t kMaxLayers = 10'000;
constexpr std::int64_t kMaxContext = std::int64_t{1} << 32;
constexpr double kMaxParameters = 1e14;

std::string shown(const Json& value) {
  return excerpt(json_text(value));
}

// Reads fields of one JSON object and remembers the first thing wrong with any of them.
class Fields {
 public:
  Fields(const Json& object, std::string prefix, const std::string& file,
         std::optional<Error>& error)
      : object_(object), prefix_(std::move(prefix)), file_(file), error_(error) {}

  // The field's value, or nothing when it is missing or null.
  const Json* find(const std::string& key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  std::int64_t integer(const std::string& key, std::int64_t least, std::int64_t most,
                       std::optional<std::int64_t> fallback = {}) {
    const std::string expected =
        "an integer from " + std::to_string(least) + " to " + std::to_string(most);
    const Json* value = find(key);
    if (value == nullptr) return missing(key, expected, fallback);
    const bool fits = value->is_number_unsigned()
                          ? value->get<std::uint64_t>() <= static_cast<std::uint64_t>(most)
                          : value->is_number_integer();
    if (fits && value->get<std::int64_t>() >= least && value->get<std::int64_t>() <= most) {
      return value->get<std::int64_t>();
    }
    wrong(key, "is " + shown(*value) + "; expected " + expected);
    return least;
  }

  double number(const std::string& key, double least, double most,
                std::optional<double> fallback = {}) {
    const std::string expected = "a number from " + shown(least) + " to " + shown(most);
    const Json* value = find(key);
    if (value == nullptr) return missing(key, expected, fallback);
    if (value->is_number()) {
      const double number = value->get<double>();
      if (number >= least && number <= most) return number;
    }
    wrong(key, "is " + shown(*value) + "; expected " + expected);
    return least;
  }

  bool flag(const std::string& key, bool fallback) {
    const Json* value = find(key);
    if (value == nullptr) return fallback;
    if (value->is_boolean()) return value->get<bool>();
    wrong(key, "is " + shown(*value) + "; expected true or false");
    return fallback;
  }

  std::string string(const std::string& key, const std::string& fallback) {
    const Json* value = find(key);
    if (value == nullptr) return fallback;
    if (value->is_string()) return value->get<std::string>();
    wrong(key, "is " + shown(*value) + "; expected a string");
    return fallback;
  }

  // Fails unless the field is absent or equal to what this project computes with.
  void only(const std::string& key, const Json& allowed) {
    const Json* value = find(key);
    if (value != nullptr && *value != allowed) {
      wrong(key, "is " + shown(*value) + ", which is not supported; expected " + shown(allowed));
    }
  }

  void wrong(const std::string& key, const std::string& message) {
    if (!error_) error_ = Error{file_, prefix_ + key, message};
  }

 private:
  template <typename T>
  T missing(const std::string& key, const std::string& expected, std::optional<T> fallback) {
    if (!fallback) wrong(key, "is missing; expected " + expected);
    return fallback.value_or(T{1});
  }

  const Json& object_;
  std::string prefix_;
  const std::string& file_;
  std::optional<Error>& error_;
};

// Old spelling: rope_theta beside rope_scaling {type | rope_type, ...} or null. Transformers 5:
// rope_parameters {rope_theta, rope_type, ...}.
void read_rope(const Json& json, Fields& fields, LlamaConfig& config, const std::string& file,
               std::optional<Error>& error) {
  config.rope_theta = fields.number("rope_theta", 1.0, 1e15, 10000.0);
  const std::string key = fields.find("rope_parameters") ? "rope_parameters" : "rope_scaling";
  const Json* rope = fields.find(key);
  if (rope == nullptr) return;
  if (!rope->is_object()) {
    fields.wrong(key, "is " + shown(*rope) + "; expected an object with a rope_type");
    return;
  }
  Fields inner(json.at(key), key + ".", file, error);
  config.rope_theta = inner.number("rope_theta", 1.0, 1e15, config.rope_theta);
  inner.only("partial_rotary_factor", 1.0);
  const std::string spelling = inner.find("rope_type") ? "rope_type" : "type";
  const std::string type = inner.string(spelling, "default");
  RopeScaling& scaling = config.rope_scaling;
  if (type == "linear" || type == "llama3") {
    scaling.kind = type == "linear" ? RopeScaling::Kind::linear : RopeScaling::Kind::llama3;
    scaling.factor = inner.number("factor", 1.0, 1e6);
  } else if (type != "default") {
    inner.wrong(spelling, "is \"" + type + "\"; expected default, linear or llama3");
  }
  if (type == "llama3") {
    scaling.low_frequency_factor = inner.number("low_freq_factor", 1e-6, 1e6);
    scaling.high_frequency_factor = inner.number("high_freq_factor", 1e-6, 1e6);
    scaling.original_context =
        static_cast<double>(inner.integer("original_max_position_embeddings", 1, kMaxContext));
    if (scaling.high_frequency_factor <= scaling.low_frequency_factor) {
      inner.wrong("high_freq_factor", "is not above low_freq_factor; expected a larger number");
    }
  }
}

// Whether this is a Llama for causal language modelling, computed the way we compute it.
void check_architecture(Fields& fields) {
  const std::string type = fields.string("model_type", "");
  if (type != "llama") {
    fields.wrong("model_type",
                 (type.empty() ? "is missing" : "is \"" + type + "\"") + "; expected \"llama\"");
  }
  if (const Json* architectures = fields.find("architectures")) {
    const bool causal =
        architectures->is_array() && architectures->size() == 1 &&
        ((*architectures)[0] == "LlamaForCausalLM" || (*architectures)[0] == "LLaMAForCausalLM");
    if (!causal) {
      fields.wrong("architectures",
                   "is " + shown(*architectures) + "; expected [\"LlamaForCausalLM\"]");
    }
  }
  fields.only("hidden_act", "silu");
  fields.only("attention_dropout", 0.0);
  if (const Json* quantization = fields.find("quantization_config")) {
    fields.wrong("quantization_config",
                 "is " + shown(*quantization) + "; expected weights that are not quantised");
  }
}

void read_sizes(Fields& fields, LlamaConfig& config) {
  config.hidden = fields.integer("hidden_size", 1, kMaxWidth);
  config.intermediate = fields.integer("intermediate_size", 1, kMaxWidth);
  config.layers = fields.integer("num_hidden_layers", 1, kMaxLayers);
  config.heads = fields.integer("num_attention_heads", 1, kMaxWidth);
  config.kv_heads = fields.integer("num_key_value_heads", 1, kMaxWidth, config.heads);
  config.vocabulary = fields.integer("vocab_size", 1, kMaxWidth);
  config.context = fields.integer("max_position_embeddings", 1, kMaxContext, 2048);

  if (config.heads % config.kv_heads != 0) {
    fields.wrong("num_key_value_heads", "is " + std::to_string(config.kv_heads) +
                                            "; expected a divisor of num_attention_heads, " +
                                            std::to_string(config.heads));
  }
  if (fields.find("head_dim") == nullptr && config.hidden % config.heads != 0) {
    fields.wrong("num_attention_heads",
                 "is " + std::to_string(config.heads) + "; expected a divisor of hidden_size, " +
                     std::to_string(config.hidden) + ", as no head_dim is given");
  }
  config.head_dim = fields.integer("head_dim", 1, kMaxWidth, config.hidden / config.heads);
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
  Fields fields(json, "", file, error);
  LlamaConfig config;
  config.name = fields.string("_name_or_path", "");
  check_architecture(fields);
  read_sizes(fields, config);
  config.rms_norm_eps = fields.number("rms_norm_eps", 0.0, 1.0, config.rms_norm_eps);
  config.initializer_range = fields.number("initializer_range", 0.0, 1e3, 0.02);
  config.tied_embeddings = fields.flag("tie_word_embeddings", false);
  config.attention_bias = fields.flag("attention_bias", false);
  config.mlp_bias = fields.flag("mlp_bias", false);
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
