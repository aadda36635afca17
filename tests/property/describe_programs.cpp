// Writes down what the lowering makes of random jobs, so that a change of the code that should change
// no program can be compared with what was before: describe the jobs, change the code, describe them
// again, and `diff -r` the two folders.
//
//   describe_programs FOLDER [JOBS [RUNS]]
//
// FOLDER/SEED.txt holds, for JOBS random jobs (200), the plan, the programs of one rank of each class,
// and the predicted peaks and step times; FOLDER/SEED.run.txt, for the first RUNS of them (20), what a
// recorded run consists of: events and memory events of each lane in order, without their times.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>

#include "executor/run/training.hpp"
#include "models/hardware/hardware.hpp"
#include "models/lowering/lower.hpp"
#include "simulator/predict/prediction.hpp"
#include "tests/property/random_job.hpp"
#include "tests/temporary_folder.hpp"
#include "traces/fst/fst_file.hpp"

namespace foreshard {
namespace {

constexpr std::int64_t kSteps = 3;

void describe_programs(std::ostream& out, const Job& job) {
  out << to_toml(job.plan) << to_json(job.model) << job.ranks << " ranks\n";
  for (const std::string& warning : job.warnings) out << "warning: " << warning << '\n';
  for (const int rank : rank_classes(job, 8)) {
    if (rank != 0 && rank != job.ranks - 1) continue;
    const RankProgram program = lower(job, rank);
    out << "rank " << rank << '\n';
    for (const std::string& warning : program.warnings) out << "warning: " << warning << '\n';
    for (std::int64_t step = 0; step < kSteps; ++step) {
      out << "step " << step << '\n' << to_text(program, program.step(step), job.tree);
    }
    for (const Buffer& b : program.buffers) {
      out << b.bytes << ' ' << b.on_host << ' ' << b.persistent << ' ' << program.name(b.pool)
          << ' ' << name(b.category) << ' ' << b.unit << ' ' << program.name(b.owner) << ": "
          << program.name(b.role) << '\n';
    }
  }
}

void describe_prediction(std::ostream& out, const Job& job) {
  const auto machine = load_machine("h100-sxm");
  simulator::PredictionOptions options;
  options.steps = kSteps;
  options.machine = machine ? &*machine : nullptr;
  const simulator::Prediction p = simulator::predict(job, options);
  for (const auto& step : p.steps_memory) {
    out << "step " << step.step << " rank " << step.rank << ": " << step.peaks.allocated << ' '
        << step.peaks.reserved << ' ' << step.peaks.active << '\n';
  }
  for (const auto& rank : p.ranks_memory) out << "host " << rank.peak_host << '\n';
  out << "peak " << p.peak.rank << ' ' << p.peak.phase << ' ' << p.peak.unit << '\n';
  out << "step time " << p.step_time.count() << " exposed " << p.exposed_communication.count()
      << '\n';
}

void describe_run(std::ostream& out, const Job& job) {
  const tests::TemporaryFolder folder;
  const auto data =
      executor::TokenData::shipped_text(job.model.vocabulary, job.plan.batch.sequence);
  const auto weights = executor::WeightSource::drawn(job.model, 1);
  executor::TrainingOptions options;
  options.steps = options.total_steps = kSteps;
  options.trace = folder.path("run.fst");
  const auto result = executor::train(job, *data, weights, options);
  if (!result) {
    out << result.error().text() << '\n';
    return;
  }
  const auto trace = traces::read_fst(options.trace);
  if (!trace) {
    out << trace.error().text() << '\n';
    return;
  }
  std::map<std::int32_t, std::vector<std::string>> lanes;
  for (const traces::Event& e : trace->events) {
    lanes[e.lane].push_back(std::to_string(static_cast<int>(e.kind)) + ' ' +
                            std::to_string(e.step) + ' ' + std::to_string(e.micro_step) + ' ' +
                            trace->strings[e.name] + " | " + trace->strings[e.phase] + " | " +
                            trace->strings[e.unit] + " | " + trace->strings[e.cost_key] + " | " +
                            trace->strings[e.stable_key] + ' ' + std::to_string(e.instruction) +
                            ' ' + std::to_string(e.bytes));
  }
  for (const auto& [lane, events] : lanes) {
    out << "lane " << lane << '\n';
    for (const std::string& event : events) out << event << '\n';
  }
  for (const traces::MemoryEvent& m : trace->memory) {
    out << m.rank << ' ' << static_cast<int>(m.action) << ' ' << m.bytes << ' '
        << (m.on_host ? 0 : m.address) << ' ' << trace->strings[m.owner] << ' ' << m.instruction
        << '\n';
  }
  for (const auto& step : result->steps) {
    out << std::hexfloat << step.loss << ' ' << step.gradient_norm << '\n';
  }
}

}  // namespace
}  // namespace foreshard

int main(int argc, char** argv) {
  using namespace foreshard;
  if (argc < 2) {
    std::cerr << "usage: describe_programs FOLDER [JOBS [RUNS]]\n";
    return 2;
  }
  const int jobs = argc > 2 ? std::atoi(argv[2]) : 200;
  const int runs = argc > 3 ? std::atoi(argv[3]) : 20;
  for (int seed = 1; seed <= jobs; ++seed) {
    const Job job = tests::JobDrawer(static_cast<std::uint64_t>(seed)).draw();
    const std::string path = std::string(argv[1]) + '/' + std::to_string(seed);
    std::ofstream text(path + ".txt");
    describe_programs(text, job);
    describe_prediction(text, job);
    if (seed > runs) continue;
    std::ofstream run(path + ".run.txt");
    describe_run(run, job);
  }
}
