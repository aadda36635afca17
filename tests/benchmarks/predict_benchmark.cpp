// How long a prediction takes: from parsed inputs to two steps with timeline and memory, in the memory
// of the prediction before. One iteration of `replan` is one plan of a model whose tree is there; 64
// different ones in turn, nothing else remembered in between. `replan-all` makes all 64 on two threads,
// and `predict-once` a prediction in memory of its own. `predict-accumulation` has so many micro-steps,
// `predict-explained` the critical path and what holds memory as well, `predict-layers` so many blocks, on
// a device without a limit.
#include <cstdlib>
#include <iostream>
#include <vector>

#include <benchmark/benchmark.h>

#include "models/allocator/virtual_segments.hpp"
#include "models/lowering/lower.hpp"
#include "simulator/predict/predict_all.hpp"

namespace foreshard::simulator {
namespace {

template <typename T>
T must(Result<T> result) {
  if (result) return *std::move(result);
  std::cerr << result.error().text() << "\n";
  std::exit(1);
}

Job job_of(const std::string& model, const Plan& plan, int ranks) {
  return must(make_job(must(load_llama_config(model)), plan, "benchmark", ranks));
}

void predict_job(benchmark::State& state, const LlamaConfig& config, const Plan& plan, int ranks,
                 PredictionOptions options = {}, bool keeps = true) {
  const Machine machine = must(load_machine("h100-sxm"));
  options.machine = &machine;
  Prediction prediction;
  for (auto _ : state) {
    if (!keeps) prediction = {};
    const Job job = must(make_job(config, plan, "benchmark", ranks));
    prediction = predict(job, options, std::move(prediction.run));
    benchmark::DoNotOptimize(prediction.step_time);
  }
}

void predict_model(benchmark::State& state, const std::string& model, int ranks, bool keeps) {
  predict_job(state, must(load_llama_config(model)), {}, ranks, {}, keeps);
}

void predict_pytorch(benchmark::State& state, const std::string& model, int ranks) {
  Plan plan;
  plan.operators = OperatorSetName::pytorch_eager;
  plan.optimizer.kernel = OptimizerKernel::foreach;
  predict_job(state, must(load_llama_config(model)), plan, ranks);
}

void predict_accumulation(benchmark::State& state, const Plan& base, bool explains) {
  Plan plan = base;
  plan.batch = {1, 2048, state.range(0), When::every, When::every};
  PredictionOptions options;
  options.wants_path = options.wants_explanation = explains;
  predict_job(state, must(load_llama_config("llama-3.1-8b")), plan, 8, options);
}

Plan eager_plan() {
  Plan plan;
  plan.operators = OperatorSetName::pytorch_eager;
  return plan;
}

void predict_layers(benchmark::State& state) {
  LlamaConfig config = must(load_llama_config("llama-3.1-8b"));
  config.layers = state.range(0);
  PredictionOptions options;
  options.device_memory = VirtualSegments::kUnlimited;
  predict_job(state, config, {}, 8, options);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

std::vector<Plan> plans_of_a_search() {
  std::vector<Plan> plans;
  for (int i = 0; i < 64; ++i) {
    Plan plan;
    plan.batch.micro_batch = 1 + i % 4;
    plan.batch.sequence = 512 * (1 + i / 4 % 4);
    plan.prefetch.forward = i % 3;
    plan.sharding.reshard_after_forward.kind =
        i % 2 == 0 ? ReshardAfterForward::Kind::yes : ReshardAfterForward::Kind::no;
    plan.checkpointing.mode = i / 16 % 2 == 0 ? CheckpointMode::none : CheckpointMode::full;
    plan.precision.reduce = i / 32 == 0 ? DType::fp32 : DType::bf16;
    plans.push_back(plan);
  }
  return plans;
}

// What a search starts from.
struct SearchInput {
  LlamaConfig config = must(load_llama_config("llama-3.1-8b"));
  Machine machine = must(load_machine("h100-sxm"));
  std::vector<Plan> plans = plans_of_a_search();
  Job first = must(make_job(config, Plan{}, "benchmark", 8));
  PredictionOptions options;

  SearchInput() { options.machine = &machine; }
  Job job(std::size_t n) const { return must(replan(first, plans[n % plans.size()], "benchmark")); }
};

void replan_model(benchmark::State& state) {
  const SearchInput input;
  std::size_t next = 0;
  Prediction prediction;
  for (auto _ : state) {
    const Job job = input.job(next++);
    prediction = predict(job, input.options, std::move(prediction.run));
    benchmark::DoNotOptimize(prediction.step_time);
  }
}

void replan_all(benchmark::State& state) {
  const SearchInput input;
  std::vector<Nanoseconds> times(input.plans.size());
  for (auto _ : state) {
    predict_all(
        times.size(), [&](std::size_t n) { return input.job(n); }, input.options, 2,
        [&](std::size_t n, const Job&, const Prediction& p) { times[n] = p.step_time; });
    benchmark::DoNotOptimize(times.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(times.size()));
}

BENCHMARK_CAPTURE(predict_model, 8b, std::string("llama-3.1-8b"), 8, true)
    ->Name("predict/llama-3.1-8b/8")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict_model, 405b, std::string("llama-3.1-405b"), 512, true)
    ->Name("predict/llama-3.1-405b/512")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict_model, once, std::string("llama-3.1-8b"), 8, false)
    ->Name("predict-once/llama-3.1-8b/8")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict_pytorch, 8b, std::string("llama-3.1-8b"), 8)
    ->Name("predict-pytorch/llama-3.1-8b/8")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict_pytorch, 70b, std::string("llama-3.1-70b"), 64)
    ->Name("predict-pytorch/llama-3.1-70b/64")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict_accumulation, 8b, Plan(), false)
    ->Name("predict-accumulation/llama-3.1-8b/8")
    ->Unit(benchmark::kMillisecond)
    ->Arg(1)
    ->Arg(16);
BENCHMARK_CAPTURE(predict_accumulation, explained, Plan(), true)
    ->Name("predict-explained/llama-3.1-8b/8")
    ->Unit(benchmark::kMillisecond)
    ->Arg(1)
    ->Arg(16);
BENCHMARK_CAPTURE(predict_accumulation, pytorch, eager_plan(), false)
    ->Name("predict-accumulation-pytorch/llama-3.1-8b/8")
    ->Unit(benchmark::kMillisecond)
    ->Arg(1)
    ->Arg(16)
    ->Arg(64);
BENCHMARK(predict_layers)
    ->Name("predict-layers/8")
    ->Unit(benchmark::kMillisecond)
    ->Arg(250)
    ->Arg(1000)
    ->Arg(4000);
BENCHMARK(replan_model)->Name("replan/llama-3.1-8b/8")->Unit(benchmark::kMillisecond);
BENCHMARK(replan_all)
    ->Name("replan-all/llama-3.1-8b/8")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Where the time of a prediction goes.
void lower_only(benchmark::State& state) {
  const Job job = job_of("llama-3.1-8b", Plan{}, 8);
  for (auto _ : state) benchmark::DoNotOptimize(lower(job, 0));
}
BENCHMARK(lower_only)->Name("parts/lower/llama-3.1-8b/8")->Unit(benchmark::kMillisecond);

void memory_only(benchmark::State& state) {
  const Job job = job_of("llama-3.1-8b", Plan{}, 8);
  const RankProgram program = lower(job, 0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(simulate_memory(program, job.plan.allocator, {}).run);
  }
}
BENCHMARK(memory_only)->Name("parts/memory/llama-3.1-8b/8")->Unit(benchmark::kMillisecond);

void engine_only(benchmark::State& state, bool shares) {
  const Job job = job_of("llama-3.1-8b", Plan{}, 8);
  const RankProgram program = lower(job, 0);
  const auto model = machine_costs(must(load_machine("h100-sxm")), 8, 1);
  const ProgramCosts costs = priced_costs(program, *model, counted_costs(program));
  EngineOptions options = model->platform.engine;
  options.shares = shares;
  const std::vector<SimulatedRank> ranks{{&program, costs.costs, {}, program.place}};
  for (auto _ : state) benchmark::DoNotOptimize(simulate(ranks, options));
}
// What a report needs on top of a prediction.
void path_only(benchmark::State& state) {
  const Job job = job_of("llama-3.1-8b", Plan{}, 8);
  const Machine machine = must(load_machine("h100-sxm"));
  PredictionOptions options;
  options.machine = &machine;
  const Prediction p = predict(job, options);
  const auto ranks = simulated_ranks(p.run);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        step_path(ranks, p.run.timelines, options.steps, p.run.engine).length_ns);
  }
}
BENCHMARK(path_only)->Name("parts/critical-path/llama-3.1-8b/8")->Unit(benchmark::kMillisecond);

BENCHMARK_CAPTURE(engine_only, in_order, false)
    ->Name("parts/engine-in-order/llama-3.1-8b/8")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(engine_only, shared, true)
    ->Name("parts/engine-shared/llama-3.1-8b/8")
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace foreshard::simulator
