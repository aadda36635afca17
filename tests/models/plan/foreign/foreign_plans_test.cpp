// Each folder of data/ is a configuration in the form its tool writes: `config.*`, the plan it must
// become (keys that are not there have their defaults) and the report of the conversion.
#include "models/plan/foreign/foreign_plans.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace foreshard {
namespace {

namespace fs = std::filesystem;

const fs::path kData = fs::path(FORESHARD_SOURCE_DIR) / "tests/models/plan/foreign/data";

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kData)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string config_of(const std::string& name) {
  for (const auto& entry : fs::directory_iterator(kData / name)) {
    if (entry.path().stem() == "config") return entry.path().string();
  }
  return "";
}

class ForeignPlan : public testing::TestWithParam<std::string> {};

TEST_P(ForeignPlan, BecomesThePlan) {
  const Result<ConvertedPlan> converted = read_any_plan(config_of(GetParam()));
  ASSERT_TRUE(converted) << converted.error().text();
  const Result<Plan> expected = load_plan((kData / GetParam() / "plan.toml").string());
  ASSERT_TRUE(expected) << expected.error().text();
  EXPECT_EQ(to_toml(converted->plan), to_toml(*expected));
  const Result<Plan> again = parse_plan(to_toml(converted->plan), "again.toml");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(*again, converted->plan);
}

TEST_P(ForeignPlan, IsReported) {
  const Result<ConvertedPlan> converted = read_any_plan(config_of(GetParam()));
  ASSERT_TRUE(converted) << converted.error().text();
  EXPECT_EQ(conversion_report(*converted), text_of(kData / GetParam() / "report.txt"));
}

// The plan differs from Foreshard's defaults only in keys that the record names.
TEST_P(ForeignPlan, NamesEveryKeyThatItSets) {
  const Result<ConvertedPlan> converted = read_any_plan(config_of(GetParam()));
  ASSERT_TRUE(converted) << converted.error().text();
  const std::vector<SpeltKey> defaults = spelt_keys(Plan{}), set = spelt_keys(converted->plan);
  for (std::size_t k = 0; k < set.size(); ++k) {
    if (set[k].value == defaults[k].value) continue;
    const bool is_unsaid =
        std::count(converted->unsaid.begin(), converted->unsaid.end(), set[k].name) > 0;
    const bool is_carried = std::any_of(
        converted->carried.begin(), converted->carried.end(), [&](const CarriedKey& carried) {
          return std::any_of(carried.plan.begin(), carried.plan.end(), [&](const SpeltKey& key) {
            return key.name == set[k].name && key.value == set[k].value;
          });
        });
    EXPECT_TRUE(is_unsaid || is_carried) << set[k].name << " = " << set[k].value;
  }
}

INSTANTIATE_TEST_SUITE_P(Data, ForeignPlan, testing::ValuesIn(cases()),
                         [](const auto& of) { return of.param; });

struct BadFile {
  std::string name, text, message;
  friend std::ostream& operator<<(std::ostream& out, const BadFile& bad) { return out << bad.name; }
};

const auto kName = [](const auto& of) { return of.param.name; };

class BadForeignPlan : public testing::TestWithParam<BadFile> {};

TEST_P(BadForeignPlan, IsRefused) {
  const Result<ConvertedPlan> converted = parse_any_plan(GetParam().text, "f");
  ASSERT_FALSE(converted);
  EXPECT_EQ(converted.error().text(), GetParam().message);
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

const std::string kFsdp = "distributed_type: FSDP\nfsdp_config:\n";

INSTANTIATE_TEST_SUITE_P(
    Values, BadForeignPlan,
    testing::Values(
        BadFile{"Strategy", kFsdp + "  fsdp_sharding_strategy: FULL",
                "f:3: fsdp_config.fsdp_sharding_strategy: is FULL; expected FULL_SHARD, "
                "SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD, HYBRID_SHARD_ZERO2, 1, 2, 3, 4 or 5"},
        BadFile{"Version", kFsdp + "  fsdp_version: 3",
                "f:3: fsdp_config.fsdp_version: is 3; expected an integer from 1 to 2"},
        BadFile{"ReshardOfFsdp2", kFsdp + "  fsdp_version: 2\n  fsdp_reshard_after_forward: maybe",
                "f:4: fsdp_config.fsdp_reshard_after_forward: is maybe; expected true or false"},
        BadFile{"LayerClass",
                kFsdp + "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
                        "  fsdp_transformer_layer_cls_to_wrap: A,,B",
                "f:4: fsdp_config.fsdp_transformer_layer_cls_to_wrap: is A,,B; expected names of "
                "classes, separated by commas"},
        BadFile{"MinNumParams",  // PyYAML has no number without a point before its exponent
                kFsdp + "  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n  fsdp_min_num_params: 1e8",
                "f:4: fsdp_config.fsdp_min_num_params: is 1e8; expected an integer from 0 to "
                "1000000000000000"},
        BadFile{"MixedPrecision", kFsdp + "  a: 1\nmixed_precision: int8",
                "f:4: mixed_precision: is int8; expected no, false, bf16, fp16 or fp8"},
        BadFile{"DistributedType", "distributed_type: XLA",
                "f:1: distributed_type: is XLA; expected FSDP, MULTI_GPU or DEEPSPEED"},
        BadFile{"NoDistributedType", "compute_environment: LOCAL_MACHINE",
                "f: distributed_type: is missing; expected FSDP, MULTI_GPU or DEEPSPEED"},
        BadFile{"DeepSpeedFile",
                "distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: ds.json",
                "f:3: deepspeed_config.deepspeed_config_file: is ds.json; expected settings in "
                "this file; give the DeepSpeed configuration itself instead"},
        BadFile{"SequenceLength", "[training]\nseq_len = 0",
                "f:2: training.seq_len: is 0; expected an integer from 1 to 16777216"},
        BadFile{"AutoOutsideDeepSpeed", "[training]\nseq_len = \"auto\"",
                "f:2: training.seq_len: is auto; expected an integer from 1 to 16777216"},
        BadFile{"TokensOfAMicroStep", "[training]\nseq_len = 16777216\nlocal_batch_size = 2",
                "f: as a plan, batch.micro_batch: times sequence is 33554432 tokens; expected at "
                "most 16777216"},
        BadFile{"Reshard", "[parallelism]\nfsdp_reshard_after_forward = \"sometimes\"",
                "f:2: parallelism.fsdp_reshard_after_forward: is sometimes; expected default, "
                "always or never"},
        BadFile{"ShardDegree", "[parallelism]\ndata_parallel_shard_degree = 0",
                "f:2: parallelism.data_parallel_shard_degree: is 0; expected -1 (the ranks that "
                "are left) or a number of ranks"},
        BadFile{"GlobalBatch",
                "[training]\nglobal_batch_size = 7\n[parallelism]\ndata_parallel_shard_degree = 2",
                "f:2: training.global_batch_size: is 7; expected a multiple of 16, "
                "local_batch_size times the data-parallel ranks"},
        BadFile{"SelectiveOption",
                "[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"ops\"",
                "f:3: activation_checkpoint.selective_ac_option: is ops; expected an integer from "
                "0 to 10000"},
        BadFile{"TitanDtype", "[training]\nmixed_precision_param = \"float16\"",
                "f:2: training.mixed_precision_param: is float16; expected bfloat16 or float32"},
        BadFile{"Stage", R"({"zero_optimization": {"stage": 4}})",
                "f: zero_optimization.stage: is 4; expected an integer from 0 to 3"},
        BadFile{"StageAuto", R"({"zero_optimization": {"stage": "auto"}})",
                "f: zero_optimization.stage: is auto; expected an integer from 0 to 3"},
        BadFile{"BothPrecisions", R"({"bf16": {"enabled": true}, "fp16": {"enabled": true}})",
                "f: fp16.enabled: is true; expected false, as bf16.enabled is true"},
        BadFile{"Betas", R"({"fp16": {}, "optimizer": {"params": {"betas": [0.9, 1]}}})",
                "f: optimizer.params.betas: is [0.9, 1]; expected a list of two numbers, each from "
                "0 to below 1"},
        BadFile{"TrainBatchSize",
                R"({"train_batch_size": 7, "train_micro_batch_size_per_gpu": 2,
                    "gradient_accumulation_steps": 2})",
                "f: train_batch_size: is 7; expected a multiple of 4, the sequences of one rank in "
                "a step"},
        BadFile{"LayerClassBeyondAscii",
                kFsdp + "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
                        "  fsdp_transformer_layer_cls_to_wrap: Schl\xC3\xBCssel",
                "f:4: fsdp_config.fsdp_transformer_layer_cls_to_wrap: is Schl\xC3\xBCssel; "
                "expected names of classes, separated by commas"},
        BadFile{"Clipping", R"({"bf16": {}, "gradient_clipping": -1})",
                "f: gradient_clipping: is -1; expected a number from 0 to 1e+30"},
        BadFile{"OffloadDevice", R"({"zero_optimization": {"offload_param": {"device": "tape"}}})",
                "f: zero_optimization.offload_param.device: is tape; expected none, cpu or nvme"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Files, BadForeignPlan,
    testing::Values(
        BadFile{"Alias", "a: &a [1]\nb: *a",
                "f:2: has an alias (*name); expected the value itself; expected a configuration"},
        BadFile{"DeepYaml", "a: " + repeated("[", 40) + repeated("]", 40),
                "f:1: nests deeper than 16 levels; expected a configuration"},
        BadFile{"DeepYamlMaps", "a:\n" + repeated("- ", 50'000) + "x",
                "f:2: nests deeper than 16 levels; expected a configuration"},
        BadFile{"LongYaml", "a: [" + repeated("1,", 5'000) + "]",
                "f:1: holds more than 4,096 values; expected a configuration"},
        BadFile{"LargeYaml", "a: " + repeated("[", 300'000),
                "f: is larger than 256 KiB; expected a configuration"},
        BadFile{"YamlKeyTwice", "a: 1\na: 2",
                "f:2: has the key a twice; expected each key once; expected a configuration"},
        BadFile{"YamlMapAsKey", "a: 1\n? [b]\n: 2",
                "f:2: has a list or a map as a key; expected names; expected a configuration"},
        BadFile{
            "NoYaml", "a: [1",
            "f:1: is not valid YAML (end of sequence flow not found); expected a configuration"},
        BadFile{"OtherYaml", "name: somebody",
                "f: is YAML without a key of a tool that is known; expected a configuration of "
                "Accelerate, DeepSpeed, torchtitan, transformers' Trainer, axolotl or "
                "LLaMA-Factory, or a plan in TOML"},
        BadFile{"DeepJson", "{\"a\": " + repeated("[", 50'000),
                "f: nests deeper than 16 levels; expected a configuration"},
        BadFile{"LongJson", "{\"a\": [" + repeated("1,", 5'000) + "1]}",
                "f: holds more than 4,096 values; expected a configuration"},
        BadFile{"JsonKeyTwice", R"({"a": 1, "a": 2})",
                "f: has the key a twice; expected each key once; expected a configuration"},
        BadFile{"OtherJson", R"({"name": "somebody"})",
                "f: is JSON without a key of a tool that is known; expected a configuration of "
                "Accelerate, DeepSpeed, torchtitan, transformers' Trainer, axolotl or "
                "LLaMA-Factory, or a plan in TOML"}),
    kName);

TEST(AnyPlan, ReadsAPlanAsTheReaderOfPlansDoes) {
  for (const char* text :
       {"", "# nothing\n", "[batch]\nmicro_batch = 2\n", "\xEF\xBB\xBF[optimizer]\nlr = 1.0\n"}) {
    const Result<ConvertedPlan> any = parse_any_plan(text, "f");
    ASSERT_TRUE(any) << any.error().text();
    EXPECT_EQ(any->plan, *parse_plan(text, "f"));
    EXPECT_FALSE(any->is_foreign());
    EXPECT_TRUE(conversion_warnings(*any).empty());
  }
  for (const char* text : {"[batch\n", "[batch]\nmicro = 2\n", "modell = 1\n", "wrap = \"a: b\"\n",
                           "[model]\nname = \"x\"\n[batch]\nmicro_batch = 1\n"}) {
    const Result<ConvertedPlan> any = parse_any_plan(text, "f");
    ASSERT_FALSE(any) << text;
    EXPECT_EQ(any.error().text(), parse_plan(text, "f").error().text());
  }
}

TEST(AnyPlan, LooksAtTheContentOfAFileAndNotAtItsName) {
  EXPECT_EQ(parse_any_plan(R"({"distributed_type": "FSDP"})", "a.toml")->origin,
            "Accelerate FSDP 1 configuration");
  EXPECT_EQ(parse_any_plan("\n# c\n\"distributed_type\":   FSDP\n", "a.json")->origin,
            "Accelerate FSDP 1 configuration");
  EXPECT_EQ(parse_any_plan("[training]\n", "a.yaml")->origin, "torchtitan configuration");
  EXPECT_EQ(parse_any_plan("training.seq_len = 4\n", "a.yaml")->plan.batch.sequence, 4);
  EXPECT_EQ(parse_any_plan("// c\n{\"bf16\": {}}", "a")->origin, "DeepSpeed ZeRO 0 configuration");
}

// "zero_optimization": true, as before 2020.
TEST(AnyPlan, TakesDeepSpeedsOldFlagForStageOne) {
  const Result<ConvertedPlan> on = parse_any_plan(R"({"zero_optimization": true})", "f");
  EXPECT_EQ(on->origin, "DeepSpeed ZeRO 1 configuration");
  EXPECT_EQ(on->plan.sharding.strategy, Strategy::shard_grad_op);
  EXPECT_TRUE(on->dropped.empty());
  const Result<ConvertedPlan> off = parse_any_plan(R"({"zero_optimization": false})", "f");
  EXPECT_EQ(off->origin, "DeepSpeed ZeRO 0 configuration");
  EXPECT_EQ(off->plan.runtime, RuntimeName::ddp);
}

TEST(AnyPlan, WarnsOfWhatWasLeftOutAndOfNothingElse) {
  const Result<ConvertedPlan> all = parse_any_plan("distributed_type: FSDP\n", "f");
  EXPECT_EQ(conversion_origin(*all), "read as an Accelerate FSDP 1 configuration");
  EXPECT_TRUE(conversion_warnings(*all).empty());
  const Result<ConvertedPlan> some =
      parse_any_plan(kFsdp + "  fsdp_ignored_modules: x\n  fsdp_newest: 1\n", "f");
  EXPECT_EQ(conversion_warnings(*some),
            (std::vector<std::string>{
                "f: not carried over: fsdp_config.fsdp_ignored_modules = x: a plan shards every "
                "module",
                "f: not carried over: fsdp_config.fsdp_newest = 1: not understood"}));
}

// Batches that count all ranks, and groups of the ranks that are left.
TEST(AnyPlan, ResolvesWhatOnlyTheNumberOfRanksCanSay) {
  const std::string titan = "[training]\nlocal_batch_size = 2\nglobal_batch_size = 64\n";
  EXPECT_EQ(parse_any_plan(titan, "f")->plan.batch.accumulation, 1);
  EXPECT_FALSE(conversion_warnings(*parse_any_plan(titan, "f")).empty());
  EXPECT_EQ(parse_any_plan(titan, "f", 8)->plan.batch.accumulation, 4);
  EXPECT_TRUE(conversion_warnings(*parse_any_plan(titan, "f", 8)).empty());
  EXPECT_FALSE(parse_any_plan(titan, "f", 5));
  const std::string groups = "[parallelism]\ndata_parallel_replicate_degree = 2\n";
  EXPECT_EQ(parse_any_plan(groups, "f", 16)->plan.sharding.shard_group, 8);
  const auto deepspeed = [](const std::string& given) {
    return parse_any_plan(R"({"train_batch_size": 64, )" + given + "}", "f", 8);
  };
  EXPECT_EQ(deepspeed(R"("train_micro_batch_size_per_gpu": 2)")->plan.batch.accumulation, 4);
  EXPECT_EQ(deepspeed(R"("gradient_accumulation_steps": 4)")->plan.batch.micro_batch, 2);
  EXPECT_FALSE(deepspeed(R"("gradient_accumulation_steps": 3)"));
  const auto other = parse_any_plan("distributed_type: FSDP\nnum_processes: 4\n", "f", 8);
  EXPECT_EQ(conversion_warnings(*other),
            (std::vector<std::string>{"f: not carried over: num_processes = 4: names 4 ranks; the "
                                      "result is that of 8, as requested"}));
}

TEST(AnyPlan, ReadsTomlAsPeopleWriteIt) {
  const Plan expected = parse_any_plan("[training]\nseq_len = 4096\n", "f")->plan;
  for (const char* text : {"training = {seq_len = 4096}\n", "training.seq_len = 4096\n",
                           "[job]\ndescription = \"\"\"\nLlama \"8B\" # no "
                           "comment\n\"\"\"\n[training]\nseq_len = 4096\n",
                           "[job]\na = '''\nC:\\runs\n'''\n[training]\r\nseq_len = 4096 # here\r\n",
                           "[job]\ndescription = \"\xC3\xBC\"\n[training]\nseq_len = 4096\n"}) {
    const auto read = parse_any_plan(text, "f");
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->plan, expected) << text;
  }
}

TEST(AnyPlan, KnowsAConfigurationFromARecording) {
  for (const std::string& name : cases()) EXPECT_TRUE(is_any_plan(config_of(name))) << name;
  EXPECT_TRUE(is_any_plan("some.toml"));
  EXPECT_FALSE(is_any_plan("/somewhere/no.json"));
}

TEST(AnyPlan, FilesThatCannotBeReadAreErrors) {
  const Result<ConvertedPlan> missing = read_any_plan("/somewhere/no.yaml");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().text(),
            "/somewhere/no.yaml: no such file; expected a plan in TOML, or a configuration of "
            "Accelerate, DeepSpeed, torchtitan, transformers' Trainer, axolotl or LLaMA-Factory");
}

}  // namespace
}  // namespace foreshard
