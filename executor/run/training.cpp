#include "executor/run/training.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "executor/communication/communicators.hpp"
#include "executor/communication/message_communicator.hpp"
#include "executor/device/processor.hpp"
#include "executor/device/start_thread.hpp"
#include "executor/device/tags.hpp"
#include "executor/device/watchdog.hpp"
#include "executor/run/finiteness.hpp"
#include "executor/run/keeper.hpp"
#include "executor/run/rank_run.hpp"
#include "executor/run/run_exports.hpp"
#include "models/base/assertion.hpp"
#include "models/question/question_json.hpp"
#include "models/sharding/job.hpp"
#include "traces/recorded_question.hpp"

namespace foreshard::executor {
namespace {

using Ranks = std::vector<std::unique_ptr<RankRun>>;

// What is to be looked after while ranks wait: agreements, and the end that they lead to.
void look_after(RunShared& shared, Ranks& ranks, std::vector<Wait>& waits) {
  shared.look_for_interrupt();
  if (shared.options.ends_within_step && shared.agreements.last_step.is_asked()) {
    shared.run.end("interrupted");
  }
  shared.agreements.last_step.add_waits(waits);
  OutOfMemoryAgreement& memory = shared.agreements.memory;
  if (!memory.has_limit()) return;
  for (const auto& rank : ranks) {
    memory.look(rank->rank(), [&rank](Tag last) { return rank->has_finished(last); });
  }
  memory.correct(waits);
  if (memory.is_settled()) shared.run.end("out of device memory");
}

WatchdogOptions watchdog_options(RunShared& shared, Ranks& ranks, Heartbeat* heartbeat) {
  WatchdogOptions out;
  out.hang_timeout = shared.options.hang_timeout;
  out.progress = [&ranks, first = ranks[0]->rank()](int rank) {
    return ranks[static_cast<std::size_t>(rank - first)]->device().progress();
  };
  out.describe = describe_tag;
  out.heartbeat = heartbeat;
  out.at_look = [&shared, &ranks](std::vector<Wait>& waits) { look_after(shared, ranks, waits); };
  out.on_overdue = [transport = shared.options.transport](const Failure& failure) {
    std::fprintf(stderr, "foreshard: error: %s\n", failure.text().c_str());
    std::fflush(stderr);
    if (transport != nullptr) transport->abort(1);
    std::_Exit(1);
  };
  return out;
}

traces::RunDescription describe_run(const Job& job, const RankProgram& program,
                                    const TrainingOptions& options) {
  traces::RunDescription run;
  run.program_hash = program_hash(program);
  run.model_json = to_json(job.model);
  run.plan_toml = to_toml(job.plan);
  run.command = options.command;
  run.ranks = job.ranks;
  run.threads_per_rank = options.threads_per_rank;
  run.more = traces::device_metadata(job.own_device);
  run.more[traces::kQuestionKey] = question_json(job);
  if (options.cores > 0) run.more["cores"] = std::to_string(options.cores);
  if (options.device_memory) {
    run.more["device_memory_bytes"] = std::to_string(*options.device_memory);
  }
  run.more["instruction_set"] = name(instruction_set());
  run.more["matmul_precision"] = name(options.matmul_precision);
  if (options.tunes_products) run.more["tuned_products"] = "1";
  if (!options.device_name.empty()) {
    for (int rank = 0; rank < job.ranks; ++rank) {
      run.more["device." + std::to_string(rank)] = options.device_name;
    }
  }
  if (options.gpu_libraries) {
    run.more[traces::kGpuLibrariesKey] = to_json(*options.gpu_libraries);
  }
  if (options.transport != nullptr) {
    run.more["processes"] = std::to_string(options.transport->size());
    run.more["process"] = std::to_string(options.transport->rank());
  }
  return run;
}

OomReport describe_oom(const RankRun& rank, const OutOfMemoryPoint& point,
                       std::int64_t first_step) {
  const std::int64_t relative = point.step == 0 ? 0 : point.step - first_step + 1;
  OomReport report = oom_report(rank.program(), relative, narrow<std::int32_t>(point.instruction),
                                point.rank, point.request);
  report.step = point.step;
  return report;
}

// All steps of the ranks of this process, until they end one way or another.
void run_ranks(RunShared& shared, Ranks& ranks, std::vector<const WaitSource*> sources,
               Heartbeat* heartbeat) {
  std::optional<Watchdog> watchdog;
  std::vector<std::thread> threads;
  threads.reserve(ranks.size());
  try {
    watchdog.emplace(shared.run, std::move(sources), watchdog_options(shared, ranks, heartbeat));
    for (auto& rank : ranks) {
      threads.push_back(start_thread("the thread of rank " + std::to_string(rank->rank()),
                                     [&rank] { rank->run(); }));
    }
  } catch (const std::exception& error) {
    shared.run.fail(kNoRank, error.what());
  }
  for (std::thread& thread : threads) thread.join();
  // The streams of a rank that is out of memory go on with what others need.
  if (!std::ranges::all_of(ranks, [](const auto& rank) { return rank->has_finished(); })) {
    shared.run.wait_until_aborted();
  }
  for (auto& rank : ranks) rank->stop_streams();
}

// Writes what is asked for and closes the recording, together with the other processes.
void close_run(RunShared& shared, Ranks& ranks, Heartbeat* heartbeat,
               std::unique_ptr<profiler::Recorder> recorder, TrainingResult& result) {
  const TrainingOptions& options = shared.options;
  OutOfMemoryAgreement& memory = shared.agreements.memory;
  std::optional<Watchdog> watchdog;
  if (heartbeat != nullptr && !result.failure) {
    watchdog.emplace(shared.closing, std::vector<const WaitSource*>{},
                     watchdog_options(shared, ranks, heartbeat));
  }
  shared.keeper->finish();
  if (watchdog) {
    try {
      // Other processes may still be reading this one's memory: none goes before all have come here.
      memory.share(shared.closing, *options.transport);
    } catch (const Aborted&) {
      result.failure = shared.closing.failure();
    }
  }
  if (const auto point = memory.first(); point && !result.failure) {
    result.ran_out_of_memory = true;
    for (const auto& rank : ranks) {
      if (rank->rank() != point->rank) continue;
      result.oom = describe_oom(*rank, *point, shared.first_step);
      result.held = rank->held_at(*point);
    }
  }
  if (!result.failure && !result.ran_out_of_memory) {
    try {
      result.not_finite = shared.keeper->not_finite();
      if (!result.not_finite) result.not_finite = find_non_finite(shared, ranks);
      if (!result.not_finite) write_outputs(shared, ranks, result);
    } catch (const Aborted&) {
      result.failure = shared.closing.failure();
    }
  }
  if (recorder) {
    for (const GpuMemory& gpu : result.gpus) {
      recorder->set(traces::kGpuMemoryKey + std::to_string(gpu.ranks.front()), to_json(gpu));
    }
    const std::string reason = result.ran_out_of_memory ? "out of device memory"
                               : result.failure         ? result.failure->message
                               : result.not_finite      ? *result.not_finite
                               : result.was_interrupted ? "interrupted"
                                                        : "";
    if (result.failure) {  // nobody is there to be met
      recorder->close(reason);
    } else {
      shared.note(close_recording(shared, std::move(recorder), reason));
    }
  }
}

}  // namespace

RunState initial_state(const Job& job, const TokenData& data, const TrainingOptions& options) {
  RunState state;
  if (options.resume) {
    state.step = options.resume->state().step;
    state.samples = options.resume->state().samples;
  }
  state.total_steps = options.total_steps;
  state.seed = options.seed;
  state.is_shuffled = options.shuffles;
  state.ranks = job.ranks;
  state.nodes = job.nodes;
  state.data = data.identity();
  state.plan = to_toml(job.plan);
  state.model = to_json(job.model);
  return state;
}

Result<SampleOrder> order_of(const TokenData& data, const TrainingOptions& options) {
  const auto seed = options.shuffles ? std::optional(options.seed) : std::nullopt;
  if (!options.resume) return SampleOrder{0, 0, seed};
  return order_behind(options.resume->state(), data, seed);
}

Result<TrainingResult> train(const Job& job, const TokenData& data, const WeightSource& weights,
                             const TrainingOptions& options) {
  RunShared shared(job, data, weights, options);
  if (options.transport != nullptr) {
    if (auto ok = check_builds(shared.run, *options.transport); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  auto order = order_of(data, options);
  if (!order) return tl::unexpected(order.error());
  shared.order = *order;
  shared.first_step = order->steps_done + 1;
  const int only = options.transport == nullptr ? kNoRank : options.transport->rank();
  Ranks ranks;
  for (int rank = 0; rank < job.ranks; ++rank) {
    if (only == kNoRank || rank == only) ranks.push_back(std::make_unique<RankRun>(shared, rank));
  }
  std::optional<StepLog> log;
  if (!options.log.empty() && ranks[0]->rank() == 0) {
    auto opened = StepLog::open(options.log, shared.first_step - 1);
    if (!opened) return tl::unexpected(opened.error());
    log.emplace(std::move(*opened));
  }
  Keeper keeper(shared, ranks.size(), std::move(log));
  shared.keeper = &keeper;
  std::unique_ptr<profiler::Recorder> recorder;
  if (!options.trace.empty()) {
    auto made =
        profiler::Recorder::create(options.trace, describe_run(job, ranks[0]->program(), options));
    if (!made) return tl::unexpected(made.error());
    recorder = std::move(*made);
    if (options.on_lost) recorder->on_failure(options.on_lost);
    if (options.activities != nullptr) {
      if (auto ok = recorder->record_devices(*options.activities); !ok) {
        return tl::unexpected(ok.error());
      }
    }
  }
  std::optional<Communicators> communicators;
  try {
    std::vector<Communicators::Member> members;
    shared.look_at_memory(MemoryMoment::begin);
    for (const auto& rank : ranks) {
      rank->open_device();
      members.push_back({rank->device(), rank->program().place});
    }
    shared.look_at_memory(MemoryMoment::opened);
    communicators.emplace(shared.run, members, options.transport, options.nodes,
                          options.make_communicators);
    shared.look_at_memory(MemoryMoment::connected);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      ranks[r]->prepare(communicators->of(r), recorder.get());
    }
  } catch (const std::runtime_error& error) {
    const bool is_cpu = !options.make_device;
    return fail(
        "", "",
        error.what() + std::string(is_cpu ? "; expected fewer ranks or threads per rank" : ""));
  }
  std::unique_ptr<Heartbeat> heartbeat;
  if (options.transport != nullptr)
    heartbeat = make_heartbeat(shared.run, shared.agreements, *options.transport);
  run_ranks(shared, ranks, communicators->wait_sources(), heartbeat.get());
  if (!shared.run.failure()) shared.look_at_memory(MemoryMoment::end);
  TrainingResult result;
  result.first_step = shared.first_step;
  result.failure = shared.run.failure();
  result.steps = ranks[0]->steps();
  result.tuned_products = options.tunes_products;
  result.warnings = shared.run.warnings();
  if (options.uses_graphs) result.graphs = ranks[0]->graph_report();
  for (const auto& rank : ranks) result.memory.push_back(rank->memory_report());
  if (options.memory_meter) result.gpus = options.memory_meter->seen();
  result.gpu_libraries = options.gpu_libraries;
  // A wish that came in the last step has changed nothing.
  const std::int64_t steps = options.steps - shared.first_step + 1;
  result.was_interrupted =
      shared.agreements.last_step.is_asked() && std::ssize(result.steps) < steps;
  try {
    close_run(shared, ranks, heartbeat.get(), std::move(recorder), result);
  } catch (const Aborted&) {
    result.failure = shared.closing.failure();
  }
  result.lost = shared.lost();
  if (result.not_finite) result.was_interrupted = false;  // the run has ended itself
  return result;
}

}  // namespace foreshard::executor
