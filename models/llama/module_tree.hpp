// The module tree of a Llama as Hugging Face names it. Its names of modules and classes serve every
// family of models, and every implementation; what differs between implementations is which
// modules there are and in which order they stand, and so the order of a unit's parameters.
//
// Modules stand in the order of Python's named_modules(): a parent before its children, children in
// the order of their definition. Module 0 is the root, whose path is empty.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/llama/llama_config.hpp"

namespace foreshard {

using ModuleId = std::int32_t;
using ParameterId = std::int32_t;
constexpr std::int32_t kNone = -1;

// What a module is; Linear covers the projections and lm_head.
enum class ModuleKind : std::uint8_t {
  root,
  model,
  embedding,
  layer_list,
  decoder_layer,
  attention,
  mlp,
  linear,
  adapted,  // holds a linear layer and the two factors of its adapter
  norm,
  rotary,
  activation
};

struct Module {
  std::string path;             // "model.layers.3.self_attn.q_proj"
  std::string_view class_name;  // "LlamaDecoderLayer"
  ModuleKind kind;
  ModuleId parent = kNone;
  std::int32_t layer = kNone;  // decoder layer it belongs to
  std::vector<ModuleId> children;
  std::vector<ParameterId> parameters;  // its own; a tied lm_head.weight is the embedding's
};

struct Parameter {
  std::string name;          // "model.layers.3.self_attn.q_proj.weight"
  ModuleId module;           // that defines it
  std::int64_t rows = 0;     // dimension 0
  std::int64_t columns = 1;  // dimension 1; 1 for vectors
  bool is_vector = false;
  bool trains = true;  // not frozen
  std::int64_t numel() const { return rows * columns; }
};

// It never changes once it is built, so that copies share it.
class ModuleTree {
 public:
  ModuleTree() = default;
  ModuleTree(std::vector<Module> all_modules, std::vector<Parameter> all_parameters);

  std::span<const Module> modules;
  std::span<const Parameter> parameters;  // in Hugging Face's named_parameters() order
  bool trains_whole = true;               // nothing is frozen

  ModuleId find(std::string_view path) const;  // kNone when there is none

 private:
  std::shared_ptr<const void> owner_;
};

// The parameters in the order of named_parameters(): module by module, each once.
std::vector<ParameterId> named_parameters(const ModuleTree& tree);

// The tree that transformers builds.
ModuleTree llama_modules(const LlamaConfig& config);

// The tree that torchtitan builds from the same parameters: embedding, layers, norm and head stand
// in the root, norms of queries and keys come before the projections, feed-forward weights are w1,
// w2, w3 (gate, down, up), and neither activation nor rotary embedding is a module.
ModuleTree torchtitan_modules(const LlamaConfig& config);

}  // namespace foreshard
