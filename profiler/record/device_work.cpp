#include "profiler/record/device_work.hpp"

#include <algorithm>

#include "profiler/record/cupti/kernel_name.hpp"

namespace foreshard::profiler {
namespace {

// Launches that an id is kept for, far more than a device's queues hold; and work kept for its id.
constexpr std::size_t kIdsKept = 1 << 17, kWaitingKept = 1 << 13;
// In this time ids and earlier allocations come.
constexpr std::int64_t kAllocationsKeptNs = 1'000'000'000;

constexpr std::uint64_t kNoInstruction = std::numeric_limits<std::uint64_t>::max();

const char* name_of(const Activity& work) {
  switch (work.kind) {
    case ActivityKind::copy: return "Memcpy";
    case ActivityKind::fill: return "Memset";
    default: return work.name == nullptr ? "unnamed kernel" : work.name;
  }
}

}  // namespace

void DeviceWork::add_id(std::uint32_t correlation, std::uint64_t id) {
  if (!ids_.insert_or_assign(correlation, id).second) return;
  newest_ids_.push_back(correlation);
  if (newest_ids_.size() <= kIdsKept) return;
  ids_.erase(newest_ids_.front());
  newest_ids_.pop_front();
}

bool DeviceWork::push(std::uint32_t correlation, Work work) {
  const auto id = ids_.find(correlation);
  if (id == ids_.end()) return false;
  work.instruction = id->second;
  first_work_ns_ = std::min(first_work_ns_, work.start_ns);
  work_.push(work);
  return true;
}

void DeviceWork::take(std::span<const Activity> activities) {
  std::int64_t last_end = 0;
  for (const Activity& one : activities) {
    if (one.kind == ActivityKind::external_id) add_id(one.correlation, one.id);
  }
  std::erase_if(waiting_, [this](const Waiting& w) { return push(w.correlation, w.work); });
  for (const Activity& one : activities) {
    const bool is_work = one.kind == ActivityKind::kernel || one.kind == ActivityKind::copy ||
                         one.kind == ActivityKind::fill;
    newest_ns_ = std::max(newest_ns_, one.end_ns);
    if (one.kind == ActivityKind::allocation || one.kind == ActivityKind::memory_pool) {
      allocations_.emplace(one.start_ns, one);
    }
    // A forced flush hands over what has not finished, without its times.
    if (!is_work || one.start_ns <= 0 || one.end_ns < one.start_ns) continue;
    const Work work{one.start_ns, one.end_ns, 0, name_of(one), one.device};
    if (!push(one.correlation, work)) waiting_.push_back({one.correlation, work});
    last_end = std::max(last_end, one.end_ns);
  }
  give_up_waiting(kWaitingKept);
  release_allocations(newest_ns_ - kAllocationsKeptNs);
  const std::scoped_lock lock(mutex_);
  last_end_ns_ = std::max(last_end_ns_, last_end);
}

void DeviceWork::give_up_waiting(std::size_t kept) {
  std::int64_t without_instruction = 0;
  for (; waiting_.size() > kept; waiting_.pop_front()) {
    const bool has_begun = first_work_ns_ <= waiting_.front().work.start_ns ||
                           first_work_ns_ == std::numeric_limits<std::int64_t>::max();
    without_instruction += has_begun ? 1 : 0;
  }
  const std::scoped_lock lock(mutex_);
  without_instruction_ += without_instruction;
}

void DeviceWork::finish() {
  give_up_waiting(0);
  release_allocations(std::numeric_limits<std::int64_t>::max());
}

void DeviceWork::dropped(std::int64_t records) {
  const std::scoped_lock lock(mutex_);
  lost_ += records;
  lost_at_ns_ = last_end_ns_;
}

void DeviceWork::release_allocations(std::int64_t until_ns) {
  while (!allocations_.empty() && allocations_.begin()->first <= until_ns) {
    const Activity& oldest = allocations_.begin()->second;
    const auto id = ids_.find(oldest.correlation);
    released_.push({oldest, id == ids_.end() ? kNoInstruction : id->second});
    allocations_.erase(allocations_.begin());
  }
}

void DeviceWork::add_program(std::uint32_t rank, DeviceProgram program) {
  const auto begin = programs_.lower_bound({rank, 0}), end = programs_.lower_bound({rank + 1, 0});
  const auto number = static_cast<std::size_t>(std::distance(begin, end));
  programs_[{rank, number}] = std::move(program);
}

const DeviceProgram* DeviceWork::program_of(const InstructionId& id) const {
  const auto found = programs_.find({id.rank, id.program});
  const bool is_known = found != programs_.end() &&
                        static_cast<std::size_t>(id.instruction) < found->second.lanes.size();
  return is_known ? &found->second : nullptr;
}

std::int32_t DeviceWork::number_of(const InstructionId& id, const char* name,
                                   const DeviceProgram& program, traces::FstWriter& writer) {
  const auto [number, is_new] =
      numbers_.try_emplace({pack({id.rank, id.program, 0, id.instruction}), name}, 0);
  if (is_new) {
    traces::EventAttributes attributes =
        program.attributes[static_cast<std::size_t>(id.instruction)];
    attributes.name = writer.strings().intern(demangled(name));
    number->second = writer.add(attributes);
  }
  return number->second;
}

std::int64_t DeviceWork::write_work(traces::FstWriter& writer, std::int64_t origin_ns) {
  std::int64_t unknown = 0;
  batch_.clear();
  work_.drain([&](std::span<const Work> all) {
    for (const Work& work : all) {
      const InstructionId id = unpack(work.instruction);
      const DeviceProgram* const program = program_of(id);
      if (program == nullptr) {
        ++unknown;
        continue;
      }
      const auto [rank, is_new] = rank_of_device_.try_emplace(work.device, id.rank);
      rank->second = std::min(rank->second, id.rank);
      batch_.push_back({work.start_ns - origin_ns, work.end_ns - origin_ns, -1,
                        number_of(id, work.name, *program, writer),
                        program->lanes[static_cast<std::size_t>(id.instruction)],
                        static_cast<std::int32_t>(id.step)});
    }
  });
  records_ += static_cast<std::int64_t>(batch_.size());
  writer.append(std::span<const traces::PackedRecord>(batch_));
  return unknown;
}

void DeviceWork::write_outside_memory(traces::FstWriter& writer, std::int64_t origin_ns) {
  released_.drain([&](std::span<const Allocation> all) {
    for (const Allocation& one : all) {
      const InstructionId id = unpack(one.instruction);
      const DeviceProgram* const program = program_of(id);
      if (program == nullptr) {
        outside_.take(one.activity, std::nullopt);
        continue;
      }
      const auto index = static_cast<std::size_t>(id.instruction);
      if (program->allocates[index]) continue;
      outside_.take(one.activity,
                    OutsideMemory::Place{program->lanes[index], static_cast<std::int32_t>(id.step),
                                         id.instruction, program->attributes[index].phase});
    }
  });
  outside_.write(writer, origin_ns,
                 [&](std::uint32_t device) -> std::optional<OutsideMemory::Place> {
                   const auto rank = rank_of_device_.find(device);
                   if (rank == rank_of_device_.end()) return std::nullopt;
                   return OutsideMemory::Place{programs_.at({rank->second, 0}).lanes.front()};
                 });
}

void DeviceWork::write(traces::FstWriter& writer, std::int64_t origin_ns) {
  std::int64_t lost = 0, lost_at = 0, last_end = 0, without_instruction = 0;
  {
    const std::scoped_lock lock(mutex_);
    lost = std::exchange(lost_, 0);
    lost_at = lost_at_ns_;
    without_instruction = std::exchange(without_instruction_, 0);
    last_end = last_end_ns_;
  }
  without_instruction += write_work(writer, origin_ns);
  write_outside_memory(writer, origin_ns);
  if (last_end > 0) written_until_ = std::max(written_until_, last_end - origin_ns);
  if (without_instruction > 0)
    writer.drop("work of GPUs without the instruction that caused it", without_instruction);
  if (lost == 0) return;
  const std::int64_t at = std::max<std::int64_t>(lost_at - origin_ns, 0);
  const traces::DroppedRange range{traces::kNone, false, at, at, lost};
  writer.append(std::span(&range, 1));
  writer.drop("records of GPUs that found no room in CUPTI's buffers", lost);
}

}  // namespace foreshard::profiler
