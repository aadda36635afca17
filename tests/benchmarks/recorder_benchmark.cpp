// What recording costs the thread that does it, and what carrying records to the file costs.
#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include <benchmark/benchmark.h>
#include <time.h>
#include <unistd.h>

#include "executor/run/training.hpp"
#include "models/sharding/job.hpp"
#include "profiler/analysis/analysis.hpp"
#include "profiler/record/recorder.hpp"
#include "tests/small_llama.hpp"
#include "traces/fst/fst_file.hpp"

namespace foreshard::profiler {
namespace {

std::string temporary_trace() {
  return (std::filesystem::temp_directory_path() /
          ("recorder_benchmark." + std::to_string(::getpid()) + ".fst"))
      .string();
}

// Appending one record whose times are known: what the recorder adds to the executor's own clock.
void record_push(benchmark::State& state) {
  RecordBuffer<traces::PackedRecord, 1024> buffer;
  std::int32_t n = 0;
  for (auto _ : state) {
    buffer.push({n, n + 1, -1, n, 0, 1});
    if (++n % 4096 == 0)
      buffer.drain([](std::span<const traces::PackedRecord> records) {
        benchmark::DoNotOptimize(records.data());
      });
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(record_push)->Name("record/push");

// The same with the two clock reads an event needs.
void record_event(benchmark::State& state) {
  RecordBuffer<traces::PackedRecord, 1024> buffer;
  std::int32_t n = 0;
  for (auto _ : state) {
    const std::int64_t start = clock_now();
    buffer.push({start, clock_now(), -1, n, 0, 1});
    if (++n % 4096 == 0)
      buffer.drain([](std::span<const traces::PackedRecord> records) {
        benchmark::DoNotOptimize(records.data());
      });
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(record_event)->Name("record/event");

traces::FstWriter open_writer(traces::PackedRecord& record) {
  auto writer = traces::FstWriter::create(temporary_trace(), traces::run_metadata({}));
  if (!writer) throw std::runtime_error(writer.error().text());
  traces::EventAttributes kernel;
  kernel.kind = traces::EventKind::compute;
  record = {0, 1, -1, writer->add(kernel), 0, 1};
  record.lane = writer->add(traces::Lane{0, true, writer->strings().intern("compute")});
  return std::move(*writer);
}

// Carrying a fifth of a second of records to the file, as the low-priority thread does.
void record_commit(benchmark::State& state) {
  traces::PackedRecord record{};
  auto writer = open_writer(record);
  const std::vector<traces::PackedRecord> batch(static_cast<std::size_t>(state.range(0)), record);
  for (auto _ : state) {
    writer.append(batch);
    if (!writer.commit(1)) throw std::runtime_error("commit failed");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  std::filesystem::remove(temporary_trace());
}
BENCHMARK(record_commit)->Name("record/commit")->Arg(20'000)->Unit(benchmark::kMicrosecond);

double processor_us() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

// Processor time of the process for a step, in microseconds, without set-up and closing.
double trained(const Job& job, const executor::TokenData& data, const std::string& trace) {
  constexpr std::int64_t kFirst = 100, kSteps = 1500;
  double begin = 0, end = 0;
  executor::TrainingOptions options;
  options.steps = options.total_steps = kSteps;
  options.trace = trace;
  options.on_step = [&](const executor::StepReport& report) {
    if (report.step == kFirst) begin = processor_us();
    if (report.step == kSteps) end = processor_us();
  };
  const auto result =
      executor::train(job, data, executor::WeightSource::drawn(job.model, 0), options);
  if (!result) throw std::runtime_error(result.error().text());
  return (end - begin) / (kSteps - kFirst);
}

// What recording adds to the processor time of a model as small as there are, and what the recording states
// of it. Two ranks of one thread; a run without a recording goes before each, and the best of them count, for
// how often threads fall asleep varies.
void record_training(benchmark::State& state) {
  Plan plan;
  plan.precision.param = DType::fp32;
  plan.batch.micro_batch = 1;
  plan.batch.sequence = 32;
  const auto job = make_job(tests::small_llama({32, 64, 2, 4, 4, 256}), plan, "plan", 2);
  if (!job) throw std::runtime_error(job.error().text());
  const auto data = executor::TokenData::shipped_text(job->model.vocabulary, plan.batch.sequence);
  double without = 1e18, with = 1e18, stated = 0;
  for (auto _ : state) {
    without = std::min(without, trained(*job, *data, ""));
    const double recorded = trained(*job, *data, temporary_trace());
    with = std::min(with, recorded);
    state.SetIterationTime(recorded * 1e-6);
    const auto trace = traces::read_fst(temporary_trace());
    if (!trace) throw std::runtime_error(trace.error().text());
    double steps_ns = 0;
    for (const traces::Step& step : trace->steps) {
      steps_ns += static_cast<double>(step.end_ns - step.start_ns);
    }
    const double fraction = std::stod(trace->metadata.at("recorder_overhead_fraction"));
    stated += fraction * steps_ns * 1e-3 * 2 / static_cast<double>(trace->steps.size());
    std::filesystem::remove(temporary_trace());
  }
  state.counters["without_us"] = without;
  state.counters["cost_us"] = with - without;
  state.counters["stated_us"] = stated / static_cast<double>(state.iterations());
}
BENCHMARK(record_training)
    ->Name("record/training")
    ->UseManualTime()
    ->Iterations(8)
    ->Unit(benchmark::kMicrosecond);

// Turning the records of a finished run into rows.
void record_close(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    traces::PackedRecord record{};
    auto writer = open_writer(record);
    writer.append(
        std::vector<traces::PackedRecord>(static_cast<std::size_t>(state.range(0)), record));
    state.ResumeTiming();
    if (!writer.close(1)) throw std::runtime_error("close failed");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  std::filesystem::remove(temporary_trace());
}
BENCHMARK(record_close)->Name("record/close")->Arg(200'000)->Unit(benchmark::kMillisecond);

void trace_read(benchmark::State& state) {
  traces::PackedRecord record{};
  auto writer = open_writer(record);
  writer.append(
      std::vector<traces::PackedRecord>(static_cast<std::size_t>(state.range(0)), record));
  if (!writer.close(1)) throw std::runtime_error("close failed");
  for (auto _ : state) benchmark::DoNotOptimize(traces::read_fst(temporary_trace()));
  state.SetItemsProcessed(state.iterations() * state.range(0));
  std::filesystem::remove(temporary_trace());
}
BENCHMARK(trace_read)->Name("trace/read")->Arg(200'000)->Unit(benchmark::kMillisecond);

void trace_analyse(benchmark::State& state) {
  traces::Trace trace;
  trace.lanes = {{0, true, 0}, {0, true, 0}};
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    traces::Event event;
    event.start_ns = i * 10;
    event.end_ns = i * 10 + 12;
    event.lane = static_cast<std::int32_t>(i % 2);
    event.kind = i % 2 == 0 ? traces::EventKind::compute : traces::EventKind::communication;
    trace.events.push_back(event);
  }
  traces::sort(trace);
  for (auto _ : state) benchmark::DoNotOptimize(analyse(trace));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(trace_analyse)->Name("trace/analyse")->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace foreshard::profiler
