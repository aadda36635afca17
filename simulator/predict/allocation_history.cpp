#include "simulator/predict/allocation_history.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "traces/program_attributes.hpp"

namespace foreshard::simulator {
namespace {

using traces::AllocatorAction;
using traces::EventLabels;
using traces::StringId;
using Action = AllocatorEvent::Action;

// Both list the same actions in the same order.
static_assert(static_cast<int>(Action::alloc) == static_cast<int>(AllocatorAction::alloc));
static_assert(static_cast<int>(Action::out_of_memory) == static_cast<int>(AllocatorAction::oom));

// "FSDP::all_gather (model.layers.0)": "all_gather"; nothing for ranges that are not of FSDP.
std::string_view fsdp_function(std::string_view range) {
  constexpr std::string_view kPrefix = "FSDP::";
  if (!range.starts_with(kPrefix)) return {};
  range.remove_prefix(kPrefix.size());
  return range.substr(0, range.find(' '));
}

class HistoryMaker {
 public:
  HistoryMaker(const Prediction& prediction, int rank)
      : prediction_(prediction),
        rank_class_(prediction.run.classes[class_of(rank)]),
        timeline_(timeline_of(rank)) {
    for (std::size_t n = 0; n < rank_class_.program.programs.size(); ++n) {
      labels_.push_back(labels_of(rank_class_.program.programs[n]));
    }
  }

  traces::LabelledHistory run() {
    result_.history.rules = prediction_.run.allocator;
    std::vector<traces::RecordedStream> streams;
    for (const MemoryRecord& record : rank_class_.memory.records) {
      if (record.on_host) continue;
      result_.history.events.push_back(event_of(record));
      result_.labels.push_back(labels_of(record));
      streams.push_back({{}, record.event.stream});
    }
    number_streams(result_.history, {}, streams, false);
    const std::vector<std::int64_t>& numbers = result_.history.streams;
    for (const std::int64_t stream : numbers) {
      result_.streams.push_back(rank_class_.program.name(static_cast<Stream>(stream)));
    }
    result_.end = rank_class_.memory.end;
    for (SegmentState& segment : result_.end) {
      const auto number = std::lower_bound(numbers.begin(), numbers.end(), segment.stream);
      segment.stream = static_cast<int>(number - numbers.begin());
    }
    result_.history.capacity = recorded_capacity(result_.history);
    return std::move(result_);
  }

 private:
  std::size_t class_of(int rank) const {
    return static_cast<std::size_t>(prediction_.run.class_of_rank[static_cast<std::size_t>(rank)]);
  }

  // The rank's own, or that of another one of its class; nothing where no time was predicted.
  const RankTimeline* timeline_of(int rank) const {
    for (std::size_t t = 0; t < prediction_.run.timelines.size(); ++t) {
      const int simulated = prediction_.run.simulated_ranks[t];
      const bool stands_for_class = prediction_.run.engine.simulated != Simulated::all_ranks;
      if (stands_for_class ? class_of(simulated) == class_of(rank) : simulated == rank) {
        return &prediction_.run.timelines[t];
      }
    }
    return nullptr;
  }

  StringId intern(std::string_view text) { return result_.texts.intern(text); }

  StringId module_of(const Instruction& i) {
    const RankProgram& program = rank_class_.program;
    if (i.module == foreshard::kNone && i.unit == foreshard::kNone) return 0;
    const std::string_view path =
        i.module != foreshard::kNone
            ? program.tree.modules[static_cast<std::size_t>(i.module)].path
            : std::string_view(program.units[static_cast<std::size_t>(i.unit)].name);
    return intern(path.empty() ? "(root)" : path);
  }

  // Of what happens at each instruction. The operator of an allocation is the first one from there on
  // that has the buffer among its operands.
  std::vector<EventLabels> labels_of(const Program& program) {
    const RankProgram& rank = rank_class_.program;
    std::vector<EventLabels> labels(program.instructions.size());
    std::vector<StringId> calls = {0};
    for (std::size_t n = 0; n < labels.size(); ++n) {
      const Instruction& i = program.instructions[n];
      EventLabels& label = labels[n];
      if (i.kind == Kind::range_begin) {
        const std::string_view function = fsdp_function(rank.name(i.target));
        calls.push_back(function.empty() ? calls.back() : intern(function));
      } else if (i.kind == Kind::range_end) {
        if (calls.size() > 1) calls.pop_back();
      }
      label.instruction = static_cast<std::int32_t>(n);
      label.phase = intern(name(i.phase));
      label.module = module_of(i);
      label.call = calls.back();
      if (!targets_buffer(i.kind)) continue;
      const Buffer& buffer = rank.buffers[static_cast<std::size_t>(i.target)];
      label.category = intern(name(buffer.category));
      label.owner = intern(traces::owner_text(rank, buffer));
    }
    std::vector<StringId> user(rank.buffers.size(), 0);
    for (std::size_t n = labels.size(); n-- > 0;) {
      const Instruction& i = program.instructions[n];
      if (i.kind == Kind::alloc) labels[n].op = user[static_cast<std::size_t>(i.target)];
      if (i.cost_key == foreshard::kNone) continue;
      const StringId op = intern(rank.operator_name(i));
      for (const BufferId buffer : program.reads(i)) user[static_cast<std::size_t>(buffer)] = op;
      for (const BufferId buffer : program.writes(i)) user[static_cast<std::size_t>(buffer)] = op;
    }
    return labels;
  }

  EventLabels labels_of(const MemoryRecord& record) const {
    const auto instruction = static_cast<std::size_t>(record.instruction);
    EventLabels labels = labels_[rank_class_.program.number_of(
        record.step, prediction_.run.engine.steps)][instruction];
    labels.step = record.step;
    if (timeline_ == nullptr) return labels;
    labels.time_us = timeline_->done_ns(static_cast<std::size_t>(record.step), instruction) / 1000;
    return labels;
  }

  traces::HistoryEvent event_of(const MemoryRecord& record) const {
    const AllocatorEvent& from = record.event;
    traces::HistoryEvent event;
    event.action = static_cast<AllocatorAction>(from.action);
    event.address = from.address;
    const bool is_of_block = from.block != kNoBlock;
    event.bytes = is_of_block ? from.requested : from.bytes;
    if (event.action == AllocatorAction::oom && prediction_.capacity) {
      event.device_free = *prediction_.capacity - rank_class_.memory.failure->reserved;
    }
    return event;
  }

  const Prediction& prediction_;
  const RankClass& rank_class_;
  const RankTimeline* timeline_;
  std::vector<std::vector<EventLabels>> labels_;  // by program
  traces::LabelledHistory result_;
};

}  // namespace

traces::LabelledHistory allocation_history(const Prediction& prediction, int rank) {
  return HistoryMaker(prediction, rank).run();
}

}  // namespace foreshard::simulator
