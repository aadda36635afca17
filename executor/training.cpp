#include "executor/training.hpp"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "executor/local_communicator.hpp"
#include "executor/message_communicator.hpp"
#include "executor/processor.hpp"
#include "executor/rank_run.hpp"
#include "executor/run_exports.hpp"
#include "executor/watchdog.hpp"
#include "models/oom_report.hpp"

namespace foreshard::executor {
namespace {

constexpr int kGroups = static_cast<int>(Group::kCount);

std::vector<int> members(const RankPlace::Membership& group) {
  std::vector<int> ranks;
  for (int i = 0; i < group.size; ++i) ranks.push_back(group.first_rank + i * group.stride);
  return ranks;
}

// The communicators of all ranks of this process, by rank and group.
class Meeting {
 public:
  Meeting(RunControl& run, const Job& job, Transport* transport) {
    of_.resize(static_cast<std::size_t>(job.ranks));
    for (int g = 0; g < kGroups; ++g) {
      for (int rank = 0; rank < job.ranks; ++rank) {
        const auto group = place_of(job, rank).groups[g];
        if (transport != nullptr) {
          if (rank == transport->rank()) {
            own(make_message_communicator(run, *transport, members(group), g), rank, g);
          }
        } else if (group.index == 0) {
          const std::vector<int> ranks = members(group);
          auto made = make_local_communicators(run, ranks);
          for (std::size_t i = 0; i < made.size(); ++i) own(std::move(made[i]), ranks[i], g);
        }
      }
    }
  }

  const RankRun::Communicators& of(int rank) const { return of_[static_cast<std::size_t>(rank)]; }
  std::vector<const WaitSource*> wait_sources() const {
    std::vector<const WaitSource*> sources;
    for (const auto& c : owned_) sources.push_back(c.get());
    return sources;
  }

 private:
  void own(std::unique_ptr<Communicator> communicator, int rank, int group) {
    of_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(group)] = communicator.get();
    owned_.push_back(std::move(communicator));
  }

  std::vector<std::unique_ptr<Communicator>> owned_;
  std::vector<RankRun::Communicators> of_;
};

WatchdogOptions watchdog_options(const TrainingOptions& options, Heartbeat* heartbeat) {
  WatchdogOptions out;
  out.hang_timeout = options.hang_timeout;
  out.describe = describe_tag;
  out.heartbeat = heartbeat;
  Transport* transport = options.transport;
  out.on_overdue = [transport](const Failure& failure) {
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
  if (options.cores > 0) run.more["cores"] = std::to_string(options.cores);
  run.more["instruction_set"] = name(instruction_set());
  if (options.transport != nullptr) {
    run.more["processes"] = std::to_string(options.transport->size());
    run.more["process"] = std::to_string(options.transport->rank());
  }
  return run;
}

// Processes record into files of their own, which become one.
Result<void> merge_recordings(RunShared& shared) {
  const TrainingOptions& options = shared.options;
  if (options.transport == nullptr || options.trace.empty()) return {};
  exchange(shared.run, *options.transport, "");
  if (options.transport->rank() != 0) return {};
  return traces::merge_parts(options.trace, options.transport->size());
}

OomReport describe_oom(const RankRun& rank, const OutOfMemoryPoint& point,
                       std::int64_t first_step) {
  const std::int64_t relative = point.step == 0 ? 0 : point.step - first_step + 1;
  const OomContext context = oom_context(rank.program(), relative, point.instruction);
  return {point, std::string(context.operator_name), context.unit, std::string(name(context.phase)),
          rank.held_at(point)};
}

}  // namespace

Result<TrainingResult> train(const Job& job, const TokenData& data, const WeightSource& weights,
                             const TrainingOptions& options) {
  RunShared shared(job.ranks, job, data, weights, options);
  if (options.resume) {
    shared.first_step = options.resume->facts().step + 1;
    shared.order = {options.resume->facts().step, options.resume->facts().samples};
  }
  const int only = options.transport == nullptr ? kNoRank : options.transport->rank();
  std::vector<std::unique_ptr<RankRun>> ranks;
  for (int rank = 0; rank < job.ranks; ++rank) {
    if (only == kNoRank || rank == only) ranks.push_back(std::make_unique<RankRun>(shared, rank));
  }
  std::unique_ptr<profiler::Recorder> recorder;
  if (!options.trace.empty()) {
    auto made =
        profiler::Recorder::create(options.trace, describe_run(job, ranks[0]->program(), options));
    if (!made) return tl::unexpected(made.error());
    recorder = std::move(*made);
  }
  Meeting meeting(shared.run, job, options.transport);
  try {
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      ranks[r]->prepare(meeting.of(only == kNoRank ? static_cast<int>(r) : only), recorder.get());
    }
  } catch (const std::runtime_error& error) {
    return fail("", "", std::string(error.what()) + "; expected fewer ranks or threads per rank");
  }
  TrainingResult result;
  result.first_step = shared.first_step;
  {
    std::unique_ptr<Heartbeat> heartbeat;
    if (options.transport != nullptr)
      heartbeat = make_heartbeat(shared.run, shared.agreement, *options.transport);
    Watchdog watchdog(shared.run, meeting.wait_sources(),
                      watchdog_options(options, heartbeat.get()));
    std::vector<std::thread> threads;
    for (auto& rank : ranks) {
      try {
        threads.emplace_back([&rank] { rank->run(); });
      } catch (const std::system_error& error) {
        const int of = only == kNoRank ? static_cast<int>(threads.size()) : only;
        shared.run.fail(of, "its thread cannot be started: " + error.code().message());
        break;
      }
    }
    for (std::thread& thread : threads) thread.join();
    for (auto& rank : ranks) rank->stop_streams();
    if (options.transport != nullptr && shared.agreement.first()) {
      // Other processes may still be reading this one's memory: none goes before all have stopped.
      RunControl ending(job.ranks);
      exchange(ending, *options.transport, "");
    }
  }
  result.failure = shared.run.failure();
  result.steps = ranks[0]->steps();
  for (const auto& rank : ranks) result.memory.push_back(rank->memory_report());
  if (const auto point = shared.agreement.first()) {
    result.failure.reset();
    result.ran_out_of_memory = true;
    if (only == kNoRank || only == point->rank) {
      const auto& failed = *ranks[only == kNoRank ? static_cast<std::size_t>(point->rank) : 0];
      result.oom = describe_oom(failed, *point, shared.first_step);
    }
  }
  result.was_interrupted = options.interrupt != nullptr && options.interrupt->load();
  if (recorder) {
    const std::string reason = result.ran_out_of_memory ? "out of device memory"
                               : result.failure         ? result.failure->message
                               : result.was_interrupted ? "interrupted"
                                                        : "";
    if (auto closed = recorder->close(reason); !closed) return tl::unexpected(closed.error());
    recorder.reset();
  }
  if (result.failure) return result;
  if (auto ok = merge_recordings(shared); !ok) return tl::unexpected(ok.error());
  if (!result.ran_out_of_memory) {
    if (auto ok = write_outputs(job, shared, ranks, result); !ok) return tl::unexpected(ok.error());
  }
  return result;
}

}  // namespace foreshard::executor
