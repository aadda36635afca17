// Bad input of every kind: exit status 2, a message on standard error that begins with the
// program's name and names the thing at fault, nothing on standard output and no file written.
#include <algorithm>
#include <cctype>

#include <gtest/gtest.h>

#include "models/lowering/lower.hpp"
#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

void expect_refused(const Workplace& place, const std::vector<std::string>& arguments,
                    const std::string& word) {
  const auto before = place.files();
  const Outcome outcome = place.run(arguments);
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_TRUE(outcome.err.starts_with("foreshard: error: ")) << outcome.err;
  EXPECT_NE(lower(outcome.err).find(lower(word)), std::string::npos)
      << "expected '" << word << "' in: " << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(place.files(), before);
}

struct ConfigCase {
  std::string name, key;
  nlohmann::json value;  // null removes the key
  std::string word;

  friend std::ostream& operator<<(std::ostream& out, const ConfigCase& c) { return out << c.name; }
};

struct PlanCase {
  std::string name, toml, word;
  int ranks = 2;

  friend std::ostream& operator<<(std::ostream& out, const PlanCase& c) { return out << c.name; }
};

struct ArgumentCase {
  std::string name;
  std::vector<std::string> arguments;
  std::string word;

  friend std::ostream& operator<<(std::ostream& out, const ArgumentCase& c) {
    return out << c.name;
  }
};

const auto kCaseName = [](const auto& info) { return info.param.name; };

class BadConfig : public testing::TestWithParam<ConfigCase> {};
class BadPlan : public testing::TestWithParam<PlanCase> {};
class BadArguments : public testing::TestWithParam<ArgumentCase> {};

TEST_P(BadConfig, IsNamed) {
  const Workplace place;
  nlohmann::json config = small_llama();
  config[GetParam().key] = GetParam().value;
  if (GetParam().value.is_null()) config.erase(GetParam().key);
  place.write("model/config.json", config.dump());
  expect_refused(place, job("predict", 2), GetParam().word);
  expect_refused(place, job("train", 2, {"--steps", "1"}), "config.json");
}

INSTANTIATE_TEST_SUITE_P(
    Keys, BadConfig,
    testing::Values(
        ConfigCase{"Negative", "hidden_size", -48, "hidden_size"},
        ConfigCase{"NotANumber", "intermediate_size", "many", "intermediate_size"},
        ConfigCase{"Fraction", "num_hidden_layers", 2.5, "num_hidden_layers"},
        ConfigCase{"Missing", "hidden_size", nullptr, "hidden_size"},
        ConfigCase{"NoHeads", "num_attention_heads", 0, "num_attention_heads"},
        ConfigCase{"HeadsNotInGroups", "num_key_value_heads", 3, "num_key_value_heads"},
        ConfigCase{"TooLarge", "vocab_size", std::int64_t{1} << 61, "vocab_size"},
        ConfigCase{"TooManyLayers", "num_hidden_layers", 1'000'000'000, "num_hidden_layers"},
        ConfigCase{"OddHead", "head_dim", 7, "head_dim"},
        ConfigCase{
            "UnknownRope", "rope_scaling", {{"rope_type", "spiral"}, {"factor", 2}}, "spiral"},
        ConfigCase{"UnknownActivation", "hidden_act", "tanh", "hidden_act"},
        ConfigCase{"OtherModel", "model_type", "bert", "bert"}),
    kCaseName);

TEST_P(BadPlan, IsNamed) {
  const Workplace place;
  place.write("plan.toml", GetParam().toml);
  expect_refused(place, job("predict", GetParam().ranks), GetParam().word);
  expect_refused(place, job("train", GetParam().ranks, {"--steps", "1"}), GetParam().word);
}

INSTANTIATE_TEST_SUITE_P(
    Keys, BadPlan,
    testing::Values(
        PlanCase{"NoToml", "[batch\n", "plan.toml"},
        PlanCase{"TwiceTheSameKey", "[batch]\nsequence = 8\nsequence = 9\n", "plan.toml"},
        PlanCase{"MisspeltSection", "[prefech]\nforward = 1\n", "prefetch"},
        PlanCase{"MisspeltKey", "[batch]\nsequense = 16\n", "sequence"},
        PlanCase{"MisspeltWord", "[checkpointing]\nmode = \"ful\"\n", "full"},
        PlanCase{"WrongType", "[batch]\nsequence = \"long\"\n", "sequence"},
        PlanCase{"Zero", "[batch]\naccumulation = 0\n", "accumulation"},
        PlanCase{"Negative", "[prefetch]\nbackward = -2\n", "backward"},
        PlanCase{"LearningRate", "[optimizer]\nlr = -1.0\n", "lr"},
        PlanCase{"UnknownDtype", "[precision]\nreduce = \"fp7\"\n", "fp7"},
        PlanCase{"Contradiction",
                 "[sharding]\nstrategy = \"shard_grad_op\"\nreshard_after_forward = true\n",
                 "reshard_after_forward"},
        PlanCase{"ReshardGroup", "[sharding]\nreshard_after_forward = 3\n", "reshard_after_forward",
                 4},
        PlanCase{"HybridGroup", "[sharding]\nstrategy = \"hybrid_shard\"\nshard_group = 3\n",
                 "shard_group", 4},
        PlanCase{"HybridWithoutNodes", "[sharding]\nstrategy = \"hybrid_shard\"\n", "nodes", 4},
        PlanCase{"GlobWithoutMatch",
                 "[wrap]\npolicy = \"modules\"\nmodules = [\"model.blocks.*\"]\n", "model.blocks"},
        PlanCase{"ModuleInTwoGroups",
                 "[wrap]\npolicy = \"modules\"\n"
                 "modules = [\"model.norm\", [\"model.norm\", \"lm_head\"]]\n",
                 "model.norm"}),
    kCaseName);

TEST(BadInput, TiedWeightsInTwoUnits) {
  const Workplace place;
  nlohmann::json config = small_llama();
  config["tie_word_embeddings"] = true;
  place.write("model/config.json", config.dump());
  place.write("plan.toml",
              "[wrap]\npolicy = \"modules\"\nmodules = [\"model.embed_tokens\", \"lm_head\"]\n");
  expect_refused(place, job("predict", 2), "tie");
}

TEST(BadInput, OperatorsTheExecutorDoesNotHave) {
  const Workplace place;
  place.write("plan.toml", "operators = \"pytorch-eager\"\n");
  expect_refused(place, job("train", 2, {"--steps", "1"}), "operators");
}

TEST(BadInput, ConfigsThatAreNoConfigs) {
  const Workplace place;
  for (const std::string text : {"", "[", "{\"hidden_size\": 4", "[1, 2]", "null", "\xff\xfe"}) {
    place.write("model/config.json", text);
    expect_refused(place, job("predict", 2), "config.json");
  }
  place.write("model/config.json", std::string(200'000, '['));
  expect_refused(place, job("predict", 2), "config.json");
}

TEST(BadInput, TokensOutsideTheVocabulary) {
  const Workplace place;
  nlohmann::json config = small_llama();
  config["vocab_size"] = 64;
  place.write("model/config.json", config.dump());
  place.write("letters.txt", std::string(1000, 'z'));
  expect_refused(place, job("train", 2, {"--steps", "1", "--data", "letters.txt"}), "vocab");
}

// What each case may refer to: files that exist and are not what they are given for.
TEST_P(BadArguments, AreNamed) {
  const Workplace place;
  place.write("words.txt", "no data");
  place.write("torn.npy", std::string("\x93NUMPY\x01\x00\x76\x00{'descr': '<i8'", 25));
  place.write("torn.safetensors", std::string("\x40\0\0\0\0\0\0\0{\"a\":", 13));
  expect_refused(place, GetParam().arguments, GetParam().word);
}

std::vector<std::string> collective(std::vector<std::string> more) {
  more.insert(more.begin(),
              {"collective", "--machine", "h100-sxm", "--kind", "all_gather", "--bytes", "1MiB"});
  return more;
}

std::vector<std::string> predict(std::vector<std::string> more) {
  return job("predict", 2, more);
}

std::vector<std::string> train(std::vector<std::string> more) {
  more.insert(more.begin(), {"--steps", "1"});
  return job("train", 2, more);
}

INSTANTIATE_TEST_SUITE_P(
    Flags, BadArguments,
    testing::Values(
        ArgumentCase{"UnknownCommand", {"trian"}, "train"},
        ArgumentCase{"UnknownFlag", predict({"--rank-count", "2"}), "--rank-count"},
        ArgumentCase{"NoRanks", job("predict", 0), "ranks"},
        ArgumentCase{"NegativeRanks", job("predict", -1), "ranks"},
        ArgumentCase{"RanksInWords",
                     {"predict", "--model", "model", "--plan", "plan.toml", "--ranks", "four"},
                     "ranks"},
        ArgumentCase{
            "RanksMissing", {"predict", "--model", "model", "--plan", "plan.toml"}, "ranks"},
        ArgumentCase{"StepsMissing", job("train", 2), "steps"},
        ArgumentCase{"StepsZero", job("train", 2, {"--steps", "0"}), "steps"},
        ArgumentCase{"PrecisionOfGpusOnTheCpu",
                     job("train", 2, {"--steps", "1", "--matmul-precision", "high"}),
                     "--device cuda"},
        ArgumentCase{"NoSuchModel",
                     {"predict", "--model", "lama-2-7b", "--plan", "plan.toml", "--ranks", "2"},
                     "llama-2-7b"},
        ArgumentCase{"NoSuchPlan",
                     {"predict", "--model", "model", "--plan", "none.toml", "--ranks", "2"},
                     "none.toml"},
        ArgumentCase{"NoSuchMachine", predict({"--machine", "h100-sxn"}), "h100-sxm"},
        ArgumentCase{"CostsAreNone", predict({"--costs", "words.txt"}), "words.txt"},
        ArgumentCase{"CostsAndMachineMissing", predict({"--costs", "none.json"}), "none.json"},
        ArgumentCase{"NodesDoNotDivide",
                     job("predict", 12, {"--nodes", "5", "--machine", "h100-sxm"}), "--ranks 12"},
        ArgumentCase{"NodesDoNotDivideNames",
                     job("predict", 12, {"--nodes", "5", "--machine", "h100-sxm"}), "--nodes 5"},
        ArgumentCase{"NodesTooSmall", job("predict", 64, {"--nodes", "1", "--machine", "h100-sxm"}),
                     "--nodes 1"},
        ArgumentCase{"NodesTooSmallNamesRanks",
                     job("predict", 64, {"--nodes", "1", "--machine", "h100-sxm"}), "--ranks 64"},
        ArgumentCase{"CollectiveNodesDoNotDivide", collective({"--ranks", "12", "--nodes", "5"}),
                     "--nodes 5"},
        ArgumentCase{"CollectiveNodesTooSmall", collective({"--ranks", "64", "--nodes", "1"}),
                     "at least 8 nodes"},
        ArgumentCase{"CollectiveAlgorithmUnknown",
                     collective({"--ranks", "8", "--algorithm", "star"}), "star"},
        ArgumentCase{"CollectiveAlgorithmNotThere",
                     collective({"--ranks", "16", "--algorithm", "nvls"}), "--algorithm"},
        ArgumentCase{"CollectiveWithoutMachine",
                     {"collective", "--kind", "all_gather", "--bytes", "1MiB", "--ranks", "8"},
                     "--machine"},
        ArgumentCase{"MemoryWithoutUnit", predict({"--device-memory", "2 bananas"}), "bananas"},
        ArgumentCase{"JsonIntoNowhere", predict({"--json", "no/folder/x.json"}), "no/folder"},
        ArgumentCase{"TraceIntoNowhere", train({"--trace", "no/folder/x.fst"}), "no/folder"},
        ArgumentCase{"SaveIntoAFile", train({"--save", "words.txt"}), "words.txt"},
        ArgumentCase{"ResumeFromNothing", train({"--resume", "nowhere"}), "nowhere"},
        ArgumentCase{"WeightsAreNone", train({"--init", "torn.safetensors"}), "torn.safetensors"},
        ArgumentCase{"WeightsMissing", train({"--init", "none.safetensors"}), "none.safetensors"},
        ArgumentCase{"DataTooShort", train({"--data", "words.txt"}), "words.txt"},
        ArgumentCase{"DataTorn", train({"--data", "torn.npy"}), "torn.npy"},
        ArgumentCase{"DataMissing", train({"--data", "none.bin"}), "none.bin"},
        ArgumentCase{"DeviceUnknown", train({"--device", "abacus"}), "abacus"},
        ArgumentCase{"CommUnknown", train({"--comm", "pigeon"}), "pigeon"},
        ArgumentCase{"InspectNoTrace", {"inspect", "words.txt"}, "words.txt"},
        ArgumentCase{"InspectNothing", {"inspect", "none.fst"}, "none.fst"},
        ArgumentCase{"CompareNoTraces", {"compare", "words.txt", "words.txt"}, "words.txt"},
        ArgumentCase{"FitNoTrace", {"fit", "words.txt", "-o", "costs.json"}, "words.txt"},
        ArgumentCase{"FitNothing", {"fit", "-o", "costs.json"}, ""},
        ArgumentCase{"CalibrateNothing", {"calibrate"}, "output"},
        ArgumentCase{"CalibrateNowhere", {"calibrate", "-o", "none/costs.json"}, "none"},
        ArgumentCase{
            "CalibrateAbacus", {"calibrate", "-o", "costs.json", "--device", "abacus"}, "abacus"},
        ArgumentCase{"CalibrateNoTime",
                     {"calibrate", "-o", "costs.json", "--time-limit", "0"},
                     "time-limit"},
        ArgumentCase{
            "CalibrateNoRanks", {"calibrate", "-o", "costs.json", "--ranks", "0"}, "ranks"},
        ArgumentCase{"ExportNoTrace", {"export", "words.txt", "--perfetto", "o.json"}, "words.txt"},
        ArgumentCase{"ProgramOfNoRank", job("program", 2, {"--rank", "2"}), "rank"}),
    kCaseName);

TEST(BadInput, NoCommandShowsUsage) {
  const Workplace place;
  EXPECT_EQ(place.run({}).status, 2);
}

}  // namespace
}  // namespace foreshard::cli_tests
