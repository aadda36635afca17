// Steps on TPUs: the laws that any machine obeys, and published throughputs of MaxText
// (published_tpu_runs.csv), which set the rates in catalogue/kernel_rates.csv.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "models/base/csv.hpp"
#include "models/base/figures.hpp"
#include "models/hardware/csv_numbers.hpp"
#include "models/llama/llama_config.hpp"
#include "simulator/predict/prediction.hpp"

namespace foreshard::simulator {
namespace {

constexpr const char* kTpus[] = {"tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e"};

Plan large_batches() {
  Plan plan;
  plan.batch.sequence = 2048;
  plan.checkpointing.mode = CheckpointMode::full;
  return plan;
}

Prediction predicted_on(const Machine& machine, const LlamaConfig& model, const Plan& plan,
                        int ranks, int slices = 1) {
  const auto job = make_job(model, plan, "plan", ranks, slices, &machine);
  EXPECT_TRUE(job) << job.error().text();
  PredictionOptions options;
  options.machine = &machine;
  options.device_memory = std::int64_t{1} << 50;
  return predict(*job, options);
}

TEST(Tpu, StepsRestOnTheCatalogueAloneAndSaySo) {
  const Machine machine = *load_machine("tpu-v5p");
  const Prediction p = predicted_on(machine, *load_llama_config("llama-2-7b"), large_batches(), 64);
  ASSERT_GT(p.step_time.count(), 0);
  EXPECT_TRUE(std::any_of(p.warnings.begin(), p.warnings.end(), [](const std::string& warning) {
    return warning.find("rests on the catalogue alone") != std::string::npos;
  }));
  const double half_width = static_cast<double>((p.step_time_high - p.step_time).count()) /
                            static_cast<double>(p.step_time.count());
  EXPECT_GE(half_width, 0.2);
  EXPECT_EQ(p.cost_sources.measured + p.cost_sources.fitted + p.cost_sources.unknown, 0);
}

// There is no caching allocator that would reserve any.
TEST(Tpu, TracesHaveNoSegments) {
  const Machine machine = *load_machine("tpu-v5e");
  const auto job =
      make_job(*load_llama_config("llama-tiny-3m"), Plan(), "plan", 4, 1, &machine).value();
  PredictionOptions options;
  options.machine = &machine;
  options.keeps_memory_records = true;
  const traces::Trace trace = to_trace(job, predict(job, options), "test");
  const auto count = [&](traces::MemoryAction action) {
    return std::count_if(trace.memory.begin(), trace.memory.end(),
                         [&](const traces::MemoryEvent& event) { return event.action == action; });
  };
  EXPECT_GT(count(traces::MemoryAction::alloc), 0);
  EXPECT_EQ(count(traces::MemoryAction::segment_alloc), 0);
  EXPECT_EQ(count(traces::MemoryAction::segment_free), 0);
}

TEST(Tpu, MoreChipsDoNotMakeFewerTokens) {
  const LlamaConfig model = *load_llama_config("llama-2-7b");
  for (const char* id : kTpus) {
    const Machine machine = *load_machine(id);
    double before = 0;
    for (const int chips : {2, 4, 6, 7, 8, 12, 16, 31, 32, 48, 64, 100, 128, 192, 256}) {
      const Prediction p = predicted_on(machine, model, large_batches(), chips);
      EXPECT_GT(p.tokens_per_s, before) << id << " of " << chips;
      before = p.tokens_per_s;
    }
  }
}

TEST(Tpu, AFasterPartIsNotSlower) {
  const LlamaConfig model = *load_llama_config("llama-2-7b");
  Plan small_batches = large_batches();
  small_batches.batch.micro_batch = 1;
  for (const Plan& plan : {large_batches(), small_batches}) {
    const Machine machine = *load_machine("tpu-v5e");
    const auto step = predicted_on(machine, model, plan, 64).step_time;
    for (const auto rate : {&Machine::bf16_flops, &Machine::memory_bandwidth,
                            &Machine::link_bandwidth, &Machine::host_bandwidth}) {
      Machine faster = machine;
      faster.*rate *= 2;
      EXPECT_LE(predicted_on(faster, model, plan, 64).step_time, step);
    }
  }
}

// Without an allocator everything that is reserved is in use: between steps the shards of
// parameters and of two states, 12 bytes of each element in fp32, and a few small tensors.
TEST(Tpu, MemoryIsWhatLives) {
  const LlamaConfig model = *load_llama_config("llama-2-7b");
  const Machine machine = *load_machine("tpu-v5p");
  const auto job = make_job(model, large_batches(), "plan", 64, 1, &machine);
  ASSERT_TRUE(job);
  std::int64_t elements = 0;
  for (const UnitLayout& unit : unit_layouts(*job, place_of(*job, 0))) elements += unit.padded;
  PredictionOptions options;
  options.machine = &machine;
  const Prediction p = predict(*job, options);
  for (const StepPeaks& step : p.steps_memory) {
    EXPECT_EQ(step.peaks.reserved, step.peaks.allocated);
    EXPECT_GE(step.peaks.allocated, 12 * elements);
  }
  MemoryOptions memory;
  memory.keeps_records = true;
  const RankMemory rank = simulate_memory(p.run.classes[0].program, p.run.allocator, memory);
  std::int64_t alive = 0;
  for (const MemoryRecord& record : rank.records) {
    const AllocatorEvent& event = record.event;
    if (record.on_host) continue;
    if (event.action == AllocatorEvent::Action::alloc) alive += event.bytes;
    if (event.action == AllocatorEvent::Action::free_requested) alive -= event.bytes;
  }
  EXPECT_GE(alive, 12 * elements);
  EXPECT_LT(static_cast<double>(alive), 12.1 * static_cast<double>(elements));

  // It fits into just what it needs, and a byte less is too little.
  const std::int64_t peak = p.ranks_memory[0].peaks.allocated;
  options.device_memory = peak;
  EXPECT_TRUE(predict(*job, options).fits);
  options.device_memory = peak - 1;
  const Prediction short_of_memory = predict(*job, options);
  EXPECT_FALSE(short_of_memory.fits);
  EXPECT_EQ(short_of_memory.oom->request.reserved, short_of_memory.oom->request.allocated);
}

// Gradients that are reduced in another type are cast, which costs their bytes and no more.
TEST(Tpu, FlatBuffersCostNothingButCasts) {
  const auto costs = machine_costs(*load_machine("tpu-v5p"), 64, 1);
  const auto ns = [&](Operator op, DType to, DType from) {
    return costs->estimate({op, to, from, to, {1'000'000, 64}}, {}).ns;
  };
  for (const Operator op : {Operator::all_gather_copy_in, Operator::all_gather_copy_out,
                            Operator::reduce_scatter_copy_in}) {
    EXPECT_EQ(ns(op, DType::bf16, DType::bf16), 0);
  }
  const double cast = ns(Operator::reduce_scatter_copy_in, DType::fp32, DType::bf16);
  EXPECT_GT(cast, 64e6 * 6 / 2765);
  EXPECT_LT(cast, 2 * 64e6 * 6 / 2765);
}

TEST(Tpu, RunsXlasOperatorsAndNoOthers) {
  const Machine tpu = *load_machine("tpu-v4"), gpu = *load_machine("h100-sxm");
  const LlamaConfig model = *load_llama_config("llama-2-7b");
  Plan plan;
  EXPECT_EQ(make_job(model, plan, "plan", 8, 0, &tpu)->plan.operators, OperatorSetName::xla);
  plan.operators = OperatorSetName::xla;
  EXPECT_TRUE(make_job(model, plan, "plan", 8, 0, &tpu));
  for (const Machine* machine : {&gpu, static_cast<const Machine*>(nullptr)}) {
    const auto job = make_job(model, plan, "plan", 8, 0, machine);
    ASSERT_FALSE(job);
    EXPECT_NE(job.error().text().find("operators"), std::string::npos);
  }
  plan.operators = OperatorSetName::pytorch_compile;
  EXPECT_FALSE(make_job(model, plan, "plan", 8, 0, &tpu));
}

struct PublishedTpuRun {
  std::string id;
  Machine machine;
  LlamaConfig model;
  Plan plan;
  int chips = 0, slices = 1;
  double tokens_per_s_per_chip = 0;
};

LlamaConfig model_of(const CsvTable& table, const CsvRow& row) {
  const auto number = [&](std::string_view column) {
    return static_cast<std::int64_t>(csv_number(table.at(row, column)).value_or(0));
  };
  const std::string name(table.at(row, "model"));
  if (number("hidden") == 0) return *load_llama_config(name);
  LlamaConfig model = *load_llama_config("llama-2-7b");
  model.name = name;
  model.hidden = number("hidden");
  model.layers = number("layers");
  model.heads = number("heads");
  model.kv_heads = number("kv_heads");
  model.head_dim = number("head_dim");
  model.intermediate = number("intermediate");
  model.vocabulary = number("vocabulary");
  return model;
}

std::vector<PublishedTpuRun> published_tpu_runs() {
  std::ifstream file(FORESHARD_SOURCE_DIR "/tests/simulator/predict/published_tpu_runs.csv");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const CsvTable table = parse_csv(text, "published_tpu_runs.csv").value();
  std::vector<PublishedTpuRun> runs;
  for (const CsvRow& row : table.rows) {
    const auto number = [&](std::string_view column) {
      return csv_number(table.at(row, column)).value();
    };
    PublishedTpuRun run;
    run.id = table.at(row, "id");
    run.machine = *load_machine(std::string(table.at(row, "machine")));
    run.model = model_of(table, row);
    run.chips = static_cast<int>(number("chips"));
    run.slices = static_cast<int>(number("slices"));
    run.tokens_per_s_per_chip = number("tokens_per_s_per_chip");
    run.plan.batch.micro_batch = static_cast<std::int64_t>(number("micro_batch"));
    run.plan.batch.sequence = static_cast<std::int64_t>(number("sequence"));
    run.plan.precision.reduce = DType::bf16;
    if (table.at(row, "storage") == "bf16") {
      run.plan.precision.storage = run.plan.precision.optimizer_state = DType::bf16;
    }
    const bool keeps_attention = table.at(row, "checkpointing") == "attention";
    run.plan.checkpointing.mode =
        keeps_attention ? CheckpointMode::selective : CheckpointMode::full;
    run.plan.checkpointing.save_matmul = false;
    if (table.at(row, "strategy") == "hybrid_shard") {
      run.plan.sharding.strategy = Strategy::hybrid_shard;
      run.plan.sharding.shard_group = run.chips / run.slices;
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

// With --gtest_output=xml:FILE the file holds the table of docs/costs.md.
TEST(Tpu, AgreesWithPublishedThroughputs) {
  std::vector<double> errors;
  int inside = 0;
  for (const PublishedTpuRun& run : published_tpu_runs()) {
    const Prediction p = predicted_on(run.machine, run.model, run.plan, run.chips, run.slices);
    const double chips = run.chips, predicted = p.tokens_per_s / chips;
    const double error = run.tokens_per_s_per_chip / predicted - 1;  // of the step's time
    const double step_ns = static_cast<double>(run.plan.tokens()) / run.tokens_per_s_per_chip * 1e9;
    inside += step_ns >= static_cast<double>(p.step_time_low.count()) &&
              step_ns <= static_cast<double>(p.step_time_high.count());
    errors.push_back(std::abs(error));
    RecordProperty(run.id, formatted("%.0f | %.0f | %+.1f %%", run.tokens_per_s_per_chip, predicted,
                                     100 * error));
    EXPECT_LT(std::abs(error), 0.3) << run.id;
  }
  ASSERT_GE(errors.size(), 20u);
  std::sort(errors.begin(), errors.end());
  EXPECT_LT(errors[errors.size() / 2], 0.10);
  EXPECT_GE(inside, static_cast<int>(errors.size()) - 2);
}

}  // namespace
}  // namespace foreshard::simulator
