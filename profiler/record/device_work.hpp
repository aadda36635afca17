// What a GPU did for the instructions of programs: kernels, copies and fills as CUPTI reports them, each
// an event of the instruction whose id was pushed around its launch, under its own name. An instruction
// may have several.
//
// CUPTI reports work and ids in records of their own that share the launching call's correlation, and in
// no order. What has no id of an instruction, or none that comes in time, is work outside of instructions and not
// recorded.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profiler/record/cupti/activity_recorder.hpp"
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

class DeviceWork final : public ActivityListener {
 public:
  // Reports of CUPTI's.
  void take(std::span<const Activity> activities) override;
  void dropped(std::int64_t records) override;

  // What follows is of the thread that writes the file.

  // How a rank's next program's instructions look on its device, and each one's lane.
  void add_program(std::uint32_t rank, std::vector<traces::EventAttributes> attributes,
                   std::vector<std::int32_t> lanes);
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
  };
  struct Waiting {
    std::uint32_t correlation;
    Work work;
  };
  struct RankProgram {
    std::vector<traces::EventAttributes> attributes;
    std::vector<std::int32_t> lanes;
  };
  void add_id(std::uint32_t correlation, std::uint64_t id);
  bool push(std::uint32_t correlation, Work work);
  // nullptr: the id is of no instruction.
  const RankProgram* program_of(const InstructionId& id) const;
  std::int32_t number_of(const InstructionId& id, const char* name, const RankProgram& program,
                         traces::FstWriter& writer);

  // Of the reporting thread.
  std::unordered_map<std::uint32_t, std::uint64_t> ids_;  // by correlation
  std::deque<std::uint32_t> newest_ids_;
  std::deque<Waiting> waiting_;  // for their ids
  RecordBuffer<Work, 1024> work_;

  std::mutex mutex_;  // of what was lost
  std::int64_t lost_ = 0, lost_at_ns_ = 0;
  std::int64_t last_end_ns_ = 0;

  // Of the writing thread.
  std::map<std::pair<std::uint32_t, std::size_t>, RankProgram> programs_;  // by rank and number
  std::map<std::pair<std::uint64_t, const char*>, std::int32_t> numbers_;  // of attributes
  std::vector<traces::PackedRecord> batch_;
  std::int64_t written_until_ = 0, records_ = 0;
};

}  // namespace foreshard::profiler
