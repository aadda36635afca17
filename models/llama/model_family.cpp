#include "models/llama/model_family.hpp"

#include <array>
#include <cstddef>

namespace foreshard {
namespace {

constexpr std::array kFamilies = {
    FamilyTraits{.family = ModelFamily::llama,
                 .model_type = "llama",
                 .class_prefix = "Llama",
                 .context = 2048,
                 .attention_biases = AttentionBiases::configured,
                 .mlp_bias = true},
    FamilyTraits{.family = ModelFamily::mistral,
                 .model_type = "mistral",
                 .class_prefix = "Mistral",
                 .kv_heads = 8,
                 .context = 131072,
                 .window = AttentionWindow::always},
    FamilyTraits{.family = ModelFamily::qwen2,
                 .model_type = "qwen2",
                 .class_prefix = "Qwen2",
                 .kv_heads = 32,
                 .context = 32768,
                 .attention_biases = AttentionBiases::query_key_value,
                 .window = AttentionWindow::where_used},
    FamilyTraits{.family = ModelFamily::qwen3,
                 .model_type = "qwen3",
                 .class_prefix = "Qwen3",
                 .kv_heads = 32,
                 .head_dim = 128,
                 .context = 32768,
                 .attention_biases = AttentionBiases::configured,
                 .query_key_norms = true,
                 .window = AttentionWindow::where_used},
};

}  // namespace

std::span<const FamilyTraits> model_families() {
  return kFamilies;
}

const FamilyTraits& traits_of(ModelFamily family) {
  return kFamilies[static_cast<std::size_t>(family)];
}

std::string llama_class(ModelFamily family, std::string_view class_name) {
  const std::string_view prefix = traits_of(family).class_prefix;
  if (!class_name.starts_with(prefix)) return std::string(class_name);
  return "Llama" + std::string(class_name.substr(prefix.size()));
}

}  // namespace foreshard
