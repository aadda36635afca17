#include "models/plan/plan.hpp"

#include <filesystem>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/models/plan/random_plan.hpp"

namespace foreshard {
namespace {

namespace fs = std::filesystem;

Plan good_plan(const std::string& text) {
  const Result<Plan> plan = parse_plan(text, "plan.toml");
  EXPECT_TRUE(plan) << plan.error().text();
  return plan.value_or(Plan{});
}

TEST(Plan, AnEmptyFileIsTheDefaults) {
  EXPECT_EQ(good_plan(""), Plan{});
}

TEST(Plan, ReadsEveryKindOfValue) {
  const Plan plan = good_plan(R"(
operators = "pytorch-eager"
runtime = "fsdp1"
batch = { micro_batch = 2, sequence = 128, gradient_sync = "last" }

[wrap]
policy = "modules"
modules = ["model.embed_tokens", ["model.norm", "lm_head"], "model.layers.*.mlp"]

[sharding]
reshard_after_forward = 4

[prefetch]
backward = "none"

[precision]
reduce = "gradient"

[checkpointing]
mode = "selective"
save = ["attention", "every_second_matmul"]

[optimizer]
betas = [0, 0.95]
lr = 3
)");
  EXPECT_EQ(plan.operators, OperatorSetName::pytorch_eager);
  EXPECT_EQ(plan.runtime, RuntimeName::fsdp1);
  EXPECT_EQ(plan.tokens(), 256);
  EXPECT_EQ(plan.batch.gradient_sync, When::last);
  const std::vector<WrapGroup> modules = {{{"model.embed_tokens"}, false},
                                          {{"model.norm", "lm_head"}, true},
                                          {{"model.layers.*.mlp"}, false}};
  EXPECT_EQ(plan.wrap.modules, modules);
  EXPECT_EQ(plan.sharding.reshard_after_forward,
            (ReshardAfterForward{ReshardAfterForward::Kind::group, 4}));
  EXPECT_EQ(plan.prefetch.backward, std::nullopt);
  EXPECT_EQ(plan.precision.reduce, std::nullopt);
  EXPECT_TRUE(plan.checkpointing.save_attention);
  EXPECT_FALSE(plan.checkpointing.save_matmul);
  EXPECT_TRUE(plan.checkpointing.save_every_second_matmul);
  EXPECT_EQ(plan.optimizer.beta1, 0.0);
  EXPECT_EQ(plan.optimizer.beta2, 0.95);
  EXPECT_EQ(plan.optimizer.lr, 3.0);
}

TEST(Plan, ReshardAfterForwardTakesBooleansAndAuto) {
  using Kind = ReshardAfterForward::Kind;
  const auto kind = [](const std::string& value) {
    return good_plan("[sharding]\nreshard_after_forward = " + value)
        .sharding.reshard_after_forward.kind;
  };
  EXPECT_EQ(kind("true"), Kind::yes);
  EXPECT_EQ(kind("false"), Kind::no);
  EXPECT_EQ(kind("\"auto\""), Kind::automatic);
  EXPECT_EQ(kind("2"), Kind::group);
}

TEST(Plan, TheOptimizerKernelsDefaultFollowsTheOperators) {
  EXPECT_EQ(good_plan("").optimizer.kernel, OptimizerKernel::fused);
  EXPECT_EQ(good_plan("operators = 'pytorch-eager'").optimizer.kernel, OptimizerKernel::foreach);
  EXPECT_EQ(good_plan("operators = 'pytorch-compile'\noptimizer.kernel = 'fused'").optimizer.kernel,
            OptimizerKernel::fused);
}

TEST(Plan, PyTorchIsDescribedByItsOwnKeys) {
  const Plan plan = good_plan(R"(
[checkpointing]
fraction = 0.25

[pytorch]
version = "2.8.0+cu126"
implementation = "transformers"
logits = "bf16"
keep_logits = true
loss = "chunked"
rms_norm = "fused"
float8 = "rowwise"
compile = "blocks+loss"
deterministic = true
read_loss_every = 10
)");
  EXPECT_EQ(plan.checkpointing.fraction, 0.25);
  EXPECT_EQ(plan.pytorch.version, (PyTorchVersion{2, 8}));
  EXPECT_EQ(plan.pytorch.implementation, ImplementationName::transformers);
  EXPECT_EQ(plan.pytorch.logits, DType::bf16);
  EXPECT_TRUE(plan.pytorch.keep_logits);
  EXPECT_EQ(plan.pytorch.loss, LossKind::chunked);
  EXPECT_EQ(plan.pytorch.rms_norm, RmsNormKind::fused);
  EXPECT_EQ(plan.pytorch.float8, Float8Scaling::rowwise);
  EXPECT_EQ(plan.pytorch.compile, CompileScope::blocks_and_loss);
  EXPECT_TRUE(plan.pytorch.deterministic);
  EXPECT_EQ(plan.pytorch.read_loss_every, 10);
}

TEST(Plan, VersionsOfPyTorchAreThoseThatTorchReports) {
  const auto version = [](const std::string& text) { return parse_pytorch_version(text); };
  EXPECT_EQ(version("2.11"), (PyTorchVersion{2, 11}));
  EXPECT_EQ(version("2.11.0"), (PyTorchVersion{2, 11}));
  EXPECT_EQ(version("2.11.0+cu130"), (PyTorchVersion{2, 11}));
  EXPECT_EQ(version("2.12.0.dev20260301+cpu"), (PyTorchVersion{2, 12}));
  EXPECT_EQ(version("2.8.0a0+git1234567"), (PyTorchVersion{2, 8}));
  for (const char* text : {"", "2", "2.", ".11", "-2.1", "2.-1", "v2.11", "latest", "2.99999"}) {
    EXPECT_EQ(version(text), std::nullopt) << text;
  }
}

TEST(Plan, VersionsThatAreNotDescribedAreTakenAsTheNearest) {
  EXPECT_EQ(nearest_described({2, 4}), (PyTorchVersion{2, 6}));
  EXPECT_EQ(nearest_described({1, 13}), (PyTorchVersion{2, 6}));
  EXPECT_EQ(nearest_described({2, 9}), (PyTorchVersion{2, 9}));
  EXPECT_EQ(nearest_described({3, 0}), (PyTorchVersion{2, 15}));
}

std::vector<int> checkpointed_of(const CheckpointPlan& checkpointing, int blocks) {
  std::vector<int> chosen;
  for (int block = 0; block < blocks; ++block) {
    if (is_checkpointed(checkpointing, block)) chosen.push_back(block);
  }
  return chosen;
}

TEST(Plan, ModeAndFractionChooseTheBlocksThatAreCheckpointed) {
  using Mode = CheckpointMode;
  using Blocks = std::vector<int>;
  const auto chosen = [](Mode mode, double fraction) {
    CheckpointPlan plan;
    plan.mode = mode;
    plan.fraction = fraction;
    return checkpointed_of(plan, 7);
  };
  EXPECT_EQ(chosen(Mode::none, 1), Blocks{});
  EXPECT_EQ(chosen(Mode::full, 1), (Blocks{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(chosen(Mode::every, 1), (Blocks{1, 3, 5}));
  EXPECT_EQ(chosen(Mode::full, 0), Blocks{});
  EXPECT_EQ(chosen(Mode::full, 0.5), (Blocks{0, 2, 4, 6}));
  EXPECT_EQ(chosen(Mode::selective, 1.0 / 3), (Blocks{1, 4}));
  EXPECT_EQ(chosen(Mode::every, 0.5), (Blocks{1, 5}));
}

// As a loop that selects a block whenever the share reaches the next half: IBM's way to write it.
TEST(Plan, FractionsSpreadAsALoopOverBlocksDoes) {
  for (const double fraction :
       {0.0, 0.1, 0.2, 0.25, 1.0 / 3, 0.4, 0.5, 0.6, 2.0 / 3, 0.75, 0.9, 1.0}) {
    CheckpointPlan plan;
    plan.mode = CheckpointMode::full;
    plan.fraction = fraction;
    std::vector<int> expected;
    double next = 0.5;
    for (int block = 0; block < 96; ++block) {
      if ((block + 1) * fraction < next) continue;
      expected.push_back(block);
      next += 1;
    }
    EXPECT_EQ(checkpointed_of(plan, 96), expected) << fraction;
  }
}

TEST(Plan, LettersBeyondAsciiMayStandInComments) {
  const Plan plan =
      good_plan("\xEF\xBB\xBF# t\u00ebst\n[wrap]\nmodules = ['#', \"'''\\\"\"] # \u00cb");
  EXPECT_EQ(plan.wrap.modules[0].globs[0], "#");
  EXPECT_EQ(plan.wrap.modules[1].globs[0], "'''\"");
}

struct BadPlan {
  std::string text;
  std::string file;  // with the line
  std::string field;
  std::string mentions;

  friend void PrintTo(const BadPlan& bad, std::ostream* out) { *out << bad.field; }
};

class RefusesBadPlan : public testing::TestWithParam<BadPlan> {};

TEST_P(RefusesBadPlan, NamingLineKeyAndWhatIsExpected) {
  const Result<Plan> plan = parse_plan(GetParam().text, "p.toml");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().file, GetParam().file) << plan.error().text();
  EXPECT_EQ(plan.error().field, GetParam().field) << plan.error().text();
  EXPECT_NE(plan.error().message.find(GetParam().mentions), std::string::npos)
      << plan.error().text();
}

BadPlan bad(const std::string& section, const std::string& key, const std::string& value,
            const std::string& mentions) {
  return {"[" + section + "]\n" + key + " = " + value, "p.toml:2", section + "." + key, mentions};
}

INSTANTIATE_TEST_SUITE_P(
    Keys, RefusesBadPlan,
    testing::Values(
        bad("batch", "microbatch", "3", "expected a key of [batch]; did you mean 'micro_batch'"),
        bad("batch", "lr", "3", "[optimizer]"), bad("batch", "potatoes", "3", "micro_batch, "),
        BadPlan{"\nmicro_batch = 3", "p.toml:2", "micro_batch", "[batch]"},
        BadPlan{"[bach]\nmicro_batch = 3", "p.toml:1", "bach",
                "expected one that `foreshard plan --defaults` prints; did you mean 'batch'"},
        BadPlan{"batch = 3", "p.toml:1", "batch", "expected a section"},
        BadPlan{"[[batch]]\nmicro_batch = 3", "p.toml:1", "batch", "expected a section"},
        BadPlan{"[wrap\n", "p.toml:1", "", "TOML"},
        BadPlan{"a = 1\na = 2\n", "p.toml:2", "", "TOML"},
        BadPlan{std::string(5000, '['), "p.toml:1", "", "TOML"},
        BadPlan{"a = " + std::string(100000, '['), "p.toml:1", "", "TOML"},
        BadPlan{[] {
                  std::string key = "a";
                  for (int i = 0; i < 100000; ++i) key += ".a";
                  return key + " = 1";
                }(),
                "p.toml:1", "", "absurd"},
        BadPlan{"[wrap]\npolicy = \u00cbx", "p.toml:2", "", "ASCII"},
        BadPlan{"[wrap]\nmodules = ['\u00cb']", "p.toml:2", "", "ASCII"},
        BadPlan{"[pytorch]\nversion = \"\"\"2\n\"\"\"", "p.toml:2", "pytorch.version",
                "expected a version of PyTorch"}));

INSTANTIATE_TEST_SUITE_P(
    Values, RefusesBadPlan,
    testing::Values(
        bad("pytorch", "version", "\"newest\"", "such as"),
        bad("pytorch", "compile", "\"block\"", "did you mean \"blocks\""),
        bad("checkpointing", "fraction", "1.5", "a number from 0 to 1"),
        bad("batch", "micro_batch", "0", "integer from 1"),
        bad("batch", "micro_batch", "-1", "is -1"), bad("batch", "micro_batch", "1e9", "integer"),
        bad("batch", "micro_batch", "2.0", "integer"),
        bad("batch", "micro_batch", "true", "integer"),
        bad("batch", "micro_batch", "''", "integer"),
        bad("batch", "micro_batch", "2026-11-21", "is a date"),
        bad("batch", "micro_batch", "[1, [2], {}]", "is a list"),
        bad("batch", "micro_batch", "'4'", "integer"),
        bad("batch", "micro_batch", "4611686018427387904", "1048576"),
        BadPlan{"[batch]\nmicro_batch = 99999999999999999999", "p.toml:2", "", "TOML"},
        bad("batch", "gradient_sync", "'latest'", "did you mean \"last\""),
        bad("wrap", "policy", "'trasformer'", "did you mean \"transformer\""),
        bad("wrap", "policy", "3", "\"transformer\", \"size\" or \"modules\""),
        bad("wrap", "modules", "'model.layers.*'", "a list of globs"),
        bad("wrap", "modules", "[3]", "a list of globs"),
        bad("wrap", "modules", "[[]]", "a list of globs"),
        bad("wrap", "modules", "['']", "a list of globs"),
        bad("wrap", "layer_class", "'LlamaDecoderLayer'", "a list of names"),
        bad("sharding", "reshard_after_forward", "'yes'", "auto"),
        bad("sharding", "reshard_after_forward", "0", "an integer from 1"),
        bad("sharding", "shard_dim", "2", "from 0 to 1"),
        bad("precision", "param", "'fp12'", "\"fp32\" or \"bf16\""),
        bad("precision", "param", "'fp64'", "\"fp32\" or \"bf16\""),
        bad("precision", "reduce", "'grad'", "gradient"),
        bad("prefetch", "forward", "-1", "from 0"),
        bad("prefetch", "backward", "'off'", "\"none\" or an integer"),
        bad("checkpointing", "every", "0", "from 1"),
        bad("checkpointing", "save", "['atention']", "did you mean \"attention\""),
        bad("checkpointing", "save", "'attention'", "a list"),
        bad("optimizer", "lr", "'fast'", "number"), bad("optimizer", "lr", "nan", "number"),
        bad("optimizer", "lr", "inf", "number"), bad("optimizer", "lr", "-0.1", "number"),
        bad("optimizer", "betas", "[0.9]", "two numbers"),
        bad("optimizer", "betas", "[0.9, 1.0]", "below 1"),
        bad("optimizer", "betas", "0.9", "two numbers"),
        bad("offload", "parameters", "1", "true or false"),
        bad("allocator", "garbage_collection_threshold", "1.0", "below 1"),
        bad("pytorch", "attention", "'flsh'", "did you mean \"flash\""),
        bad("pytorch", "version", "2.11", "a version of PyTorch, such as \"2.11\"")));

INSTANTIATE_TEST_SUITE_P(
    Contradictions, RefusesBadPlan,
    testing::Values(
        BadPlan{"[sharding]\nstrategy='shard_grad_op'\nreshard_after_forward=true", "p.toml:3",
                "sharding.reshard_after_forward", "shard_grad_op"},
        BadPlan{"[sharding]\nstrategy='hybrid_shard_zero2'\nreshard_after_forward=2", "p.toml:3",
                "sharding.reshard_after_forward", "hybrid_shard_zero2"},
        BadPlan{"[sharding]\nstrategy='no_shard'\nreshard_after_forward=2", "p.toml:3",
                "sharding.reshard_after_forward", "no_shard"},
        bad("sharding", "shard_group", "4", "full_shard"),
        bad("optimizer", "kernel", "'foreach'", "\"fused\""),
        BadPlan{"[optimizer]\nname='sgd'\nmomentum=0.9", "p.toml:3", "optimizer.momentum",
                "pytorch-eager"},
        bad("checkpointing", "save", "['matmul', 'every_second_matmul']", "one of them"),
        bad("allocator", "memory_fraction", "0.0", "above 0"),
        bad("allocator", "max_split_size_mb", "20", "more than 20"),
        bad("allocator", "roundup_power2_divisions", "3", "power of two"),
        bad("pytorch", "cublas_workspace_config", "':x:2'", "\":4096:2:16:8\""),
        bad("pytorch", "cublas_workspace_config", "':4096'", "\":4096:2:16:8\""),
        bad("pytorch", "cublas_workspace_config", "':99999999999999999999:2'", "\":4096:2:16:8\""),
        BadPlan{"[batch]\nmicro_batch = 1000\nsequence = 1000000", "p.toml:2", "batch.micro_batch",
                "tokens"}));

TEST(Plan, AFileThatIsNotThereIsNamed) {
  const Result<Plan> plan = load_plan("/somewhere/no.toml");
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().text().find("/somewhere/no.toml"), std::string::npos);
  EXPECT_FALSE(load_plan(testing::TempDir()));
}

RC_GTEST_PROP(Plan, ReadsBackWhatItWrites, ()) {
  const Plan plan = *arbitrary_plan();
  const std::string text = to_toml(plan);
  const Result<Plan> again = parse_plan(text, "plan.toml");
  if (!again) RC_FAIL(again.error().text());
  RC_ASSERT(*again == plan);
  RC_ASSERT(to_toml(*again) == text);
}

TEST(Plan, ReadsTheReferencePlans) {
  const fs::path source(FORESHARD_SOURCE_DIR);
  const fs::path all = source / "tests/evidence/memory/plans";
  int read = 0;
  for (const fs::path& plans :
       {source / "tests/golden/fsdp_requests/plans", source / "traces/samples", all}) {
    for (const auto& entry : fs::directory_iterator(plans)) {
      if (entry.path().extension() != ".toml") continue;
      const Result<Plan> plan = load_plan(entry.path().string());
      EXPECT_TRUE(plan) << plan.error().text();
      ++read;
    }
  }
  EXPECT_GE(read, 200);
}

OptimizerPlan schedule(Schedule kind, std::int64_t warmup, std::int64_t decay) {
  OptimizerPlan optimizer;
  optimizer.schedule = kind;
  optimizer.warmup_steps = warmup;
  optimizer.decay_steps = decay;
  return optimizer;
}

// The rates PyTorch's LinearLR and CosineAnnealingLR give for lr 1e-3, three steps of warm-up from a
// tenth and six of cosine: 1e-4, 4e-4, 7e-4, 1e-3, 9.33e-4, 7.5e-4, 5e-4, 2.5e-4, 6.70e-5, 0.
TEST(LearningRate, FollowsWarmUpThenCosine) {
  const double expected[] = {
      1e-4, 4e-4, 7e-4, 1e-3, 9.33012701892219e-4, 7.5e-4, 5e-4, 2.5e-4, 6.69872981077807e-5, 0};
  const OptimizerPlan optimizer = schedule(Schedule::cosine, 3, 6);
  for (int step = 1; step <= 10; ++step) {
    EXPECT_NEAR(learning_rate(optimizer, step, 10), expected[step - 1], 1e-17) << step;
  }
  EXPECT_EQ(learning_rate(optimizer, 50, 50), 0.0);
}

TEST(LearningRate, ReachesZeroOneStepPastTheLastByDefault) {
  for (const Schedule kind : {Schedule::linear, Schedule::cosine}) {
    const OptimizerPlan optimizer = schedule(kind, 2, 0);
    EXPECT_EQ(learning_rate(optimizer, 3, 10), 1e-3);
    EXPECT_GT(learning_rate(optimizer, 10, 10), 0.0);
    EXPECT_NEAR(learning_rate(optimizer, 11, 10), 0.0, 1e-18);
  }
  EXPECT_NEAR(learning_rate(schedule(Schedule::linear, 2, 0), 7, 10), 0.5e-3, 1e-18);
}

// The factor that training scripts give torch's LambdaLR, torchtitan's linear_warmup_stable_decay among them:
// least + (1 - least) (1 - x) or least + (1 - least) (1 + cos(pi x)) / 2 after the warm-up.
TEST(LearningRate, FallsToTheLeastAndStaysThere) {
  for (const Schedule kind : {Schedule::linear, Schedule::cosine}) {
    for (const double least : {0.0, 0.1, 0.5, 1.0}) {
      OptimizerPlan optimizer = schedule(kind, 3, 6);
      optimizer.min_lr = least * optimizer.lr;
      for (int step = 1; step <= 20; ++step) {
        const int done = step - 1;
        const double x = std::min(1.0, (done - 3) / 6.0);
        const double left =
            kind == Schedule::linear ? 1 - x : 0.5 * (1 + std::cos(std::numbers::pi * x));
        const double factor = done < 3 ? 0.1 + 0.9 * done / 3 : least + (1 - least) * left;
        EXPECT_NEAR(learning_rate(optimizer, step, 10), 1e-3 * factor, 1e-18) << step;
      }
      EXPECT_EQ(learning_rate(optimizer, 1000, 10), optimizer.min_lr);
    }
  }
}

// transformers 5.5, get_cosine_with_min_lr_schedule_with_warmup: lr 2e-4, no warm-up, 8 steps, min_lr 5e-5.
TEST(LearningRate, IsThatOfTransformersWithALeast) {
  OptimizerPlan optimizer = schedule(Schedule::cosine, 0, 8);
  optimizer.lr = 2e-4;
  optimizer.min_lr = 5e-5;
  const double expected[] = {
      0.0002,   0.0001942909649383465, 0.00017803300858899106, 0.00015370125742738175,
      0.000125, 9.629874257261827e-05, 7.196699141100895e-05,  5.57090350616535e-05,
      5e-05};
  for (int step = 1; step <= 9; ++step) {
    EXPECT_NEAR(learning_rate(optimizer, step, 8), expected[step - 1], 1e-17) << step;
  }
}

TEST(LearningRate, ConstantStaysAfterItsWarmUp) {
  const OptimizerPlan optimizer = schedule(Schedule::constant, 2, 0);
  EXPECT_DOUBLE_EQ(learning_rate(optimizer, 1, 4), 1e-4);
  EXPECT_DOUBLE_EQ(learning_rate(optimizer, 2, 4), 5.5e-4);
  EXPECT_EQ(learning_rate(optimizer, 3, 4), 1e-3);
  EXPECT_EQ(learning_rate(optimizer, 100, 4), 1e-3);
}

}  // namespace
}  // namespace foreshard
