// Where ranks that are threads of one process meet for a collective. Each brings a contribution, which
// the others may look at once all have come; a collective is a row of meetings, and everybody leaves
// one when the last has come to it.
//
// Who comes are the threads that execute collectives: a stream's on the CPU, a rank's host thread on
// CUDA. Waiting sleeps, and an abort of the run ends it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "executor/communication/communicator.hpp"
#include "executor/device/device.hpp"

namespace foreshard::executor {

// What a member brings to a collective.
struct Contribution {
  const char* operation = "";
  std::byte* buffer = nullptr;
  std::int64_t size = 0;  // bytes or elements
  DType type = DType::fp32;
  Reduction reduction = Reduction::sum;
};

// Shared by the members of a group.
struct Meeting {
  struct alignas(64) Member {
    int rank = 0;
    std::atomic<std::uint32_t> met{0};  // meetings come to
    std::atomic<const char*> waits_in{nullptr};
    Contribution contributions[2];  // of even and odd collectives: one may be looked at late
  };
  explicit Meeting(std::span<Device* const> devices);

  std::vector<Member> members;
  alignas(64) std::atomic<std::uint32_t> arrivals{0};  // of all members in all meetings
};

// One member's part in the meetings. One thread at a time.
class Attendance {
 public:
  Attendance(RunControl& run, std::shared_ptr<Meeting> meeting, int index)
      : run_(run), meeting_(std::move(meeting)), index_(index) {}

  // The first meeting of a collective. Throws std::logic_error where the members do not bring the same
  // kind of contribution, and Aborted.
  void begin(const Contribution& mine);
  // Waits until every member has come as often as this one. Throws Aborted.
  void meet();
  // What a member has brought to the collective that has begun.
  const Contribution& contribution(int member) const {
    return meeting_->members[static_cast<std::size_t>(member)].contributions[parity_];
  }
  // For whom this member waits; any thread.
  void add_waits(std::vector<Wait>& waits) const;

 private:
  Meeting::Member& me() { return meeting_->members[static_cast<std::size_t>(index_)]; }

  RunControl& run_;
  const std::shared_ptr<Meeting> meeting_;
  const int index_;
  std::uint32_t needed_ = 0;  // arrivals that complete the current meeting
  unsigned parity_ = 0;
};

}  // namespace foreshard::executor
