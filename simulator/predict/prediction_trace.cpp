// to_trace: a prediction in the form of a recording, event by event with the same words, so that the
// two can be compared and shown by the same tools.
#include <algorithm>
#include <tuple>

#include "models/program/program_json.hpp"
#include "models/question/question_json.hpp"
#include "models/sharding/job.hpp"
#include "simulator/predict/prediction.hpp"
#include "traces/metadata.hpp"
#include "traces/program_attributes.hpp"
#include "traces/recorded_question.hpp"

namespace foreshard::simulator {
namespace {

using traces::EventAttributes;
using traces::MemoryAction;
using traces::ProgramAttributes;

MemoryAction action_of(AllocatorEvent::Action action) {
  switch (action) {
    case AllocatorEvent::Action::alloc: return MemoryAction::alloc;
    case AllocatorEvent::Action::free_requested: return MemoryAction::free_requested;
    case AllocatorEvent::Action::free_completed: return MemoryAction::free_completed;
    case AllocatorEvent::Action::segment_alloc:
    case AllocatorEvent::Action::segment_map: return MemoryAction::segment_alloc;
    case AllocatorEvent::Action::segment_free:
    case AllocatorEvent::Action::segment_unmap: return MemoryAction::segment_free;
    case AllocatorEvent::Action::out_of_memory: break;
  }
  return MemoryAction::out_of_memory;
}

// Writes one simulated rank into the trace.
class RankWriter {
 public:
  RankWriter(traces::Trace& trace, const RankClass& rank_class, const RankTimeline& timeline,
             int rank, std::int64_t steps)
      : trace_(trace), rank_class_(rank_class), timeline_(timeline), rank_(rank), steps_(steps) {
    host_lane_ = add_lane(false, "host");
    for (const StreamInfo& stream : rank_class.program.streams) {
      lanes_.push_back(add_lane(true, stream.name));
    }
    for (std::size_t n = 0; n < rank_class.program.programs.size(); ++n) {
      attributes_.push_back(traces::program_attributes(
          rank_class.program, n, rank_class.program.tree, lanes_, trace.strings));
      add_cost_sources(rank_class.program.programs[n], attributes_.back());
    }
  }

  void write() {
    const auto steps = timeline_.first_span.size() - 1;
    for (std::size_t step = 0; step < steps; ++step) write_step(step);
    write_memory();
  }

 private:
  std::int32_t add_lane(bool device, std::string_view lane_name) {
    trace_.lanes.push_back({rank_, device, trace_.strings.intern(lane_name)});
    return static_cast<std::int32_t>(trace_.lanes.size()) - 1;
  }

  // Of the work itself, on whichever side it is done. What the host takes to issue has none.
  void add_cost_sources(const Program& program, ProgramAttributes& attributes) const {
    const ProgramCosts& costs = rank_class_.costs;
    const std::size_t places = cost_places(rank_class_.program.place);
    for (std::size_t n = 0; n < program.instructions.size(); ++n) {
      const Instruction& instruction = program.instructions[n];
      if (instruction.cost_key == kNone) continue;
      const std::size_t at = cost_index(instruction, places);
      EventAttributes& work =
          (runs_on_stream(instruction.kind) ? attributes.device : attributes.host)[n];
      work.cost_source = costs.sources[at];
      work.cost_error = static_cast<float>(costs.errors[at]);
    }
  }

  const ProgramAttributes& attributes(std::size_t step) const {
    return attributes_[number_of(step)];
  }

  std::size_t number_of(std::size_t step) const {
    return rank_class_.program.number_of(static_cast<std::int64_t>(step), steps_);
  }

  void write_step(std::size_t step) {
    const auto spans = timeline_.step(step);
    const auto& instructions = rank_class_.program.programs[number_of(step)].instructions;
    std::vector<std::size_t> open;  // ranges that have begun
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const Instruction& instruction = instructions[i];
      const EventAttributes& host = attributes(step).host[i];
      const Span& span = spans[i];
      if (instruction.kind == Kind::range_begin) {
        open.push_back(i);
      } else if (instruction.kind == Kind::range_end) {
        if (open.empty()) continue;
        const std::size_t begin = open.back();
        open.pop_back();
        add(attributes(step).host[begin], host_lane_, step, spans[begin].issue, span.end);
      } else if (runs_on_stream(instruction.kind)) {
        const std::int64_t issued = i + 1 < spans.size() ? spans[i + 1].issue : span.issue;
        add(host, host_lane_, step, span.issue, issued);
        add(attributes(step).device[i], lanes_[static_cast<std::size_t>(instruction.stream)], step,
            span.start, span.end);
      } else {
        add(host, host_lane_, step, instruction.kind == Kind::host_wait ? span.start : span.issue,
            span.end);
      }
    }
    if (static_cast<std::int64_t>(step) > steps_) return;
    const std::int64_t start = step == 0 ? 0 : timeline_.step_end_ns[step - 1];
    trace_.steps.push_back(
        {rank_, static_cast<std::int32_t>(step), start, timeline_.step_end_ns[step], 0, 0});
  }

  void add(const EventAttributes& attributes, std::int32_t lane, std::size_t step,
           std::int64_t start, std::int64_t end) {
    traces::Event event;
    event.start_ns = start;
    event.end_ns = end;
    event.lane = lane;
    event.step = static_cast<std::int32_t>(step);
    event.kind = attributes.kind;
    event.micro_step = attributes.micro_step;
    event.name = attributes.name;
    event.phase = attributes.phase;
    event.unit = attributes.unit;
    event.stable_key = attributes.stable_key;
    event.cost_key = attributes.cost_key;
    event.instruction = attributes.instruction;
    event.bytes = attributes.bytes;
    event.cost_source = attributes.cost_source;
    event.cost_error = attributes.cost_error;
    trace_.events.push_back(event);
  }

  BufferId buffer_of(std::size_t step, std::size_t instruction) const {
    return rank_class_.program.programs[number_of(step)].instructions[instruction].target;
  }

  void write_memory() {
    for (const MemoryRecord& record : rank_class_.memory.records) {
      const auto step = static_cast<std::size_t>(record.step);
      const auto instruction = static_cast<std::size_t>(record.instruction);
      const auto& about = attributes(step).memory[instruction];
      traces::MemoryEvent event;
      event.time_ns = timeline_.done_ns(step, instruction);
      event.rank = rank_;
      event.action = action_of(record.event.action);
      event.on_host = record.on_host;
      event.step = static_cast<std::int32_t>(step);
      // The host's buffers have no addresses in a model; their numbers tell them apart as well.
      event.address = record.on_host ? buffer_of(step, instruction) : record.event.address;
      event.bytes = record.event.bytes;
      event.requested = record.event.requested;
      event.lane =
          record.on_host ? traces::kNone : lanes_[static_cast<std::size_t>(record.event.stream)];
      event.category = about.category;
      event.owner = about.owner;
      event.phase = about.phase;
      event.instruction = about.instruction;
      trace_.memory.push_back(event);
    }
  }

  traces::Trace& trace_;
  const RankClass& rank_class_;
  const RankTimeline& timeline_;
  std::int32_t rank_;
  std::int64_t steps_;
  std::int32_t host_lane_ = 0;
  std::vector<std::int32_t> lanes_;
  std::vector<ProgramAttributes> attributes_;  // by program
};

// `run` has what is not of the prediction itself.
traces::Trace trace_of(const Prediction& prediction, traces::RunDescription run) {
  traces::Trace trace;
  run.program_hash = program_hash(prediction.run.classes.at(0).program);
  run.ranks = static_cast<int>(prediction.run.class_of_rank.size());
  run.predicted = true;
  if (prediction.cost_sources.unknown > 0) {
    run.more["unknown_costs"] = std::to_string(prediction.cost_sources.unknown);
  }
  if (prediction.capacity) run.more["device_memory_bytes"] = std::to_string(*prediction.capacity);
  if (prediction.step_time.count() > 0) {
    run.more["step_time_low_ns"] = std::to_string(prediction.step_time_low.count());
    run.more["step_time_high_ns"] = std::to_string(prediction.step_time_high.count());
  }
  if (prediction.outside) {
    run.more[traces::kOutsideKey] = std::to_string(prediction.outside->bytes());
    run.more[traces::kOutsideLowKey] = std::to_string(prediction.outside->low);
    run.more[traces::kOutsideHighKey] = std::to_string(prediction.outside->high);
  }
  if (!prediction.data_sheet.empty()) run.more["data_sheet"] = prediction.data_sheet;
  if (prediction.mfu > 0) run.more["mfu"] = std::to_string(prediction.mfu);
  if (prediction.run.simulated_ranks.size() < prediction.run.class_of_rank.size()) {
    std::string classes;
    for (const int c : prediction.run.class_of_rank) {
      classes += (classes.empty() ? "" : ",") +
                 std::to_string(prediction.run.simulated_ranks[static_cast<std::size_t>(c)]);
    }
    run.more["rank_classes"] = classes;
  }
  trace.metadata = traces::run_metadata(run);
  for (std::size_t r = 0; r < prediction.run.timelines.size(); ++r) {
    const int rank = prediction.run.simulated_ranks[r];
    const int c = prediction.run.class_of_rank[static_cast<std::size_t>(rank)];
    RankWriter(trace, prediction.run.classes[static_cast<std::size_t>(c)],
               prediction.run.timelines[r], rank, prediction.run.engine.steps)
        .write();
  }
  trace.events.stable_sort([](const traces::Event& a, const traces::Event& b) {
    return std::tie(a.lane, a.start_ns) < std::tie(b.lane, b.start_ns);
  });
  for (const traces::Event& event : trace.events) {
    trace.complete_until_ns = std::max(trace.complete_until_ns, event.end_ns);
  }
  return trace;
}

}  // namespace

traces::Trace to_trace(const Job& job, const Prediction& prediction, const std::string& command) {
  traces::RunDescription run;
  run.model_json = to_json(job.model);
  run.plan_toml = to_toml(job.plan);
  run.command = command;
  run.more = traces::device_metadata(job.own_device);
  run.more[traces::kQuestionKey] = question_json(job);
  return trace_of(prediction, std::move(run));
}

traces::Trace to_trace(const Prediction& prediction, const std::string& command) {
  RankPrograms programs;
  for (const RankClass& c : prediction.run.classes) programs.programs.push_back(c.program);
  programs.class_of_rank = prediction.run.class_of_rank;
  traces::RunDescription run;
  run.command = command;
  run.more["programs"] = foreshard::to_json(programs);
  return trace_of(prediction, std::move(run));
}

}  // namespace foreshard::simulator
