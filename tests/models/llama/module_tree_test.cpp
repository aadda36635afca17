// The parameters of models, their order and shapes, beside those of transformers' implementation,
// which data/named_parameters.json holds for small configs (make_named_parameters.py wrote it).
#include "models/llama/module_tree.hpp"

#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/small_llama.hpp"
#include "tests/temporary_folder.hpp"

namespace foreshard {
namespace {

using Json = nlohmann::json;
using Names = std::vector<std::string>;

Json names_and_shapes(const ModuleTree& tree) {
  Json list = Json::array();
  for (const Parameter& p : tree.parameters) {
    list.push_back({p.name, p.is_vector ? Json{p.rows} : Json{p.rows, p.columns}});
  }
  return list;
}

TEST(ModuleTree, HasTheParametersOfTransformers) {
  const std::string data =
      tests::read_file(FORESHARD_SOURCE_DIR "/tests/models/llama/data/named_parameters.json");
  for (const Json& recorded : Json::parse(data)) {
    const std::string text = recorded["config"].dump();
    const Result<LlamaConfig> config = parse_llama_config(text, "config.json");
    ASSERT_TRUE(config) << config.error().text();
    EXPECT_EQ(names_and_shapes(llama_modules(*config)), recorded["parameters"]) << text;
    std::int64_t total = 0;
    for (const Json& parameter : recorded["parameters"]) {
      std::int64_t numel = 1;
      for (const Json& size : parameter[1]) numel *= size.get<std::int64_t>();
      total += numel;
    }
    EXPECT_EQ(config->parameters(), total) << text;
  }
}

TEST(ModuleTree, OfTorchtitanHasNormsOfQueriesAndKeysBeforeTheProjections) {
  LlamaConfig config = tests::small_llama({8, 16, 1, 2, 1, 20});
  config.family = ModelFamily::qwen3;
  const ModuleTree tree = torchtitan_modules(config);
  Names order;
  for (const Module& module : tree.modules) {
    if (module.path.starts_with("model.layers.0.self_attn.")) {
      order.push_back(module.path.substr(module.path.rfind('.') + 1));
    }
  }
  EXPECT_EQ(order, (Names{"q_norm", "k_norm", "q_proj", "k_proj", "v_proj", "o_proj"}));
}

TEST(ModelFamily, ClassesStandInThePlaceOfLlamas) {
  EXPECT_EQ(llama_class(ModelFamily::qwen3, "Qwen3DecoderLayer"), "LlamaDecoderLayer");
  EXPECT_EQ(llama_class(ModelFamily::llama, "LlamaMLP"), "LlamaMLP");
  EXPECT_EQ(llama_class(ModelFamily::qwen2, "Embedding"), "Embedding");
  EXPECT_EQ(llama_class(ModelFamily::llama, "Qwen3DecoderLayer"), "Qwen3DecoderLayer");
}

}  // namespace
}  // namespace foreshard
