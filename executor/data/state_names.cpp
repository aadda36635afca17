#include "executor/data/state_names.hpp"

#include <algorithm>

namespace foreshard::executor {
namespace {

struct Names {
  std::string_view transformers, torchtitan;
};

constexpr Names kOutside[] = {{"model.embed_tokens.weight", "tok_embeddings.weight"},
                              {"model.norm.weight", "norm.weight"},
                              {"lm_head.weight", "output.weight"}};
// Behind the number of the layer.
constexpr Names kInLayers[] = {
    {"self_attn.q_proj.weight", "attention.wq.weight"},
    {"self_attn.k_proj.weight", "attention.wk.weight"},
    {"self_attn.v_proj.weight", "attention.wv.weight"},
    {"self_attn.o_proj.weight", "attention.wo.weight"},
    {"self_attn.q_norm.weight", "attention.q_norm.weight"},
    {"self_attn.k_norm.weight", "attention.k_norm.weight"},
    {"mlp.gate_proj.weight", "feed_forward.w1.weight"},
    {"mlp.down_proj.weight", "feed_forward.w2.weight"},
    {"mlp.up_proj.weight", "feed_forward.w3.weight"},
    {"input_layernorm.weight", "attention_norm.weight"},
    {"post_attention_layernorm.weight", "ffn_norm.weight"},
};
constexpr std::string_view kRoles[] = {"exp_avg", "exp_avg_sq", "momentum_buffer", "step"};
constexpr std::string_view kLayers = "layers.";

// Whether a name is `tail`, or stands under something.
bool ends_in(std::string_view name, std::string_view tail) {
  return name == tail || (name.ends_with(tail) && name[name.size() - tail.size() - 1] == '.');
}

// "layers.3.mlp.up_proj.weight" is number "3" and rest "mlp.up_proj.weight".
struct InLayer {
  std::string_view number, rest;
};
std::optional<InLayer> in_layer(std::string_view name) {
  const auto layers = name.rfind(kLayers);
  if (layers == name.npos || (layers > 0 && name[layers - 1] != '.')) return std::nullopt;
  const std::string_view behind = name.substr(layers + kLayers.size());
  const auto dot = behind.find('.');
  const bool is_numbered = dot != behind.npos && dot > 0 &&
                           behind.substr(0, dot).find_first_not_of("0123456789") == behind.npos;
  if (!is_numbered) return std::nullopt;
  return InLayer{behind.substr(0, dot), behind.substr(dot + 1)};
}

// Any parameter in a layer that has transformers' names, such as a bias.
bool has_transformers_name(std::string_view rest) {
  return rest.starts_with("self_attn.") || rest.starts_with("mlp.") ||
         rest.starts_with("input_layernorm.") || rest.starts_with("post_attention_layernorm.");
}

std::optional<KnownState> known_parameter(std::string_view name) {
  if (const auto layer = in_layer(name)) {
    const std::string front = "model.layers." + std::string(layer->number) + ".";
    for (const Names& names : kInLayers) {
      if (layer->rest != names.torchtitan) continue;
      return KnownState{front + std::string(names.transformers), "parameter",
                        StateNames::torchtitan};
    }
    if (!has_transformers_name(layer->rest)) return std::nullopt;
    return KnownState{front + std::string(layer->rest)};
  }
  for (const Names& names : kOutside) {
    if (ends_in(name, names.transformers)) return KnownState{std::string(names.transformers)};
  }
  for (const Names& names : kOutside) {
    if (!ends_in(name, names.torchtitan)) continue;
    return KnownState{std::string(names.transformers), "parameter", StateNames::torchtitan};
  }
  return std::nullopt;
}

}  // namespace

std::optional<KnownState> known_state(std::string_view name) {
  std::string_view role = "parameter";
  for (const std::string_view known : kRoles) {
    if (!ends_in(name, known) || name == known) continue;
    role = known;
    name.remove_suffix(known.size() + 1);
    break;
  }
  auto found = known_parameter(name);
  if (found) found->role = role;
  return found;
}

std::optional<std::string> own_name(StateNames names, std::string_view parameter) {
  if (names == StateNames::transformers) return std::string(parameter);
  for (const Names& known : kOutside) {
    if (parameter == known.transformers) return std::string(known.torchtitan);
  }
  const auto layer = in_layer(parameter);
  for (const Names& known : kInLayers) {
    if (!layer || layer->rest != known.transformers) continue;
    return std::string(kLayers) + std::string(layer->number) + "." + std::string(known.torchtitan);
  }
  return std::nullopt;
}

StateKey state_key(StateNames names, std::string_view parameter, std::string_view role) {
  const std::string name = own_name(names, parameter).value_or(std::string(parameter));
  const std::string of(role);
  if (role == "parameter") {
    if (names == StateNames::torchtitan) return {name, {name}};
    return {"model." + name, {"model", name}};
  }
  const std::string flat = "state." + name + "." + of;
  if (names == StateNames::torchtitan) return {"optimizer." + flat, {"optimizer", flat}};
  return {"optimizer." + flat, {"optimizer", "state", name, of}};
}

StateKey option_key(StateNames names, std::string_view parameter, std::string_view option) {
  const std::string of(option);
  if (names == StateNames::transformers) {
    return {"optimizer.param_groups.0." + of, {"optimizer", "param_groups", "0", of}};
  }
  const std::string flat =
      "param_groups." + own_name(names, parameter).value_or(std::string(parameter)) + "." + of;
  return {"optimizer." + flat, {"optimizer", flat}};
}

std::int64_t rows_in_pairs(StateNames names, std::string_view parameter,
                           const LlamaConfig& config) {
  const bool turns = parameter.ends_with(".q_proj.weight") || parameter.ends_with(".k_proj.weight");
  const bool in_pairs = names == StateNames::torchtitan && turns && !config.has_query_key_norms();
  return in_pairs ? config.head_dim : 0;
}

std::int64_t paired_row(std::int64_t row, std::int64_t head) {
  const std::int64_t in_head = row % head, half = head / 2;
  return row - in_head + in_head % half * 2 + in_head / half;
}

}  // namespace foreshard::executor
