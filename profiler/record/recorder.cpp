#include "profiler/record/recorder.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include <pthread.h>
#include <sched.h>
#include <signal.h>

namespace foreshard::profiler {
namespace {

using namespace std::chrono_literals;
constexpr auto kDrainInterval = 200ms;

// In the place of the file's number of an event's attributes: no event of its own, but the start of the
// one that the range's end becomes.
constexpr std::int32_t kRangeBegins = -1;

// What RankRecording (executor/run) does for a record of each kind.
ByKind<double> measured_costs() {
  constexpr int kTimes = 4096;
  RecordBuffer<traces::PackedRecord, 1024> buffer;
  ThreadClock clock(INT64_MAX);  // readings are counted apart
  ByKind<double> ns;
  ns.events = best_ns(kTimes, [&](int i) {
    const std::int64_t start = clock_now();
    buffer.push({start, clock_now(), -1, i, 0, 0});
  });
  ns.works = best_ns(kTimes, [&](int i) {
    const auto begun = clock.begin(false), ended = clock.end(false);
    buffer.push({begun.ns, ended.ns, cpu_between(begun, ended), i, 0, 0});
  });
  ns.memory = best_ns(kTimes, [&](int i) { buffer.push({clock_now(), 0, 0, i, 0, 0, 0}); });
  ns.readings = thread_time_reading_ns();
  return ns;
}

double sum(const ByKind<std::int64_t>& done, const ByKind<double>& ns) {
  const auto times = [](std::int64_t n, double each) { return static_cast<double>(n) * each; };
  return times(done.events, ns.events) + times(done.works, ns.works) +
         times(done.memory, ns.memory) + times(done.readings, ns.readings);
}

std::string decimal(double value) {
  // Six digits after the point suit nanoseconds and fractions alike, in every locale.
  const auto millionths = std::int64_t{std::llround(value * 1e6)};
  std::string digits = std::to_string(millionths % 1'000'000);
  return std::to_string(millionths / 1'000'000) + "." + std::string(6 - digits.size(), '0') +
         digits;
}

}  // namespace

struct Recorder::State {
  State(traces::FstWriter opened, std::int64_t clock_origin_ns, const ByKind<double>& costs)
      : writer(std::move(opened)), origin_ns(clock_origin_ns), ns(costs) {}
  ~State() { stop(); }

  std::mutex mutex;  // guards all but what the ranks' threads push into
  traces::FstWriter writer;
  const std::int64_t origin_ns;
  std::deque<RankRecorder> ranks;                           // addresses stay
  std::vector<std::int32_t> event_numbers, memory_numbers;  // attributes: ours -> the file's
  std::vector<bool> ends_range;  // by our number of an event's attributes
  std::vector<traces::PackedRecord> batch;
  const ByKind<double> ns;
  ByKind<std::int64_t> done;
  std::int64_t records = 0;
  std::int64_t step_time_ns = 0;      // of all ranks
  std::int64_t last_drain_began = 0;  // ns since the origin
  std::int64_t drain_cpu_ns = 0;
  DeviceWork device_work;
  ActivityRecorder* activities = nullptr;  // nullptr: no device is recorded
  std::thread drainer;
  std::condition_variable stop_requested;
  bool is_stopping = false;
  bool has_failed = false;  // what is appended is counted, and has no other effect
  std::function<void(const Error&)> tell_failure;

  std::int64_t now() const { return clock_now() - origin_ns; }

  // Numbers attributes consecutively and returns the first number.
  template <typename Attributes>
  std::int32_t add_all(const std::vector<Attributes>& attributes,
                       std::vector<std::int32_t>& numbers) {
    const auto first = static_cast<std::int32_t>(numbers.size());
    for (const Attributes& one : attributes) numbers.push_back(writer.add(one));
    return first;
  }

  void mark_ranges(const std::vector<Instruction>& instructions, std::size_t first) {
    ends_range.resize(event_numbers.size());
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      if (instructions[i].kind == Kind::range_begin) event_numbers[first + i] = kRangeBegins;
      if (instructions[i].kind == Kind::range_end) ends_range[first + i] = true;
    }
  }

  void take(LaneRecorder& lane) {
    batch.clear();
    lane.buffer_.drain([&](std::span<const traces::PackedRecord> pushed) {
      for (traces::PackedRecord record : pushed) {
        const auto attributes = static_cast<std::size_t>(record.attributes);
        const bool is_event = record.action == traces::PackedRecord::kEvent;
        ++(!is_event ? done.memory : record.value < 0 ? done.events : done.works);
        if (!is_event) {
          record.attributes = memory_numbers[attributes];
        } else if (event_numbers[attributes] == kRangeBegins) {
          lane.open_ranges_.push_back(record.start_ns);
          continue;
        } else {
          record.attributes = event_numbers[attributes];
          if (ends_range[attributes] && !lane.open_ranges_.empty()) {
            record.start_ns = lane.open_ranges_.back();
            lane.open_ranges_.pop_back();
          }
        }
        batch.push_back(record);
      }
    });
    records += static_cast<std::int64_t>(batch.size());
    writer.append(std::span<const traces::PackedRecord>(batch));
  }

  // Returns the moment before which nothing is missing any more.
  std::int64_t take_all() {
    const std::int64_t began = now();
    for (RankRecorder& rank : ranks) {
      take(rank.host_);
      for (LaneRecorder& lane : rank.streams_) take(lane);
      rank.steps_.drain([&](std::span<const traces::Step> steps) {
        for (const traces::Step& step : steps) step_time_ns += step.end_ns - step.start_ns;
        writer.append(steps);
      });
    }
    std::int64_t complete_until = std::exchange(last_drain_began, began);
    if (activities != nullptr) {
      device_work.write(writer, origin_ns);
      complete_until = std::min(complete_until, device_work.written_until());
    }
    // A thread may have read the clock just before this round and push only now. Nobody takes a
    // whole round for that: what ended before the last one began is surely here.
    return complete_until;
  }

  void drain_until_stopped() {
    // Only idle processor time: a rank must never wait for the recorder's processor.
    const sched_param priority{};
    ::pthread_setschedparam(::pthread_self(), SCHED_IDLE, &priority);
    ::pthread_setname_np(::pthread_self(), "foreshard-trace");
    std::unique_lock lock(mutex);
    while (!stop_requested.wait_for(lock, kDrainInterval, [&] { return is_stopping; })) {
      const std::int64_t used_before = thread_time_now();
      if (activities != nullptr) {
        lock.unlock();  // CUPTI may call back with a lock of its own held
        activities->flush();
        lock.lock();
      }
      const std::int64_t complete_until = std::max<std::int64_t>(take_all(), 1);
      const auto committed = writer.commit(complete_until);
      drain_cpu_ns += thread_time_now() - used_before;
      if (!committed && !std::exchange(has_failed, true) && tell_failure) {
        tell_failure(committed.error());
      }
    }
  }

  void start() {
    // Signals are for the threads that handle them.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    drainer = std::thread([this] { drain_until_stopped(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      is_stopping = true;
    }
    stop_requested.notify_all();
    if (drainer.joinable()) drainer.join();
    if (activities == nullptr) return;
    activities->stop();
    device_work.finish();
  }
};

Recorder::Recorder(std::unique_ptr<State> state) : state_(std::move(state)) {}
Recorder::~Recorder() = default;

Result<std::unique_ptr<Recorder>> Recorder::create(const std::string& path,
                                                   const traces::RunDescription& run) {
  const ByKind<double> costs = measured_costs();
  const std::int64_t origin = clock_now();
  traces::Metadata metadata = traces::run_metadata(run);
  metadata["clock_origin_ns"] = std::to_string(origin);
  metadata["clock_id"] = traces::clock_id();
  metadata["complete_until_ns"] = "1";
  const auto process = traces::integer(metadata, "process", 0);
  auto writer =
      traces::FstWriter::create(traces::part_path(path, static_cast<int>(process)), metadata);
  if (!writer) return tl::unexpected(writer.error());
  auto state = std::make_unique<State>(std::move(*writer), origin, costs);
  state->start();
  return std::unique_ptr<Recorder>(new Recorder(std::move(state)));
}

Result<void> Recorder::record_devices(ActivityRecorder& activities) {
  auto started = activities.start({clock_now}, state_->device_work);
  if (!started) return started;
  const std::lock_guard lock(state_->mutex);
  state_->activities = &activities;
  std::string missing;
  for (const std::string& one : activities.missing())
    missing += (missing.empty() ? "" : "; ") + one;
  if (!missing.empty()) state_->writer.set("not_recorded", missing);
  return {};
}

RankRecorder& Recorder::add_rank(int rank, const RankProgram& program, const ModuleTree& tree) {
  const std::lock_guard lock(state_->mutex);
  traces::FstWriter& writer = state_->writer;
  traces::Strings& strings = writer.strings();
  RankRecorder& added = state_->ranks.emplace_back();
  added.rank_ = rank;
  added.number_ = static_cast<std::uint32_t>(state_->ranks.size() - 1);
  added.activities_ = state_->activities;
  added.host_.lane_ = writer.add(traces::Lane{rank, false, strings.intern("host")});
  std::vector<std::int32_t> lanes;
  for (const StreamInfo& stream : program.streams) {
    LaneRecorder& lane = added.streams_.emplace_back();
    lane.lane_ = writer.add(traces::Lane{rank, true, strings.intern(stream.name)});
    lanes.push_back(lane.lane_);
  }
  for (std::size_t n = 0; n < program.programs.size(); ++n) {
    const auto attributes = traces::program_attributes(program, n, tree, lanes, strings);
    const std::int32_t host = state_->add_all(attributes.host, state_->event_numbers);
    state_->mark_ranges(program.programs[n].instructions, static_cast<std::size_t>(host));
    const std::int32_t memory = state_->add_all(attributes.memory, state_->memory_numbers);
    added.host_.first_attributes_.push_back(host);
    added.host_.first_memory_.push_back(memory);
    if (state_->activities != nullptr) {
      DeviceProgram of_device{attributes.device, {}, {}};
      for (const Instruction& i : program.programs[n].instructions) {
        of_device.lanes.push_back(lanes[static_cast<std::size_t>(i.stream)]);
        of_device.allocates.push_back(i.kind == Kind::alloc);
      }
      state_->device_work.add_program(added.number_, std::move(of_device));
    }
    const std::int32_t device = state_->add_all(attributes.device, state_->event_numbers);
    state_->ends_range.resize(state_->event_numbers.size());
    for (LaneRecorder& lane : added.streams_) {
      lane.first_attributes_.push_back(device);
      lane.first_memory_.push_back(memory);
    }
  }
  return added;
}

void Recorder::on_failure(std::function<void(const Error&)> tell) {
  const std::lock_guard lock(state_->mutex);
  state_->tell_failure = std::move(tell);
}

std::int64_t Recorder::now() const {
  return state_->now();
}

void Recorder::set(const std::string& key, const std::string& value) {
  const std::lock_guard lock(state_->mutex);
  state_->writer.set(key, value);
}

Result<RecordingCost> Recorder::close(const std::string& end_reason) {
  state_->stop();
  state_->take_all();
  RecordingCost cost{state_->done, state_->ns, state_->records};
  for (const RankRecorder& rank : state_->ranks) {
    cost.done.readings += rank.host_.clock_.readings();
    for (const LaneRecorder& lane : rank.streams_) cost.done.readings += lane.clock_.readings();
  }
  cost.records += state_->device_work.records();
  cost.done.events += state_->device_work.records();
  const double of_threads = sum(cost.done, cost.ns);
  cost.ns_per_record = of_threads / std::max(1.0, static_cast<double>(cost.records));
  if (state_->step_time_ns > 0) {
    cost.fraction = (of_threads + static_cast<double>(state_->drain_cpu_ns)) /
                    static_cast<double>(state_->step_time_ns);
  }
  traces::FstWriter& writer = state_->writer;
  writer.set("recorder_overhead_ns_per_event", decimal(cost.ns_per_record));
  writer.set("recorder_overhead_fraction", decimal(cost.fraction));
  if (!end_reason.empty()) writer.set("end_reason", end_reason);
  const auto closed = writer.close(state_->now());
  if (!closed) return tl::unexpected(closed.error());
  return cost;
}

}  // namespace foreshard::profiler
