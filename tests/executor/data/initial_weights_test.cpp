#include "executor/data/initial_weights.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include "executor/data/full_tensors.hpp"
#include "executor/data/shard_region.hpp"
#include "executor/data/weight_source.hpp"
#include "models/base/float_formats.hpp"
#include "tests/executor/data/shard_support.hpp"
#include "tests/temporary_folder.hpp"

namespace foreshard::executor {
namespace {

using tests::read_file;
using tests::TemporaryFolder;

using Four = std::array<std::uint32_t, 4>;

// The known answers that Random123 publishes for philox4x32-10.
TEST(Philox, GivesThePublishedAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Four{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Four{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Four{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(InitialWeights, AreBoxMullerOfPhilox) {
  constexpr std::uint64_t kSeed = 0x123456789abcdef0;
  constexpr std::int64_t kFirst = (std::int64_t{1} << 35) + 8;  // counters of more than 32 bits
  std::vector<float> drawn(4096);
  fill_normal(kSeed, 17, 0.5, kFirst, 4096, drawn.data());
  for (std::uint64_t block = 0; block < 1024; ++block) {
    const std::uint64_t counter = kFirst / 4 + block;
    const auto words = philox(
        {static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 17, 0},
        {static_cast<std::uint32_t>(kSeed), static_cast<std::uint32_t>(kSeed >> 32)});
    for (std::size_t pair = 0; pair < 2; ++pair) {
      const double radius = 0.5 * std::sqrt(-2 * std::log((words[2 * pair] + 1.0) * 0x1p-32));
      const double angle = 2 * M_PI * words[2 * pair + 1] * 0x1p-32;
      EXPECT_NEAR(drawn[4 * block + 2 * pair], radius * std::cos(angle), 2e-7);
      EXPECT_NEAR(drawn[4 * block + 2 * pair + 1], radius * std::sin(angle), 2e-7);
    }
  }
}

// Nobody takes a rank that draws or reads a large parameter for one that hangs.
TEST(ShardRegions, LongRunsAreCutAndCountAsProgress) {
  RankProgress progress;
  progress_of_this_thread = &progress;
  const Region whole{0, 7000, 0, 1000}, part{1000, 3000, 0, 1000};
  std::int64_t covered = 0;
  for_each_run(part, whole, part, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    EXPECT_EQ(to, covered);
    EXPECT_EQ(from, 1'000'000 + covered);
    EXPECT_LE(count, kLongestRun);
    covered += count;
  });
  progress_of_this_thread = nullptr;
  EXPECT_EQ(covered, 3'000'000);
  EXPECT_EQ(progress.retired, 12U);
}

TEST(ShardRegions, WorkersShareRuns) {
  const Region whole{0, 700, 0, 3000}, rows{100, 300, 0, 3000}, columns{0, 700, 1000, 1500};
  for (const Region& part : {rows, columns}) {
    std::vector<std::int64_t> copied(static_cast<std::size_t>(part.elements()), -1);
    WorkerPool workers(3);
    share_runs(workers, part, whole, part,
               [&](std::int64_t from, std::int64_t to, std::int64_t count) {
                 const auto begin = copied.begin() + to;
                 std::iota(begin, begin + count, from);
               });
    for (std::int64_t i = 0; i < part.elements(); ++i) {
      const std::int64_t row = part.first_row + i / part.columns,
                         column = part.first_column + i % part.columns;
      ASSERT_EQ(copied[static_cast<std::size_t>(i)], row * whole.columns + column);
    }
  }
}

// Whoever changes these bits changes every run that was ever started from a seed.
TEST(InitialWeights, AreTheSameBitsOnEveryMachine) {
  std::vector<float> drawn(1 << 16);
  fill_normal(42, 3, 0.02, 0, 1 << 16, drawn.data());
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a over the bits
  for (const float value : drawn)
    hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 0x100000001b3;
  EXPECT_EQ(hash, 0x8c3b642798f8b473u);
}

TEST(InitialWeights, DoNotDependOnHowTheyAreCut) {
  std::vector<float> whole(3000);
  fill_normal(1, 2, 1.0, 5, 3000, whole.data());
  for (const std::int64_t step : {1, 3, 7, 255, 256, 257, 1000}) {
    std::vector<float> pieces(3000);
    for (std::int64_t at = 0; at < 3000; at += step) {
      fill_normal(1, 2, 1.0, 5 + at, std::min<std::int64_t>(step, 3000 - at), pieces.data() + at);
    }
    EXPECT_EQ(pieces, whole) << step;
  }
  std::vector<float> other(3000);
  fill_normal(2, 2, 1.0, 5, 3000, other.data());
  EXPECT_NE(other, whole);
  fill_normal(1, 3, 1.0, 5, 3000, other.data());
  EXPECT_NE(other, whole);
}

TEST(InitialWeights, AreNormal) {
  constexpr std::int64_t kCount = 1 << 21;
  std::vector<float> values(kCount);
  fill_normal(7, 0, 2.0, 0, kCount, values.data());
  double sum = 0, squares = 0, fourth = 0, neighbours = 0;
  std::int64_t within = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = values[i] / 2.0;
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
    if (i > 0) neighbours += x * values[i - 1] / 2.0;
    within += std::abs(x) < 1;
  }
  // Five standard errors of each moment: sqrt(1, 2, 96, 1, p(1-p)) / sqrt(n).
  const double n = kCount, error = 5 / std::sqrt(n);
  EXPECT_NEAR(sum / n, 0, error);
  EXPECT_NEAR(squares / n, 1, error * std::sqrt(2));
  EXPECT_NEAR(fourth / n, 3, error * std::sqrt(96));
  EXPECT_NEAR(neighbours / n, 0, error);
  EXPECT_NEAR(static_cast<double>(within) / n, std::erf(std::sqrt(0.5)), error * 0.47);
}

TEST(InitialWeights, FollowTheKindOfTheParameter) {
  const auto tree = llama_modules(small_config());
  const InitialWeights initial{3, 0.02};
  for (ParameterId id = 0; id < static_cast<ParameterId>(tree.parameters.size()); ++id) {
    const auto& p = tree.parameters[static_cast<std::size_t>(id)];
    std::vector<float> values(static_cast<std::size_t>(p.numel()));
    initial.fill(tree, id, 0, p.numel(), values.data());
    if (p.name.find("norm") != std::string::npos) {
      EXPECT_EQ(values, std::vector<float>(values.size(), 1.0f)) << p.name;
    } else if (p.name.ends_with(".bias")) {
      EXPECT_EQ(values, std::vector<float>(values.size(), 0.0f)) << p.name;
    } else {
      EXPECT_NE(values[0], 0.0f) << p.name;
    }
  }
}

// Every parameter's shards on any number of ranks, made by any number of threads, are the parts of the
// same whole.
void expect_parts_of_whole(const WeightSource& source, const ModuleTree& tree) {
  WorkerPool alone, three(3);
  for (ParameterId id = 0; id < static_cast<ParameterId>(tree.parameters.size()); ++id) {
    const auto all = shard_of(tree, id, 0, 1);
    std::vector<float> whole(static_cast<std::size_t>(all.padded));
    source.fill(tree, all, DType::fp32, whole.data(), alone);
    std::vector<std::uint16_t> rounded(whole.size());
    std::transform(whole.begin(), whole.end(), rounded.begin(),
                   [](float value) { return float_to_bf16(value); });
    for (const int ranks : {2, 3, 7, 50}) {
      for (const int dim : {0, 1}) {
        for (int rank = 0; rank < ranks; ++rank) {
          const auto shard = shard_of(tree, id, rank, ranks, dim);
          std::vector<float> part(static_cast<std::size_t>(shard.padded), NAN);
          source.fill(tree, shard, DType::fp32, part.data(), three);
          EXPECT_EQ(part, part_of(whole, shard));
          std::vector<std::uint16_t> bf16(part.size(), 0xffff);
          source.fill(tree, shard, DType::bf16, bf16.data(), three);
          EXPECT_EQ(bf16, part_of(rounded, shard));
        }
      }
    }
  }
}

TEST(WeightSource, DrawsTheSameModelOnAnyNumberOfRanks) {
  const auto config = small_config();
  const auto tree = llama_modules(config);
  expect_parts_of_whole(WeightSource::drawn(config, 9), tree);
}

// Exports a drawn model, gathered from the shards of `ranks` ranks.
void export_model(const std::string& path, const ModuleTree& tree, const WeightSource& source,
                  int ranks, int dim) {
  auto writer = FullTensorWriter::create(path, tree);
  ASSERT_TRUE(writer) << writer.error().text();
  WorkerPool alone;
  for (ParameterId id = 0; id < static_cast<ParameterId>(tree.parameters.size()); ++id) {
    const auto written = writer->write(id, [&](std::int64_t first, std::int64_t rows, float* out) {
      for (int rank = 0; rank < ranks; ++rank) {
        const auto shard = shard_of(tree, id, rank, ranks, dim);
        std::vector<float> values(static_cast<std::size_t>(shard.padded));
        source.fill(tree, shard, DType::fp32, values.data(), alone);
        copy_rows(shard, DType::fp32, values.data(), first, rows, out);
      }
    });
    ASSERT_TRUE(written);
  }
  ASSERT_TRUE(writer->finish());
}

TEST(WeightSource, ReadsWhatAnExportWrote) {
  TemporaryFolder folder;
  const auto config = small_config();
  const auto tree = llama_modules(config);
  const auto drawn = WeightSource::drawn(config, 5);
  const auto path = folder.path("one.safetensors");
  export_model(path, tree, drawn, 1, 0);
  for (const int ranks : {2, 5}) {
    for (const int dim : {0, 1}) {
      export_model(folder.path("many.safetensors"), tree, drawn, ranks, dim);
      EXPECT_EQ(read_file(folder.path("many.safetensors")), read_file(path));
    }
  }
  const auto read = WeightSource::from_file(path, config, tree);
  ASSERT_TRUE(read) << read.error().text();
  expect_parts_of_whole(*read, tree);
  const auto shard = shard_of(tree, 1, 1, 3);
  std::vector<float> from_file(static_cast<std::size_t>(shard.padded)), from_seed(from_file);
  WorkerPool alone;
  read->fill(tree, shard, DType::fp32, from_file.data(), alone);
  drawn.fill(tree, shard, DType::fp32, from_seed.data(), alone);
  EXPECT_EQ(from_file, from_seed);
}

TEST(WeightSource, NamesTheTensorThatDoesNotFit) {
  TemporaryFolder folder;
  const auto config = small_config();
  const auto tree = llama_modules(config);
  const auto path = folder.path("w.safetensors");
  export_model(path, tree, WeightSource::drawn(config, 5), 1, 0);

  auto larger = config;
  larger.vocabulary = 38;
  auto source = WeightSource::from_file(path, larger, llama_modules(larger));
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().file, path);
  EXPECT_EQ(source.error().field, "model.embed_tokens.weight");
  EXPECT_EQ(source.error().message, "has shape [37, 12]; expected [38, 12]");

  auto deeper = config;
  deeper.layers = 3;
  source = WeightSource::from_file(path, deeper, llama_modules(deeper));
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().field.rfind("model.layers.2.", 0), 0u) << source.error().text();

  auto shallower = config;
  shallower.layers = 1;
  source = WeightSource::from_file(path, shallower, llama_modules(shallower));
  ASSERT_FALSE(source);
  EXPECT_NE(source.error().message.find("not a parameter"), std::string::npos);

  // A tied model has no lm_head of its own, but files may carry it.
  auto tied = config;
  tied.tied_embeddings = true;
  const auto passed_over = WeightSource::from_file(path, tied, llama_modules(tied));
  EXPECT_TRUE(passed_over) << passed_over.error().text();
}

// Writes drawn weights to a Hugging Face folder of files of at most `longest` bytes.
void export_folder(const std::string& folder, const LlamaConfig& config, const ModuleTree& tree,
                   const WeightSource& source, DType type, std::int64_t longest) {
  const auto files = weight_files(folder, tree, type, WeightIndex::where_needed, longest);
  ASSERT_TRUE(describe_weights(folder, config, tree, type, files));
  auto writer = FullTensorWriter::create(files, tree, type);
  ASSERT_TRUE(writer) << writer.error().text();
  WorkerPool alone;
  for (ParameterId id = 0; id < static_cast<ParameterId>(tree.parameters.size()); ++id) {
    const auto shard = shard_of(tree, id, 0, 1);
    std::vector<float> values(static_cast<std::size_t>(shard.padded));
    source.fill(tree, shard, DType::fp32, values.data(), alone);
    ASSERT_TRUE(writer->write(id, [&](std::int64_t first, std::int64_t rows, float* out) {
      copy_rows(shard, DType::fp32, values.data(), first, rows, out);
    }));
  }
  ASSERT_TRUE(writer->finish());
}

TEST(ModelFolder, HoldsTheSameInOneFileAndInMany) {
  const auto config = small_config();
  const auto tree = llama_modules(config);
  const auto drawn = WeightSource::drawn(config, 5);
  for (const std::int64_t longest : {std::int64_t{1} << 30, std::int64_t{1000}, std::int64_t{1}}) {
    const TemporaryFolder folder;
    const auto path = folder.path("");
    export_folder(path, config, tree, drawn, DType::fp32, longest);
    const auto described = load_llama_config(path);
    ASSERT_TRUE(described) << described.error().text();
    auto same = *described;
    same.name = config.name;
    EXPECT_EQ(same, config);
    const auto read = WeightSource::from_file(path, config, tree);
    ASSERT_TRUE(read) << read.error().text();
    WorkerPool alone;
    for (ParameterId id = 0; id < static_cast<ParameterId>(tree.parameters.size()); ++id) {
      const auto shard = shard_of(tree, id, 0, 1);
      std::vector<float> one(static_cast<std::size_t>(shard.padded)), other(one);
      read->fill(tree, shard, DType::fp32, one.data(), alone);
      drawn.fill(tree, shard, DType::fp32, other.data(), alone);
      EXPECT_EQ(one, other);
    }
    const bool is_one = longest > 1000;
    EXPECT_EQ(std::filesystem::exists(path + "/model.safetensors"), is_one);
    EXPECT_EQ(std::filesystem::exists(path + "/model.safetensors.index.json"), !is_one);
    for (const auto& file : std::filesystem::directory_iterator(path)) {
      const auto reader = file.path().extension() == ".safetensors"
                              ? SafetensorsReader::open(file.path().string())
                              : Result<SafetensorsReader>(fail("", "", ""));
      if (!reader || reader->tensors().size() == 1) continue;
      std::int64_t bytes = 0;
      for (const auto& tensor : reader->tensors()) bytes += std::ssize(tensor.data);
      EXPECT_LE(bytes, longest);
    }
  }
}

TEST(ModelFolder, RoundsToBf16AndSaysSo) {
  const TemporaryFolder folder;
  const auto config = small_config();
  const auto tree = llama_modules(config);
  const auto drawn = WeightSource::drawn(config, 5);
  export_folder(folder.path(""), config, tree, drawn, DType::bf16, kLongestWeightFile);
  EXPECT_NE(read_file(folder.path("config.json")).find("\"dtype\": \"bfloat16\""),
            std::string::npos);
  const auto reader = SafetensorsReader::open(folder.path("model.safetensors"));
  ASSERT_TRUE(reader) << reader.error().text();
  const auto* tensor = reader->find("model.embed_tokens.weight");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->type, StoredType::bf16);
  const auto shard = shard_of(tree, 0, 0, 1);
  std::vector<float> values(static_cast<std::size_t>(shard.padded)), stored(values);
  WorkerPool alone;
  drawn.fill(tree, shard, DType::fp32, values.data(), alone);
  read_as_float(*tensor, 0, tensor->elements, stored.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(stored[i], bf16_to_float(float_to_bf16(values[i])));
  }
}

TEST(ModelFolder, ReplacesAModelAndNothingElse) {
  const TemporaryFolder folder;
  EXPECT_TRUE(names_model_folder(folder.path("model")));
  EXPECT_TRUE(names_model_folder(folder.path("model/")));
  EXPECT_FALSE(names_model_folder(folder.path("model.safetensors")));
  EXPECT_FALSE(names_model_folder("/dev/null"));
  const auto path = folder.path("model");
  EXPECT_TRUE(check_model_folder_target(path));
  std::filesystem::create_directory(path);
  tests::write_file(path + "/config.json", "{}");
  tests::write_file(path + "/model-00001-of-00002.safetensors", "");
  EXPECT_TRUE(check_model_folder_target(path));
  tests::write_file(path + "/tokenizer.json", "{}");
  EXPECT_FALSE(check_model_folder_target(path));
  tests::write_file(folder.path("file"), "");
  EXPECT_FALSE(check_model_folder_target(folder.path("file")));
}

TEST(FullTensorWriter, KeepsTheOrderOfTheParameters) {
  TemporaryFolder folder;
  const auto tree = llama_modules(small_config());
  auto writer = FullTensorWriter::create(folder.path("w.safetensors"), tree);
  ASSERT_TRUE(writer);
  EXPECT_THROW((void)writer->write(1, [](std::int64_t, std::int64_t, float*) {}), std::logic_error);
}

}  // namespace
}  // namespace foreshard::executor
