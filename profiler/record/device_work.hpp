// What a GPU did for the instructions of programs: kernels, copies and fills as CUPTI reports them,
// each an event of the instruction whose id was pushed around its launch, under its own name. An
// instruction may have several.
//
// CUPTI reports work and ids in records of their own that share the launching call's correlation,
// and in no order. What has no id of an instruction, or none that comes in time, is no event but counted:
// among what the trace says was lost, if it began after the first work that has one (before, libraries
// set themselves up). Allocations are all recorded but those that instructions make of
// the caching allocator, whose segments the rank itself records.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profiler/record/cupti/activity_recorder.hpp"
#include "profiler/record/outside_memory.hpp"
#include "profiler/record/record_buffer.hpp"
#include "traces/fst/fst_file.hpp"

namespace foreshard::profiler {

// An instruction of a step of one of this process's ranks, as one number.
struct InstructionId {
  std::uint32_t rank = 0, program = 0;  // numbers below 4096 and 16
  std::int64_t step = 0;                // below 2^26
  std::int32_t instruction = 0;         // below 2^22
  bool operator==(const InstructionId&) const = default;
};
constexpr std::uint64_t pack(const InstructionId& id) {
  return std::uint64_t{id.rank} << 52 | std::uint64_t{id.program} << 48 |
         static_cast<std::uint64_t>(id.step) << 22 | static_cast<std::uint64_t>(id.instruction);
}
constexpr InstructionId unpack(std::uint64_t id) {
  return {static_cast<std::uint32_t>(id >> 52), static_cast<std::uint32_t>(id >> 48 & 0xF),
          static_cast<std::int64_t>(id >> 22 & 0x3FFFFFF),
          static_cast<std::int32_t>(id & 0x3FFFFF)};
}

// One program of a rank, by instruction.
struct DeviceProgram {
  std::vector<traces::EventAttributes> attributes;  // on its device
  std::vector<std::int32_t> lanes;
  std::vector<bool> allocates;  // of the caching allocator
};

class DeviceWork final : public ActivityListener {
 public:
  // Reports of CUPTI's.
  void take(std::span<const Activity> activities) override;
  void dropped(std::int64_t records) override;
  // Nothing more is reported.
  void finish();

  // What follows is of the thread that writes the file.

  void add_program(std::uint32_t rank, DeviceProgram program);  // the rank's next
  // Appends what was reported so far, with times counted from `origin_ns`.
  void write(traces::FstWriter& writer, std::int64_t origin_ns);
  // No work that ended before is missing, but what was dropped; since the origin.
  std::int64_t written_until() const { return written_until_; }
  std::int64_t records() const { return records_; }

 private:
  struct Work {
    std::int64_t start_ns, end_ns;
    std::uint64_t instruction;  // packed
    const char* name;
    std::uint32_t device;
  };
  struct Waiting {
    std::uint32_t correlation;
    Work work;
  };
  struct Allocation {
    Activity activity;
    std::uint64_t instruction;  // packed; any number for none
  };
  void add_id(std::uint32_t correlation, std::uint64_t id);
  bool push(std::uint32_t correlation, Work work);
  void give_up_waiting(std::size_t kept);
  void release_allocations(std::int64_t until_ns);
  // nullptr: the id is of no instruction.
  const DeviceProgram* program_of(const InstructionId& id) const;
  std::int32_t number_of(const InstructionId& id, const char* name, const DeviceProgram& program,
                         traces::FstWriter& writer);
  // Returns how much of it is of no instruction that is known.
  std::int64_t write_work(traces::FstWriter& writer, std::int64_t origin_ns);
  void write_outside_memory(traces::FstWriter& writer, std::int64_t origin_ns);

  // Of the reporting thread.
  std::unordered_map<std::uint32_t, std::uint64_t> ids_;  // by correlation
  std::deque<std::uint32_t> newest_ids_;
  std::deque<Waiting> waiting_;                                            // for their ids
  std::int64_t first_work_ns_ = std::numeric_limits<std::int64_t>::max();  // that has an id
  RecordBuffer<Work, 1024> work_;
  std::multimap<std::int64_t, Activity> allocations_;  // of the last moments, by time
  std::int64_t newest_ns_ = 0;
  RecordBuffer<Allocation, 64> released_;

  std::mutex mutex_;  // of what was lost
  std::int64_t lost_ = 0, lost_at_ns_ = 0;
  std::int64_t without_instruction_ = 0;  // work
  std::int64_t last_end_ns_ = 0;

  // Of the writing thread.
  std::map<std::pair<std::uint32_t, std::size_t>, DeviceProgram> programs_;  // by rank and number
  std::map<std::pair<std::uint64_t, const char*>, std::int32_t> numbers_;    // of attributes
  std::map<std::uint32_t, std::uint32_t> rank_of_device_;  // the first that used it
  OutsideMemory outside_;
  std::vector<traces::PackedRecord> batch_;
  std::int64_t written_until_ = 0, records_ = 0;
};

}  // namespace foreshard::profiler
