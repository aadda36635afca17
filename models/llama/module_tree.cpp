#include "models/llama/module_tree.hpp"

#include <algorithm>
#include <utility>

#include "models/base/assertion.hpp"

namespace foreshard {
namespace {

constexpr std::size_t kMaxChildren = 6;  // of all modules but the list of layers

std::string joined(std::string_view above, std::string_view name) {
  std::string path;
  path.reserve(above.size() + 1 + name.size());
  path += above;
  if (!above.empty()) path += '.';
  path += name;
  return path;
}

class TreeBuilder {
 public:
  std::vector<Module> modules;
  std::vector<Parameter> parameters;

  ModuleId module(ModuleId parent, std::string_view name, ModuleKind kind, std::string_view type,
                  std::int32_t layer = kNone) {
    const ModuleId id = narrow<ModuleId>(modules.size());
    Module added;
    if (parent != kNone) {
      Module& above = modules[static_cast<std::size_t>(parent)];
      if (above.children.empty()) above.children.reserve(kMaxChildren);
      above.children.push_back(id);
      added.path = joined(above.path, name);
    }
    added.class_name = type;
    added.kind = kind;
    added.parent = parent;
    added.layer = layer;
    modules.push_back(std::move(added));
    return id;
  }

  void parameter(ModuleId module, std::string_view name, std::int64_t rows, std::int64_t columns) {
    Module& owner = modules[static_cast<std::size_t>(module)];
    owner.parameters.push_back(narrow<ParameterId>(parameters.size()));
    parameters.push_back(
        {joined(owner.path, name), module, rows, columns == 0 ? 1 : columns, columns == 0});
  }

  void linear(ModuleId parent, std::string_view name, std::int64_t out, std::int64_t in, bool bias,
              std::int32_t layer) {
    const ModuleId id = module(parent, name, ModuleKind::linear, "Linear", layer);
    parameter(id, "weight", out, in);
    if (bias) parameter(id, "bias", out, 0);
  }

  void norm(ModuleId parent, std::string_view name, std::int64_t size, std::int32_t layer = kNone) {
    parameter(module(parent, name, ModuleKind::norm, "LlamaRMSNorm", layer), "weight", size, 0);
  }

  ModuleTree build() { return {std::move(modules), std::move(parameters)}; }
};

// Copies what torchtitan has of a tree, module by module.
class TorchtitanTree {
 public:
  explicit TorchtitanTree(const ModuleTree& from)
      : from_(from), parameters_(from.parameters.begin(), from.parameters.end()) {}

  ModuleTree build() {
    add(0, kNone);
    return {std::move(modules_), std::move(parameters_)};
  }

 private:
  void add(ModuleId id, ModuleId parent) {
    const Module& module = from_.modules[static_cast<std::size_t>(id)];
    if (module.kind == ModuleKind::activation || module.kind == ModuleKind::rotary) return;
    ModuleId below = parent;
    if (module.kind != ModuleKind::model) {
      below = static_cast<ModuleId>(modules_.size());
      if (parent != kNone) modules_[static_cast<std::size_t>(parent)].children.push_back(below);
      Module copy = module;
      copy.parent = parent;
      copy.children.clear();
      modules_.push_back(std::move(copy));
      for (const ParameterId p : module.parameters) {
        Parameter& parameter = parameters_[static_cast<std::size_t>(p)];
        if (from_.parameters[static_cast<std::size_t>(p)].module == id) parameter.module = below;
      }
    }
    std::vector<ModuleId> children = module.children;
    if (module.kind == ModuleKind::mlp) std::swap(children[1], children[2]);  // up and down
    if (module.kind == ModuleKind::attention) {
      std::stable_partition(children.begin(), children.end(), [&](ModuleId child) {
        return from_.modules[static_cast<std::size_t>(child)].kind == ModuleKind::norm;
      });
    }
    for (const ModuleId child : children) add(child, below);
  }

  const ModuleTree& from_;
  std::vector<Module> modules_;
  std::vector<Parameter> parameters_;
};

}  // namespace

ModuleTree::ModuleTree(std::vector<Module> all_modules, std::vector<Parameter> all_parameters) {
  struct Content {
    std::vector<Module> modules;
    std::vector<Parameter> parameters;
  };
  const auto content =
      std::make_shared<const Content>(Content{std::move(all_modules), std::move(all_parameters)});
  modules = content->modules;
  parameters = content->parameters;
  trains_whole = std::all_of(parameters.begin(), parameters.end(),
                             [](const Parameter& p) { return p.trains; });
  owner_ = content;
}

ModuleId ModuleTree::find(std::string_view path) const {
  for (std::size_t i = 0; i < modules.size(); ++i) {
    if (modules[i].path == path) return static_cast<ModuleId>(i);
  }
  return kNone;
}

std::vector<ParameterId> named_parameters(const ModuleTree& tree) {
  std::vector<ParameterId> order;
  std::vector<bool> is_listed(tree.parameters.size());
  for (const Module& module : tree.modules) {
    for (const ParameterId p : module.parameters) {
      if (!is_listed[static_cast<std::size_t>(p)]) order.push_back(p);
      is_listed[static_cast<std::size_t>(p)] = true;
    }
  }
  return order;
}

ModuleTree llama_modules(const LlamaConfig& c) {
  TreeBuilder add;
  add.modules.reserve(static_cast<std::size_t>(15 * c.layers + 8));
  add.parameters.reserve(static_cast<std::size_t>(18 * c.layers + 4));
  const ModuleId root = add.module(kNone, "", ModuleKind::root, "LlamaForCausalLM");
  const ModuleId model = add.module(root, "model", ModuleKind::model, "LlamaModel");
  const ModuleId embedding = add.module(model, "embed_tokens", ModuleKind::embedding, "Embedding");
  add.parameter(embedding, "weight", c.vocabulary, c.hidden);
  const ModuleId layers = add.module(model, "layers", ModuleKind::layer_list, "ModuleList");
  for (std::int32_t i = 0; i < c.layers; ++i) {
    const ModuleId layer =
        add.module(layers, std::to_string(i), ModuleKind::decoder_layer, "LlamaDecoderLayer", i);
    const ModuleId attention =
        add.module(layer, "self_attn", ModuleKind::attention, "LlamaAttention", i);
    add.linear(attention, "q_proj", c.heads * c.head_dim, c.hidden, c.attention_bias, i);
    add.linear(attention, "k_proj", c.kv_heads * c.head_dim, c.hidden, c.attention_bias, i);
    add.linear(attention, "v_proj", c.kv_heads * c.head_dim, c.hidden, c.attention_bias, i);
    add.linear(attention, "o_proj", c.hidden, c.heads * c.head_dim, c.output_bias, i);
    if (c.has_query_key_norms()) {
      add.norm(attention, "q_norm", c.head_dim, i);
      add.norm(attention, "k_norm", c.head_dim, i);
    }
    const ModuleId mlp = add.module(layer, "mlp", ModuleKind::mlp, "LlamaMLP", i);
    add.linear(mlp, "gate_proj", c.intermediate, c.hidden, c.mlp_bias, i);
    add.linear(mlp, "up_proj", c.intermediate, c.hidden, c.mlp_bias, i);
    add.linear(mlp, "down_proj", c.hidden, c.intermediate, c.mlp_bias, i);
    add.module(mlp, "act_fn", ModuleKind::activation, "SiLU", i);
    add.norm(layer, "input_layernorm", c.hidden, i);
    add.norm(layer, "post_attention_layernorm", c.hidden, i);
  }
  add.norm(model, "norm", c.hidden);
  add.module(model, "rotary_emb", ModuleKind::rotary, "LlamaRotaryEmbedding");
  const ModuleId head = add.module(root, "lm_head", ModuleKind::linear, "Linear");
  if (c.tied_embeddings) {
    add.modules[static_cast<std::size_t>(head)].parameters =
        add.modules[static_cast<std::size_t>(embedding)].parameters;
  } else {
    add.parameter(head, "weight", c.vocabulary, c.hidden);
  }
  return add.build();
}

ModuleTree torchtitan_modules(const LlamaConfig& config) {
  return TorchtitanTree(llama_modules(config)).build();
}

}  // namespace foreshard
