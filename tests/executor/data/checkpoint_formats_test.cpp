// Checkpoints of every format: the same bits on any number of ranks, and errors that name what is wrong. That
// PyTorch and transformers read and write the same is tests/cli/torch_checkpoints_test.cpp's.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/data/checkpoint.hpp"
#include "executor/data/dcp_metadata.hpp"
#include "executor/data/full_tensors.hpp"
#include "executor/data/replace_folder.hpp"
#include "executor/data/state_names.hpp"
#include "executor/data/stored_zip.hpp"
#include "executor/data/torch_archive.hpp"
#include "executor/data/torch_pickle.hpp"
#include "tests/executor/data/shard_support.hpp"
#include "tests/temporary_folder.hpp"

namespace foreshard::executor {
namespace {

using testing::HasSubstr;
using tests::TemporaryFolder;

constexpr ValueRole kRoles[] = {ValueRole::parameter, ValueRole::exp_avg, ValueRole::exp_avg_sq};

// Different in every element, and exact as fp32.
std::vector<float> values_of(const Parameter& parameter, std::size_t number, ValueRole role) {
  std::vector<float> values(static_cast<std::size_t>(parameter.numel()));
  std::iota(values.begin(), values.end(),
            static_cast<float>(number * 10'000 + static_cast<std::size_t>(role) * 1'000'000));
  return values;
}

class CheckpointFormats : public testing::TestWithParam<CheckpointFormat> {
 protected:
  CheckpointFormats() {
    config_.attention_bias = config_.output_bias = false;  // which torchtitan has not
    tree_ = llama_modules(config_);
  }

  void write_shards(int ranks, int dim, int left_out = -1) {
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank == left_out) continue;
      ShardWriting shard{config_, tree_, rank, ranks, {}};
      std::vector<std::vector<float>> kept;
      for (std::size_t i = 0; i < tree_.parameters.size(); ++i) {
        for (const ValueRole role : kRoles) {
          const auto part = shard_of(tree_, static_cast<ParameterId>(i), rank, ranks, dim);
          kept.push_back(part_of(values_of(tree_.parameters[i], i, role), part));
          shard.values.push_back({part, role, DType::fp32, std::as_bytes(std::span(kept.back()))});
        }
      }
      const auto done = write_checkpoint_shard(path_, GetParam(), shard);
      ASSERT_TRUE(done) << done.error().text();
    }
  }

  // What the run does for the weights of a model.
  void write_model() {
    const auto folder = writing_path(path_);
    const auto files = weight_files(folder, tree_, DType::fp32, WeightIndex::always, 4000);
    ASSERT_TRUE(describe_weights(folder, config_, tree_, DType::fp32, files));
    auto writer = FullTensorWriter::create(files, tree_, DType::fp32);
    ASSERT_TRUE(writer) << writer.error().text();
    for (std::size_t i = 0; i < tree_.parameters.size(); ++i) {
      const auto whole = values_of(tree_.parameters[i], i, ValueRole::parameter);
      const auto shard = shard_of(tree_, static_cast<ParameterId>(i), 0, 1);
      ASSERT_TRUE(writer->write(static_cast<ParameterId>(i),
                                [&](std::int64_t first, std::int64_t rows, float* out) {
                                  copy_rows(shard, DType::fp32, whole.data(), first, rows, out);
                                }));
    }
    ASSERT_TRUE(writer->finish());
  }

  Result<void> save(int ranks, int dim, int left_out = -1) {
    if (auto begun = begin_checkpoint(path_); !begun) return begun;
    write_shards(ranks, dim, left_out);
    if (GetParam() == CheckpointFormat::hf) write_model();
    RunState state;
    state.step = 7;
    state.total_steps = 100;
    state.samples = 21;
    state.ranks = ranks;
    state.data = {"text.npy", 5000, 12, "uint16"};
    state.plan = to_toml(Plan{});
    state.model = to_json(config_);
    return commit_checkpoint(path_, GetParam(), state);
  }

  std::string complaint() const {
    const auto checkpoint = Checkpoint::open(path_);
    return checkpoint ? "" : checkpoint.error().text();
  }

  LlamaConfig config_ = small_config();
  ModuleTree tree_;
  TemporaryFolder folder_;
  std::string path_ = folder_.path("check point");
};

INSTANTIATE_TEST_SUITE_P(All, CheckpointFormats, testing::ValuesIn(kCheckpointFormats),
                         [](const auto& format) { return std::string(name(format.param)); });

TEST_P(CheckpointFormats, GiveBackTheSameBitsOnAnyNumberOfRanks) {
  for (const auto& [ranks, dim] : {std::pair{1, 0}, {2, 0}, {3, 1}, {40, 0}}) {
    const auto saved = save(ranks, dim);
    ASSERT_TRUE(saved) << saved.error().text();
    const auto checkpoint = Checkpoint::open(path_);
    ASSERT_TRUE(checkpoint) << checkpoint.error().text();
    EXPECT_TRUE(checkpoint->has_run());
    EXPECT_EQ(checkpoint->state().step, 7);
    EXPECT_EQ(checkpoint->state().data.fingerprint, 12u);
    const auto good = checkpoint->check_model(config_, tree_);
    EXPECT_TRUE(good) << good.error().text();
    const auto planned = checkpoint->check_plan(tree_, Plan{});
    EXPECT_TRUE(planned) << planned.error().text();
    for (const auto& [others, other_dim] : {std::pair{1, 0}, {2, 1}, {3, 0}, {40, 0}}) {
      for (std::size_t i = 0; i < tree_.parameters.size(); ++i) {
        for (int rank = 0; rank < others; ++rank) {
          const auto shard = shard_of(tree_, static_cast<ParameterId>(i), rank, others, other_dim);
          for (const ValueRole role : kRoles) {
            std::vector<float> read(static_cast<std::size_t>(shard.padded), -1.0F);
            const auto done =
                checkpoint->read(tree_, shard, role, DType::fp32, shard.padded, read.data());
            ASSERT_TRUE(done) << done.error().text();
            ASSERT_EQ(read, part_of(values_of(tree_.parameters[i], i, role), shard))
                << tree_.parameters[i].name << " of rank " << rank << " of " << others;
          }
        }
      }
    }
  }
}

TEST_P(CheckpointFormats, ReplaceOneAnother) {
  ASSERT_TRUE(save(2, 0));
  const auto entries = folder_.entries();
  ASSERT_TRUE(save(3, 0));
  ASSERT_TRUE(save(2, 0));
  EXPECT_EQ(folder_.entries(), entries);
  EXPECT_EQ(complaint(), "");
}

TEST_P(CheckpointFormats, AreNotCommittedWithoutAShard) {
  ASSERT_TRUE(save(2, 0));
  EXPECT_FALSE(save(3, 0, 1));
  const auto checkpoint = Checkpoint::open(path_);
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(checkpoint->state().ranks, 2);
  EXPECT_FALSE(std::filesystem::exists(writing_path(path_)));
}

TEST_P(CheckpointFormats, NameAFileThatIsMissingOrCutShort) {
  namespace fs = std::filesystem;
  ASSERT_TRUE(save(2, 0));
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path_)) {
    if (entry.is_regular_file() && entry.path().filename() != "config.json" &&
        entry.path().filename() != "__0_1.distcp") {
      files.push_back(entry.path());
    }
  }
  ASSERT_GE(files.size(), 3u);
  for (const auto& file : files) {
    const auto whole = tests::read_file(file.string());
    fs::remove(file);
    const bool is_pytorchs = fs::exists(path_ + "/.metadata") && file.filename() == "index.json";
    if (is_pytorchs) {
      EXPECT_FALSE(Checkpoint::open(path_)->has_run());
    } else {
      EXPECT_THAT(complaint(), HasSubstr(fs::path(path_).filename().string())) << file;
    }
    tests::write_file(file.string(), whole.substr(0, whole.size() / 2));
    EXPECT_THAT(complaint(), HasSubstr(file.filename().string()));
    tests::write_file(file.string(), whole);
  }
  EXPECT_EQ(complaint(), "");
}

TEST(Torchtitan, HasNeitherBiasesNorATiedHead) {
  const auto config = small_config();
  const auto tree = llama_modules(config);
  const auto checked = check_format(CheckpointFormat::torchtitan, config, tree);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().text(), HasSubstr("self_attn.q_proj.bias"));
  EXPECT_TRUE(check_format(CheckpointFormat::dcp, config, tree));
  auto tied = config;
  tied.tied_embeddings = true;
  EXPECT_THAT(check_format(CheckpointFormat::torchtitan, tied, llama_modules(tied)).error().text(),
              HasSubstr("tie_word_embeddings"));
}

TEST(StateNames, AreKnownUnderWhateverTheyStand) {
  const auto expect = [](const std::string& name, const std::string& parameter,
                         const std::string& role, StateNames names) {
    const auto known = known_state(name);
    ASSERT_TRUE(known) << name;
    EXPECT_EQ(known->parameter, parameter) << name;
    EXPECT_EQ(known->role, role) << name;
    EXPECT_EQ(known->names, names) << name;
  };
  const std::string up = "model.layers.11.mlp.up_proj.weight";
  expect("app.model." + up, up, "parameter", StateNames::transformers);
  expect("optimizer.state." + up + ".exp_avg_sq", up, "exp_avg_sq", StateNames::transformers);
  expect("layers.11.feed_forward.w3.weight", up, "parameter", StateNames::torchtitan);
  expect("optimizer.state.layers.11.feed_forward.w3.weight.step", up, "step",
         StateNames::torchtitan);
  expect("norm.weight", "model.norm.weight", "parameter", StateNames::torchtitan);
  expect("model.model.norm.weight", "model.norm.weight", "parameter", StateNames::transformers);
  expect("model.lm_head.weight", "lm_head.weight", "parameter", StateNames::transformers);
  expect("model.layers.0.self_attn.q_proj.bias", "model.layers.0.self_attn.q_proj.bias",
         "parameter", StateNames::transformers);
  for (const char* other :
       {"freqs_cis", "train_state.step", "layers.x.attention.wq.weight",
        "layers.1.moe.router.gate.weight", "exp_avg", "lr_scheduler._step_count"}) {
    EXPECT_FALSE(known_state(other)) << other;
  }
}

TEST(StateNames, TurnRowsAsTorchtitanDoes) {
  // Of a head of 6 rows: the first halves of the pairs are 0, 1, 2, the second ones 3, 4, 5.
  const std::int64_t stored[] = {0, 2, 4, 1, 3, 5};
  for (std::int64_t row = 0; row < 12; ++row) {
    EXPECT_EQ(paired_row(row, 6), row / 6 * 6 + stored[row % 6]);
  }
}

TEST(TorchArchive, HoldsATensor) {
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{3, 5}, {7}, {}, {0, 4}, {300, 1}}) {
    std::size_t elements = 1;
    for (const auto size : shape) elements *= static_cast<std::size_t>(size);
    std::vector<float> values(elements);
    std::iota(values.begin(), values.end(), 1.0F);
    const auto data = std::as_bytes(std::span(values));
    const auto made = archive_of_tensor(StoredType::f32, shape, data);
    std::string archive = made.head;
    archive.append(reinterpret_cast<const char*>(data.data()), data.size());
    archive += made.tail;
    EXPECT_EQ(made.head.size() % 64, 0u);
    const auto read = read_archived_tensor(std::as_bytes(std::span(archive)), "file", "name");
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->shape, shape);
    EXPECT_EQ(read->type, StoredType::f32);
    EXPECT_TRUE(std::ranges::equal(read->data, data));
    for (std::size_t size = 0; size < archive.size(); ++size) {
      const auto cut = std::as_bytes(std::span(archive).first(size));
      const auto bad = read_archived_tensor(cut, "file", "name");
      ASSERT_FALSE(bad) << size;
      EXPECT_EQ(bad.error().file, "file");
    }
  }
}

TEST(TorchArchive, RefusesWhatIsNoDenseTensor) {
  const auto complaint = [](const std::string& archive) {
    const auto read = read_archived_tensor(std::as_bytes(std::span(archive)), "file", "name");
    return read ? std::string() : read.error().text();
  };
  TorchPickle pickle;
  pickle.real(1.5);
  EXPECT_THAT(complaint(archive_of_value(pickle.finish())), HasSubstr("no tensor"));
  EXPECT_THAT(complaint("not a zip"), HasSubstr("torch.save"));
  StoredZipWriter zip;
  std::string other = zip.file("archive/data/0", "1234");
  other += zip.finish();
  EXPECT_THAT(complaint(other), HasSubstr("data.pkl"));
}

// Files that PyTorch 2.11 has written.
std::string of_pytorch(const std::string& name) {
  return tests::read_file(FORESHARD_SOURCE_DIR "/tests/fuzz/corpus/" + name);
}

TEST(TorchArchive, IsReadAsPyTorchWritesIt) {
  const auto read = [](const std::string& archive) {
    return read_archived_tensor(std::as_bytes(std::span(archive)), "file", "name");
  };
  const std::string matrix = of_pytorch("torch_archive/bf16.pt");
  const auto tensor = read(matrix);
  ASSERT_TRUE(tensor) << tensor.error().text();
  EXPECT_EQ(tensor->type, StoredType::bf16);
  EXPECT_EQ(tensor->shape, (std::vector<std::int64_t>{2, 3}));
  const std::uint16_t numbers[] = {0, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0};  // 0 to 5
  EXPECT_TRUE(std::ranges::equal(tensor->data, std::as_bytes(std::span(numbers))));
  const std::string step = of_pytorch("torch_archive/step.pt");
  const auto scalar = read(step);
  ASSERT_TRUE(scalar) << scalar.error().text();
  EXPECT_TRUE(scalar->shape.empty());
  const auto transposed = read(of_pytorch("torch_archive/transposed.pt"));
  ASSERT_FALSE(transposed);
  EXPECT_THAT(transposed.error().text(), HasSubstr("not dense, with strides [1, 3]"));
  const auto options = read(of_pytorch("torch_archive/options.pt"));
  ASSERT_FALSE(options);
  EXPECT_THAT(options.error().text(), HasSubstr("no tensor"));
}

TEST(DcpMetadata, IsReadAsPyTorchWritesIt) {
  const std::string pickle = of_pytorch("dcp_metadata/linear.metadata");
  const auto read = parse_dcp_metadata(std::as_bytes(std::span(pickle)), "file");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->tensors.size(), 8u);  // a weight and a bias with their steps and two moments
  const DcpTensor& moment = read->tensors.at("optimizer.state.weight.exp_avg");
  EXPECT_EQ(moment.shape, (std::vector<std::int64_t>{2, 3}));
  ASSERT_EQ(moment.chunks.size(), 1u);
  EXPECT_EQ(moment.chunks[0].place.file, "__0_0.distcp");
  EXPECT_GT(moment.chunks[0].place.bytes, 24);
}

TEST(DcpMetadata, IsReadAsItWasWritten) {
  DcpMetadata metadata;
  metadata.tensors["model.a"] = {StoredType::bf16,
                                 {6, 4},
                                 {{{0, 0}, {2, 4}, {"__0_0.distcp", 0, 100}},
                                  {{2, 0}, {4, 4}, {"__1_0.distcp", std::int64_t{1} << 40, 300}}}};
  metadata.tensors["step"] = {StoredType::f32, {}, {{{}, {}, {"__0_1.distcp", 70'000, 30}}}};
  metadata.values["lr"] = {"__0_1.distcp", 200, 50};
  metadata.paths["model.a"] = {"model", "a"};
  const auto pickle = to_pickle(metadata);
  const auto read = parse_dcp_metadata(std::as_bytes(std::span(pickle)), "file");
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->tensors.size(), 2u);
  const DcpTensor& tensor = read->tensors.at("model.a");
  EXPECT_EQ(tensor.type, StoredType::bf16);
  EXPECT_EQ(tensor.shape, (std::vector<std::int64_t>{6, 4}));
  ASSERT_EQ(tensor.chunks.size(), 2u);
  EXPECT_EQ(tensor.chunks[1].offsets, (std::vector<std::int64_t>{2, 0}));
  EXPECT_EQ(tensor.chunks[1].place.offset, std::int64_t{1} << 40);
  EXPECT_EQ(tensor.chunks[1].place.file, "__1_0.distcp");
  EXPECT_EQ(read->tensors.at("step").chunks.at(0).place.bytes, 30);
  EXPECT_EQ(read->values.at("lr").offset, 200);
  for (std::size_t size = 0; size < pickle.size(); ++size) {
    const auto cut = parse_dcp_metadata(std::as_bytes(std::span(pickle).first(size)), "file");
    ASSERT_FALSE(cut) << size;
  }
}

}  // namespace
}  // namespace foreshard::executor
