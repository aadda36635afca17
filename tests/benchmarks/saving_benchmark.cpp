// What a checkpoint every ten steps adds to training, on all of the machine's cores.
#include <ctime>
#include <filesystem>
#include <stdexcept>

#include <benchmark/benchmark.h>
#include <unistd.h>

#include "executor/data/checkpoint_series.hpp"
#include "executor/run/training.hpp"
#include "models/sharding/job.hpp"
#include "tests/small_llama.hpp"

namespace foreshard::executor {
namespace {

namespace fs = std::filesystem;

struct Cost {
  double wall = 0, processor = 0;  // nanoseconds

  void operator+=(const Cost& other) {
    wall += other.wall;
    processor += other.processor;
  }
};

double processor_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// Wall time of all steps but the first two, with what lies between them; processor time of the run.
Cost trained(const Job& job, const TokenData& data, std::int64_t save_every) {
  constexpr std::int64_t kSteps = 32, kFirst = 2;
  const fs::path folder =
      fs::temp_directory_path() / ("saving_benchmark." + std::to_string(::getpid()));
  TrainingOptions options;
  options.steps = options.total_steps = kSteps;
  if (save_every > 0) {
    options.save = folder.string();
    options.save_every = save_every;
    if (auto ok = begin_series(options.save); !ok) throw std::runtime_error(ok.error().text());
  }
  const double before = processor_ns();
  const auto result = train(job, data, WeightSource::drawn(job.model, 0), options);
  const double processor = processor_ns() - before;
  fs::remove_all(folder);
  if (!result) throw std::runtime_error(result.error().text());
  if (!result->lost.empty()) throw std::runtime_error(result->lost.front().text());
  const auto wall = result->steps.back().end - result->steps[kFirst - 1].end;
  return {static_cast<double>(wall.count()), processor};
}

// Two ranks of one thread. The same run without a checkpoint goes before each; the counters
// are what those with one took longer.
void train_saving(benchmark::State& state) {
  Plan plan;
  plan.precision.param = DType::fp32;
  plan.batch.micro_batch = 2;
  plan.batch.sequence = 256;
  auto job = make_job(tests::small_llama({512, 1408, 2, 8, 4, 1024}), plan, "plan", 2);
  if (!job) throw std::runtime_error(job.error().text());
  const auto data = TokenData::shipped_text(job->model.vocabulary, plan.batch.sequence);
  Cost without, with;
  for (auto _ : state) {
    without += trained(*job, *data, 0);
    const Cost saving = trained(*job, *data, 10);
    with += saving;
    state.SetIterationTime(saving.wall * 1e-9);
  }
  state.counters["wall_percent"] = 100 * (with.wall / without.wall - 1);
  state.counters["processor_percent"] = 100 * (with.processor / without.processor - 1);
}
BENCHMARK(train_saving)
    ->Name("train/save_every_10_steps")
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace foreshard::executor
