#include "executor/data/checkpoint.hpp"

#include <fstream>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "executor/data/replace_folder.hpp"
#include "tests/executor/data/shard_support.hpp"
#include "tests/temporary_folder.hpp"

namespace foreshard::executor {
namespace {

using tests::read_file;
using tests::TemporaryFolder;

constexpr ValueRole kStates[] = {ValueRole::exp_avg, ValueRole::exp_avg_sq};

// A model's values after `step` steps: any bits will do, as long as they differ everywhere.
struct Values {
  explicit Values(const ModuleTree& tree, std::uint32_t step) {
    std::uint32_t next = step * 1000003u;
    for (const auto& p : tree.parameters) {
      auto& of = parameters.emplace_back(static_cast<std::size_t>(p.numel()));
      auto& average = averages.emplace_back(of.size());
      for (auto& value : of) value = next++;
      for (auto& value : average) value = static_cast<std::uint16_t>(next++);
    }
  }
  std::vector<std::vector<std::uint32_t>> parameters;  // fp32, as bits
  std::vector<std::vector<std::uint16_t>> averages;    // bf16 states, both the same here
};

RunState state_of(const LlamaConfig& config, std::int64_t step, int ranks) {
  RunState state;
  state.step = step;
  state.total_steps = 100;
  state.seed = ~std::uint64_t{0};
  state.samples = 12 * step;
  state.ranks = ranks;
  state.data = {"täxt.npy", 5000, ~std::uint64_t{1}, "uint32"};
  state.plan = "[batch]\nmicro_batch = 2\n";
  state.model = to_json(config);
  return state;
}

class CheckpointTest : public ::testing::Test {
 protected:
  void write_shards(std::uint32_t step, int ranks, int dim = 0) {
    const Values values(tree_, step);
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<CheckpointValue> shards;
      std::vector<std::vector<std::uint32_t>> parameters;
      std::vector<std::vector<std::uint16_t>> averages;
      for (std::size_t i = 0; i < tree_.parameters.size(); ++i) {
        const auto shard = shard_of(tree_, static_cast<ParameterId>(i), rank, ranks, dim);
        parameters.push_back(part_of(values.parameters[i], shard));
        averages.push_back(part_of(values.averages[i], shard));
        shards.push_back({shard, ValueRole::parameter, DType::fp32,
                          std::as_bytes(std::span(parameters.back()))});
        for (const ValueRole state : kStates) {
          shards.push_back({shard, state, DType::bf16, std::as_bytes(std::span(averages.back()))});
        }
      }
      const auto done =
          write_checkpoint_shard(path_, format_, {config_, tree_, rank, ranks, shards});
      ASSERT_TRUE(done) << done.error().text();
    }
  }

  void save(std::uint32_t step, int ranks, int dim = 0) {
    const auto begun = begin_checkpoint(path_);
    ASSERT_TRUE(begun) << begun.error().text();
    write_shards(step, ranks, dim);
    const auto done = commit_checkpoint(path_, format_, state_of(config_, step, ranks));
    ASSERT_TRUE(done) << done.error().text();
  }

  void expect_values(const Checkpoint& checkpoint, std::uint32_t step, int ranks, int dim) {
    const Values values(tree_, step);
    for (std::size_t i = 0; i < tree_.parameters.size(); ++i) {
      for (int rank = 0; rank < ranks; ++rank) {
        const auto shard = shard_of(tree_, static_cast<ParameterId>(i), rank, ranks, dim);
        std::vector<std::uint32_t> parameter(static_cast<std::size_t>(shard.padded), 77);
        auto done = checkpoint.read(tree_, shard, ValueRole::parameter, DType::fp32, shard.padded,
                                    parameter.data());
        ASSERT_TRUE(done) << done.error().text();
        EXPECT_EQ(parameter, part_of(values.parameters[i], shard));
        for (const ValueRole state : kStates) {
          std::vector<std::uint16_t> average(static_cast<std::size_t>(shard.local), 77);
          done = checkpoint.read(tree_, shard, state, DType::bf16, shard.local, average.data());
          ASSERT_TRUE(done) << done.error().text();
          auto expected = part_of(values.averages[i], shard);
          expected.resize(average.size());
          EXPECT_EQ(average, expected);
        }
      }
    }
  }

  // The step of the checkpoint that can be read now; its values are checked.
  std::int64_t readable_step(int ranks = 2) {
    const auto checkpoint = Checkpoint::open(path_);
    if (!checkpoint) {
      ADD_FAILURE() << checkpoint.error().text();
      return 0;
    }
    const auto step = checkpoint->state().step;
    expect_values(*checkpoint, static_cast<std::uint32_t>(step), ranks, 0);
    return step;
  }

  LlamaConfig config_ = small_config();
  ModuleTree tree_ = llama_modules(config_);
  CheckpointFormat format_ = CheckpointFormat::native;
  TemporaryFolder folder_;
  std::string path_ = folder_.path("check point");
};

TEST_F(CheckpointTest, GivesBackTheSameBitsOnAnyNumberOfRanks) {
  for (const auto& [ranks, dim] : {std::pair{1, 0}, {3, 0}, {3, 1}, {40, 0}}) {
    save(5, ranks, dim);
    const auto checkpoint = Checkpoint::open(path_ + "/");
    ASSERT_TRUE(checkpoint) << checkpoint.error().text();
    const auto good = checkpoint->check_model(config_, tree_);
    EXPECT_TRUE(good) << good.error().text();
    for (const int others : {1, 2, 3, 4, 40}) {
      for (const int other_dim : {0, 1}) expect_values(*checkpoint, 5, others, other_dim);
    }
  }
}

TEST_F(CheckpointTest, KeepsTheState) {
  save(5, 2);
  const auto checkpoint = Checkpoint::open(path_);
  ASSERT_TRUE(checkpoint);
  const RunState& state = checkpoint->state();
  EXPECT_EQ(state.step, 5);
  EXPECT_EQ(state.total_steps, 100);
  EXPECT_EQ(state.seed, ~std::uint64_t{0});
  EXPECT_EQ(state.samples, 60);
  EXPECT_EQ(state.ranks, 2);
  EXPECT_EQ(state.data.path, "täxt.npy");
  EXPECT_EQ(state.data.tokens, 5000);
  EXPECT_EQ(state.data.fingerprint, ~std::uint64_t{1});
  EXPECT_EQ(state.data.type, "uint32");
  EXPECT_EQ(state.plan, "[batch]\nmicro_batch = 2\n");
}

TEST_F(CheckpointTest, MayBeOfATimeBeforeItKnewItsTokens) {
  save(5, 2);
  auto index = nlohmann::json::parse(read_file(path_ + "/index.json"));
  index.erase("data_tokens");
  index.erase("data_fingerprint");
  std::ofstream(path_ + "/index.json") << index;
  const auto checkpoint = Checkpoint::open(path_);
  ASSERT_TRUE(checkpoint) << checkpoint.error().text();
  EXPECT_EQ(checkpoint->state().data.tokens, 0);
  EXPECT_EQ(checkpoint->state().samples, 60);
}

TEST_F(CheckpointTest, IsOfOneOptimizerAndItsDtypes) {
  save(5, 2);
  const auto checkpoint = Checkpoint::open(path_);
  ASSERT_TRUE(checkpoint);
  Plan plan;
  plan.precision.optimizer_state = DType::bf16;
  EXPECT_TRUE(checkpoint->check_plan(tree_, plan))
      << checkpoint->check_plan(tree_, plan).error().text();
  const auto complaint = [&](auto change) {
    Plan other = plan;
    change(other);
    const auto checked = checkpoint->check_plan(tree_, other);
    return checked ? std::string() : checked.error().text();
  };
  using testing::HasSubstr;
  EXPECT_THAT(complaint([](Plan& p) { p.optimizer.name = OptimizerName::sgd; }),
              HasSubstr("exp_avg, which the plan's optimizer sgd does not keep"));
  EXPECT_THAT(complaint([](Plan& p) { p.precision.optimizer_state = DType::fp32; }),
              HasSubstr("precision.optimizer_state"));
  EXPECT_THAT(complaint([](Plan& p) { p.precision.storage = DType::bf16; }),
              HasSubstr("precision.storage"));
}

TEST_F(CheckpointTest, ReplacesTheOldOneAndLeavesNothingElse) {
  save(5, 2);
  save(6, 3);
  EXPECT_EQ(readable_step(), 6);
  EXPECT_EQ(folder_.entries(), 5u);  // the folder, its index and three shards
}

// Runs `work` in a process of its own, which is expected to end in the middle of it.
void in_dying_process(const std::function<void()>& work) {
  const auto child = ::fork();
  if (child == 0) {
    work();
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(WEXITSTATUS(status), 9);
}

TEST_F(CheckpointTest, ACrashLeavesTheOldOrTheNew) {
  for (const bool exchange : {true, false}) {
    for (int step = 0; step < 4; ++step) {
      const auto at = static_cast<ReplaceStep>(step);
      if (exchange && at == ReplaceStep::old_moved_away) continue;  // there is no such moment
      save(5, 2);
      // What commit_checkpoint would rename: a complete new checkpoint beside the old one.
      const auto old = path_;
      path_ = folder_.path("new");
      save(6, 2);
      const auto complete = path_;
      path_ = old;
      in_dying_process([&] {
        const auto die = [&](ReplaceStep reached) {
          if (reached == at) ::_exit(9);
        };
        (void)replace_folder(complete, path_, {exchange, die});
      });
      const auto found = readable_step();
      const bool is_new = at >= ReplaceStep::new_in_place;
      EXPECT_EQ(found, is_new ? 6 : 5) << "exchange " << exchange << " step " << step;
      // The next checkpoint mends everything.
      save(7, 2);
      EXPECT_EQ(readable_step(), 7);
      EXPECT_FALSE(std::filesystem::exists(path_ + ".foreshard-replaced"));
      std::filesystem::remove_all(complete);
    }
  }
}

TEST_F(CheckpointTest, ACrashWhileWritingLeavesTheOld) {
  save(5, 2);
  in_dying_process([&] {
    (void)begin_checkpoint(path_);
    write_shards(6, 2);
    ::_exit(9);
  });
  EXPECT_EQ(readable_step(), 5);
  save(7, 3);
  EXPECT_EQ(readable_step(3), 7);
  abandon_checkpoint(path_);
  EXPECT_EQ(readable_step(3), 7);
}

TEST_F(CheckpointTest, DoesNotReplaceWhatIsNoCheckpoint) {
  std::filesystem::create_directory(path_);
  EXPECT_TRUE(check_checkpoint_target(path_));
  std::ofstream(path_ + "/precious.txt") << "data";
  auto target = check_checkpoint_target(path_);
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().file, path_);
  EXPECT_FALSE(begin_checkpoint(path_));
  EXPECT_FALSE(check_checkpoint_target(path_ + "/precious.txt"));
  EXPECT_FALSE(check_checkpoint_target(folder_.path("no/such/place")));
  EXPECT_FALSE(check_checkpoint_target("/"));
  EXPECT_FALSE(check_checkpoint_target(""));
}

TEST_F(CheckpointTest, RefusesToCommitWithAShardMissing) {
  save(5, 2);
  ASSERT_TRUE(begin_checkpoint(path_));
  write_shards(6, 3);
  const auto missing = path_ + ".foreshard-writing/shard-00001-of-00003.safetensors";
  std::filesystem::remove(missing);
  const auto done = commit_checkpoint(path_, format_, state_of(config_, 6, 3));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().file, missing);
  EXPECT_EQ(readable_step(), 5);
  EXPECT_FALSE(std::filesystem::exists(path_ + ".foreshard-writing"));
}

TEST_F(CheckpointTest, NamesWhatIsMissingOrDamaged) {
  const auto expect_error = [&](const std::string& file, const std::string& text) {
    const auto checkpoint = Checkpoint::open(path_);
    ASSERT_FALSE(checkpoint) << text;
    EXPECT_EQ(checkpoint.error().file, file);
    EXPECT_NE(checkpoint.error().text().find(text), std::string::npos) << checkpoint.error().text();
  };
  expect_error(path_, "no such folder");
  const auto index = path_ + "/index.json", shard = path_ + "/shard-00001-of-00002.safetensors";
  save(5, 2);
  std::filesystem::resize_file(shard, std::filesystem::file_size(shard) - 1);
  expect_error(shard, "expected a complete file");
  std::filesystem::remove(shard);
  expect_error(shard, "no such file");
  save(6, 2);
  std::filesystem::copy_file(path_ + "/shard-00000-of-00002.safetensors", shard,
                             std::filesystem::copy_options::overwrite_existing);
  // Shard 0 holds 19 of the embedding's 37 rows where shard 1 should hold 18.
  expect_error(shard, "another shape");
  save(7, 2);
  const auto good = read_file(index);
  const auto damage = [&](const std::string& from, const std::string& to) {
    auto bad = good;
    ASSERT_NE(bad.find(from), std::string::npos) << from;
    std::ofstream(index, std::ios::binary) << bad.replace(bad.find(from), from.size(), to);
  };
  struct Case {
    std::string from, to, text;
  };
  const Case cases[] = {
      {"foreshard-checkpoint", "something", "format"},
      {"\"version\": 1", "\"version\": 2", "version: is 2"},
      {"\"step\": 7", "\"step\": -7", "step"},
      {"\"step\": 7", "\"stop\": 7", "step"},
      {"\"seed\": 1", "\"seed\": \"\", \"old\": 1", "seed"},
      {"\"files\": 2", "\"files\": 1", "unknown file"},
      {"\"file\": 1", "\"file\": 0", "another shape"},
      {"\"parameters\": [", "\"parameters\": [3, ", "parameters"},
      {"\"F32\"", "\"F31\"", "dtype"},
      {"\"rows\": [", "\"rows\": [1, ", "rows"},
      {"\"shape\": [\n    37", "\"shape\": [\n    38", "not covered"},
      {"model.embed_tokens.weight", "model.other.weight", "is missing"},
  };
  for (const auto& c : cases) {
    damage(c.from, c.to);
    const auto checkpoint = Checkpoint::open(path_);
    ASSERT_FALSE(checkpoint) << c.to;
    EXPECT_NE(checkpoint.error().text().find(c.text), std::string::npos)
        << checkpoint.error().text() << " lacks " << c.text;
  }
  std::ofstream(index, std::ios::binary) << good.substr(0, good.size() / 2);
  expect_error(index, "format");
}

TEST_F(CheckpointTest, RefusesAnotherModelAndOtherDtypes) {
  save(5, 2);
  const auto checkpoint = Checkpoint::open(path_);
  ASSERT_TRUE(checkpoint);
  auto other = config_;
  other.name = "another name for the same";
  EXPECT_TRUE(checkpoint->check_model(other, tree_));
  other.vocabulary = 38;
  auto good = checkpoint->check_model(other, llama_modules(other));
  ASSERT_FALSE(good);
  EXPECT_EQ(good.error().field, "model");
  EXPECT_NE(good.error().message.find("vocab_size 37 (the model's is 38)"), std::string::npos)
      << good.error().message;

  const auto shard = shard_of(tree_, 0, 0, 1);
  std::vector<std::uint16_t> out(static_cast<std::size_t>(shard.padded));
  const auto read =
      checkpoint->read(tree_, shard, ValueRole::parameter, DType::bf16, shard.padded, out.data());
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("in F32"), std::string::npos) << read.error().text();
}

TEST_F(CheckpointTest, AValueThatIsMissingIsNamed) {
  const auto shard = shard_of(tree_, 0, 0, 1);
  const std::vector<std::uint32_t> zeros(static_cast<std::size_t>(shard.padded));
  ASSERT_TRUE(begin_checkpoint(path_));
  ASSERT_TRUE(write_checkpoint_shard(
      path_, format_,
      {config_,
       tree_,
       0,
       1,
       {{shard, ValueRole::parameter, DType::fp32, std::as_bytes(std::span(zeros))}}}));
  ASSERT_TRUE(commit_checkpoint(path_, format_, state_of(config_, 1, 1)));
  std::vector<std::uint32_t> out(zeros.size());
  const auto read = Checkpoint::open(path_).value().read(tree_, shard, ValueRole::exp_avg,
                                                         DType::fp32, shard.padded, out.data());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "has no exp_avg");
}

}  // namespace
}  // namespace foreshard::executor
