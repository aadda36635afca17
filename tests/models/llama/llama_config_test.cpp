#include "models/llama/llama_config.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "tests/outside_data.hpp"
#include "tests/temporary_folder.hpp"

namespace foreshard {
namespace {

namespace fs = std::filesystem;

// A small config in the old spelling, with some fields replaced or, where the value is empty, left
// out.
std::string config_with(const std::map<std::string, std::string>& changes) {
  std::map<std::string, std::string> fields = {
      {"architectures", R"(["LlamaForCausalLM"])"},
      {"model_type", R"("llama")"},
      {"hidden_act", R"("silu")"},
      {"hidden_size", "64"},
      {"intermediate_size", "100"},
      {"num_hidden_layers", "2"},
      {"num_attention_heads", "4"},
      {"num_key_value_heads", "2"},
      {"vocab_size", "300"},
      {"max_position_embeddings", "512"},
      {"rms_norm_eps", "1e-05"},
      {"rope_theta", "500000.0"},
      {"torch_dtype", R"("float32")"},
      {"tie_word_embeddings", "false"},
  };
  for (const auto& [key, value] : changes) fields[key] = value;
  std::string text;
  for (const auto& [key, value] : fields) {
    if (!value.empty()) text += (text.empty() ? "{\"" : ", \"") + key + "\": " + value;
  }
  return text + "}";
}

LlamaConfig good_config(const std::string& text) {
  const Result<LlamaConfig> config = parse_llama_config(text, "config.json");
  EXPECT_TRUE(config) << config.error().text();
  return config.value_or(LlamaConfig{});
}

struct BadConfig {
  std::string text;
  std::string field;
  std::string mentions;

  friend void PrintTo(const BadConfig& bad, std::ostream* out) { *out << bad.field; }
};

class RefusesBadConfig : public testing::TestWithParam<BadConfig> {};

TEST_P(RefusesBadConfig, NamingTheFieldAndWhatIsExpected) {
  const Result<LlamaConfig> config = parse_llama_config(GetParam().text, "dir/config.json");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().file, "dir/config.json");
  EXPECT_EQ(config.error().field, GetParam().field);
  EXPECT_NE(config.error().message.find(GetParam().mentions), std::string::npos)
      << config.error().message;
}

std::string one(const std::string& key, const std::string& value) {
  return config_with({{key, value}});
}

// A config of another family, without what it need not have.
std::string family(const std::string& type, std::map<std::string, std::string> changes = {}) {
  changes.insert({{"model_type", '"' + type + '"'}, {"architectures", "null"}});
  return config_with(changes);
}

INSTANTIATE_TEST_SUITE_P(
    LlamaConfig, RefusesBadConfig,
    testing::Values(
        BadConfig{"", "line 1, column 1", "JSON"},
        BadConfig{"{\"hidden_size\":\n 12,", "line 2, column 5", "JSON"},
        BadConfig{std::string(100000, '['), "", "deeper"},
        BadConfig{"{\"a\":" + std::string(100000, '{'), "", "deeper"},
        BadConfig{"[]", "", "object"}, BadConfig{one("hidden_size", "-4"), "hidden_size", "-4"},
        BadConfig{one("hidden_size", "\"x\""), "hidden_size", "integer"},
        BadConfig{one("hidden_size", "64.0"), "hidden_size", "integer"},
        BadConfig{one("hidden_size", "4611686018427387904"), "hidden_size", "1048576"},
        BadConfig{one("hidden_size", "18446744073709551615"), "hidden_size", "1048576"},
        BadConfig{one("hidden_size", "1e400"), "", "JSON"},
        BadConfig{one("hidden_size", ""), "hidden_size", "missing"},
        BadConfig{one("vocab_size", ""), "vocab_size", "missing"},
        BadConfig{one("vocab_size", "null"), "vocab_size", "missing"},
        BadConfig{one("num_hidden_layers", "1000000000000"), "num_hidden_layers", "10000"},
        BadConfig{one("num_attention_heads", "0"), "num_attention_heads", "0"},
        BadConfig{one("num_attention_heads", "7"), "num_key_value_heads", "divisor"},
        BadConfig{config_with({{"num_attention_heads", "7"}, {"num_key_value_heads", "7"}}),
                  "num_attention_heads", "divisor of hidden_size"},
        BadConfig{config_with({{"num_attention_heads", "5"}, {"head_dim", "8"}}),
                  "num_key_value_heads", "5"},
        BadConfig{one("head_dim", "15"), "head_dim", "even"},
        BadConfig{config_with({{"head_dim", "1048576"}}), "head_dim", "at most"},
        BadConfig{one("rope_scaling", R"({"rope_type": "magic"})"), "rope_scaling.rope_type",
                  "magic"},
        BadConfig{one("rope_scaling", R"({"type": "yarn", "factor": 0.5})"), "rope_scaling.factor",
                  "0.5"},
        BadConfig{one("rope_scaling", R"({"type": "linear"})"), "rope_scaling.factor", "missing"},
        BadConfig{one("rope_scaling", "7"), "rope_scaling", "object"},
        BadConfig{one("rope_parameters", R"({"rope_theta": -1})"), "rope_parameters.rope_theta",
                  "number"},
        BadConfig{one("hidden_act", "\"nope\""), "hidden_act", "silu"},
        BadConfig{
            config_with({{"architectures", R"(["GPT2LMHeadModel"])"}, {"model_type", "\"gpt2\""}}),
            "model_type", "gpt2"},
        BadConfig{one("model_type", ""), "model_type", "missing"},
        BadConfig{one("model_type", "\"qwen3\""), "architectures", "Qwen3ForCausalLM"},
        BadConfig{family("mistral", {{"sliding_window", "0"}}), "sliding_window", "integer"},
        BadConfig{one("architectures", R"(["LlamaForSequenceClassification"])"), "architectures",
                  "LlamaForCausalLM"},
        BadConfig{one("tie_word_embeddings", "1"), "tie_word_embeddings", "true or false"},
        BadConfig{one("rms_norm_eps", "\"small\""), "rms_norm_eps", "number"},
        BadConfig{one("attention_dropout", "0.1"), "attention_dropout", "0.1"},
        BadConfig{one("quantization_config", R"({"bits": 4})"), "quantization_config", "bits"},
        BadConfig{config_with({{"hidden_size", "1048576"},
                               {"intermediate_size", "1048576"},
                               {"num_hidden_layers", "10000"}}),
                  "num_hidden_layers", "parameters"}));

TEST(LlamaConfig, FillsInWhatHuggingFaceFillsIn) {
  const LlamaConfig config = good_config(config_with({{"num_key_value_heads", ""},
                                                      {"max_position_embeddings", ""},
                                                      {"rms_norm_eps", ""},
                                                      {"rope_theta", ""},
                                                      {"rope_scaling", "null"}}));
  EXPECT_EQ(config.kv_heads, 4);
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(config.context, 2048);
  EXPECT_EQ(config.rms_norm_eps, 1e-6);
  EXPECT_EQ(config.rope_theta, 10000.0);
  EXPECT_EQ(config.rope_scaling, RopeScaling{});
}

TEST(LlamaConfig, FillsInWhatEachFamilyHas) {
  const std::string silent[] = {"num_attention_heads", "num_key_value_heads"};
  const auto defaults = [&](const std::string& type) {
    return good_config(family(type, {{silent[0], "32"}, {silent[1], ""}}));
  };
  EXPECT_EQ(defaults("mistral").kv_heads, 8);
  EXPECT_EQ(defaults("qwen2").kv_heads, 32);
  EXPECT_EQ(defaults("qwen2").head_dim, 2);
  EXPECT_EQ(defaults("qwen3").head_dim, 128);
  EXPECT_EQ(good_config(family("mistral", {{silent[1], "null"}})).kv_heads, 4);
}

TEST(LlamaConfig, BiasesAreThoseOfTheFamily) {
  const auto biases = [](const std::string& type) {
    const LlamaConfig c =
        good_config(family(type, {{"attention_bias", "true"}, {"mlp_bias", "true"}}));
    return std::array{c.attention_bias, c.output_bias, c.mlp_bias};
  };
  EXPECT_EQ(biases("llama"), (std::array{true, true, true}));
  EXPECT_EQ(biases("mistral"), (std::array{false, false, false}));
  EXPECT_EQ(biases("qwen2"), (std::array{true, false, false}));
  EXPECT_EQ(biases("qwen3"), (std::array{true, true, false}));
}

TEST(LlamaConfig, WindowsOfAttentionCountWhereTheFamilyUsesThem) {
  using Changes = std::map<std::string, std::string>;
  const auto window = [](const std::string& type, const Changes& changes) {
    return good_config(family(type, changes)).sliding_window;
  };
  EXPECT_EQ(window("llama", {{"sliding_window", "64"}}), 0);
  EXPECT_EQ(window("mistral", {{"sliding_window", "64"}}), 64);
  EXPECT_EQ(window("mistral", {{"sliding_window", "null"}}), 0);
  EXPECT_EQ(window("mistral", {}), 4096);
  EXPECT_EQ(window("qwen2", {{"sliding_window", "64"}}), 0);
  EXPECT_EQ(window("qwen2", {{"sliding_window", "64"}, {"use_sliding_window", "true"}}), 64);
  EXPECT_EQ(window("qwen3", {{"use_sliding_window", "true"}}), 4096);
}

TEST(LlamaConfig, LayersHaveAWindowFromOneOn) {
  using Changes = std::map<std::string, std::string>;
  const auto first = [](Changes changes) {
    changes["use_sliding_window"] = "true";
    return good_config(family("qwen2", changes)).first_window_layer;
  };
  EXPECT_EQ(first({}), 28);
  EXPECT_EQ(first({{"max_window_layers", "1"}}), 1);
  EXPECT_EQ(good_config(family("mistral", {{"max_window_layers", "1"}})).first_window_layer, 0);
}

TEST(LlamaConfig, RotaryEmbeddingsOfAnyTypeAreRead) {
  const auto kind = [](const std::string& scaling) {
    return good_config(one("rope_scaling", scaling)).rope_scaling.kind;
  };
  using Kind = RopeScaling::Kind;
  EXPECT_EQ(kind(R"({"type": "dynamic", "factor": 2})"), Kind::dynamic);
  EXPECT_EQ(kind(R"({"rope_type": "longrope", "short_factor": [1], "long_factor": [2]})"),
            Kind::longrope);
  EXPECT_EQ(kind(R"({"rope_type": "yarn", "factor": 4.0, "beta_fast": 32.0,
                     "original_max_position_embeddings": 128})"),
            Kind::yarn);
}

TEST(LlamaConfig, OldAndNewSpellingMeanTheSame) {
  const std::string scaling =
      R"("factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
         "original_max_position_embeddings": 64)";
  const LlamaConfig old =
      good_config(config_with({{"rope_scaling", R"({"rope_type": "llama3", )" + scaling + "}"}}));
  const LlamaConfig older =
      good_config(config_with({{"rope_scaling", R"({"type": "llama3", )" + scaling + "}"}}));
  const LlamaConfig today = good_config(
      config_with({{"rope_theta", ""},
                   {"torch_dtype", ""},
                   {"dtype", R"("float32")"},
                   {"head_dim", "16"},
                   {"rope_parameters",
                    R"({"rope_type": "llama3", "rope_theta": 500000.0, )" + scaling + "}"}}));
  EXPECT_EQ(old, today);
  EXPECT_EQ(old, older);
  EXPECT_EQ(old.rope_scaling.kind, RopeScaling::Kind::llama3);
  EXPECT_EQ(old.rope_scaling.original_context, 64);
  EXPECT_EQ(old.rope_theta, 500000.0);
}

TEST(LlamaConfig, ReadsBackWhatItWrites) {
  for (const std::string& name : bundled_models()) {
    const LlamaConfig config = *load_llama_config(name);
    EXPECT_EQ(good_config(to_json(config)), config) << name;
  }
  LlamaConfig config = *load_llama_config("llama-tiny-3m");
  config.name = "caf\u00e9 \"quoted\"";
  config.rope_scaling = {RopeScaling::Kind::linear, 2.5, 1.0, 4.0, 8192};
  config.attention_bias = config.output_bias = config.mlp_bias = true;
  config.head_dim = 48;
  config.initializer_range = 0.1;
  EXPECT_EQ(good_config(to_json(config)), config);
  for (const ModelFamily family : {ModelFamily::mistral, ModelFamily::qwen2, ModelFamily::qwen3}) {
    config.family = family;
    config.mlp_bias = false;
    config.attention_bias = family != ModelFamily::mistral;
    config.output_bias = family == ModelFamily::qwen3;
    for (const std::int64_t window : {0, 64}) {
      config.sliding_window = window;
      EXPECT_EQ(good_config(to_json(config)), config) << to_json(config);
    }
  }
}

// Totals of the published checkpoints.
TEST(LlamaConfig, CountsParameters) {
  const std::map<std::string, std::int64_t> published = {
      {"llama-2-7b", 6'738'415'616},      {"llama-2-13b", 13'015'864'320},
      {"llama-2-70b", 68'976'648'192},    {"llama-3.1-8b", 8'030'261'248},
      {"llama-3-70b", 70'553'706'496},    {"llama-3.1-405b", 405'853'388'800},
      {"llama-3.2-1b", 1'235'814'400},    {"llama-3.2-3b", 3'212'749'824},
      {"codellama-34b", 33'743'970'304},  {"llama-3.3-70b", 70'553'706'496},
      {"mistral-7b-v0.3", 7'248'023'552}, {"qwen2.5-0.5b", 494'032'768},
      {"qwen2.5-1.5b", 1'543'714'304},    {"qwen2.5-7b", 7'615'616'512},
      {"qwen2.5-14b", 14'770'033'664},    {"qwen2.5-32b", 32'763'876'352},
      {"qwen2.5-72b", 72'706'203'648},    {"qwen3-0.6b", 596'049'920},
      {"qwen3-1.7b", 1'720'574'976},      {"qwen3-4b", 4'022'468'096},
      {"qwen3-8b", 8'190'735'360},        {"qwen3-14b", 14'768'307'200},
      {"qwen3-32b", 32'762'123'264},
  };
  for (const auto& [name, parameters] : published) {
    EXPECT_EQ(load_llama_config(name)->parameters(), parameters) << name;
  }
  // Biases: q, k, v of 4, 2, 2 heads of 16 and o of 64, then gate, up of 100 and down of 64.
  const std::int64_t plain = good_config(config_with({})).parameters();
  EXPECT_EQ(good_config(one("attention_bias", "true")).parameters() - plain,
            2 * (64 + 32 + 32 + 64));
  EXPECT_EQ(good_config(one("mlp_bias", "true")).parameters() - plain, 2 * (100 + 100 + 64));
}

TEST(LlamaConfig, SmallBundledModelsTakeBytesAsTokens) {
  for (const std::string& name : bundled_models()) {
    EXPECT_GE(load_llama_config(name)->vocabulary, 256) << name;
  }
}

class LoadedConfig : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(own_.path()) / "my model";
    fs::create_directories(folder_);
    std::ofstream(folder_ / "config.json") << config_with({});
  }

  tests::TemporaryFolder own_;
  fs::path folder_;
};

TEST_F(LoadedConfig, ComesFromAFolderOrAFileAndIsNamedAfterTheFolder) {
  for (const fs::path& path : {folder_, folder_ / "config.json", folder_ / ""}) {
    const Result<LlamaConfig> config = load_llama_config(path.string());
    ASSERT_TRUE(config) << config.error().text();
    EXPECT_EQ(config->name, "my model");
    EXPECT_EQ(config->hidden, 64);
  }
}

TEST_F(LoadedConfig, ErrorsNameThePath) {
  const Result<LlamaConfig> none = load_llama_config("/nonexistent");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().text().find("/nonexistent"), std::string::npos);

  const Result<LlamaConfig> empty = load_llama_config(folder_.parent_path().string());
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.error().text().find("config.json"), std::string::npos);

  const Result<LlamaConfig> misspelt = load_llama_config("llama-3.1-8bb");
  ASSERT_FALSE(misspelt);
  EXPECT_NE(misspelt.error().text().find("did you mean 'llama-3.1-8b'"), std::string::npos)
      << misspelt.error().text();
}

TEST(LlamaConfig, ReadsTheReferenceModels) {
  const fs::path reference = tests::outside_data("reference/pytorch");
  if (!fs::exists(reference)) GTEST_SKIP() << tests::missing(reference);
  int read = 0;
  for (const auto& entry : fs::recursive_directory_iterator(reference)) {
    const std::string folder = entry.path().parent_path().filename().string();
    const bool is_config =
        entry.path().filename().string().rfind("config", 0) == 0 || folder == "configs";
    if (!is_config || entry.path().extension() != ".json") continue;
    const Result<LlamaConfig> config = load_llama_config(entry.path().string());
    EXPECT_TRUE(config) << config.error().text();
    ++read;
  }
  EXPECT_GE(read, 11);
  const auto tied = reference / "training/llama-tiny-tied";
  EXPECT_EQ(*load_llama_config((tied / "config.json").string()),
            *load_llama_config((tied / "config_v5.json").string()));
}

}  // namespace
}  // namespace foreshard
