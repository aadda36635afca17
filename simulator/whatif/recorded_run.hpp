// What a recording says about a run, laid out flat for the re-simulation: the work of devices, the
// calls of hosts with what they launched, and the collectives in which several ranks met.
//
// The host's calls are those of the device's runtime and driver; in our own recordings, which have
// none, what the host does for each instruction. Operators, ranges and functions around them are
// not looked at: what a host does between its calls is one activity, whatever it was.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/error.hpp"
#include "simulator/whatif/activity_network.hpp"
#include "traces/meaning/work_causes.hpp"
#include "traces/trace.hpp"

namespace foreshard::simulator {

// Activities that are not work of a device. Work has the numbers after them.
enum OtherActivity : ActivityId {
  kHost,           // the host's own time, in calls and between them
  kLaunch,         // calls that launch work
  kWait,           // what a wait of the host takes after what it waited for, or for what is unknown
  kLaunchLatency,  // from the beginning of a launching call to that of its work
  kStreamGap,      // between two pieces of work of a stream
  kStreamWait,     // between the work that a stream waited for and its own
  kUnexplained,    // before work of which the recording does not show why it began when it did
  kBefore,         // before a rank's first event
  kOtherActivities
};
constexpr std::array<std::string_view, kOtherActivities> kOtherNames{
    "(host)",       "(launch)",      "(wait)",        "(launch latency)",
    "(stream gap)", "(stream wait)", "(unexplained)", "(before the first event)"};

// Work that differs in nothing but its time.
struct WorkClass {
  traces::EventKind kind = traces::EventKind::compute;
  traces::StringId name = 0;
  traces::StringId cost_key = 0;
  bool operator==(const WorkClass&) const = default;
};

constexpr std::int32_t kNotRecorded = -1;
constexpr std::int64_t kClockToleranceNs = 2'000;  // of the device's clock and the host's

struct RecordedWork {
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint32_t stream = 0;  // its lane
  ActivityId activity = 0;
  std::int32_t call = kNotRecorded;     // that launched it
  std::int32_t meeting = kNotRecorded;  // of which it is a member
  std::uint32_t event = 0;              // index into Trace::events
};

struct HostCall {
  enum class Kind : std::uint8_t {
    other,
    launch,    // launches work of a device
    copy,      // launched work of the device's memory and returned when that was over
    wait,      // for work of the device
    wait_all,  // for all work of the device
  };
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint32_t thread = 0;  // its lane
  Kind kind = Kind::other;
  std::int32_t work = kNotRecorded;  // the last that it launched
  traces::StringId name = 0;

  bool waits() const { return kind >= Kind::copy; }
};

// A collective of several ranks, which begins when the last of them has come.
struct RecordedMeeting {
  std::vector<std::uint32_t> works;                                  // of different ranks
  std::int64_t start_ns = std::numeric_limits<std::int64_t>::min();  // of the last
};

struct RecordedStep {
  std::uint32_t rank = 0;  // its number
  std::int64_t start_ns = 0, end_ns = 0;
};

struct RecordedRun {
  std::vector<RecordedWork> works;  // by start, then by end
  std::vector<traces::LaunchedWork>
      launched;                 // the same, for why each began; a device for each rank
  std::vector<HostCall> calls;  // by start
  std::vector<RecordedMeeting> meetings;
  std::vector<RecordedStep> steps;        // those of the trace
  std::vector<WorkClass> classes;         // of activity kOtherActivities and those after it
  std::vector<std::uint32_t> lane_ranks;  // of each lane, the ranks counted from 0
  std::uint32_t ranks = 0;
  bool is_own = false;                 // recorded by `foreshard train`, not imported
  traces::CauseTolerances tolerances;  // by which its times are to be read
  std::int64_t start_ns = 0,
               end_ns = 0;     // the span: of the first call or work to the last one's end
  std::int64_t unmatched = 0;  // works whose launch is not in the recording

  const WorkClass& class_of(const RecordedWork& work) const {
    return classes[work.activity - kOtherActivities];
  }
  std::uint32_t rank_of(const RecordedWork& work) const { return lane_ranks[work.stream]; }
  std::uint32_t rank_of(const HostCall& call) const { return lane_ranks[call.thread]; }
};

// `file` is named in the error: a recording in which no device does any work.
Result<RecordedRun> recorded_run(const traces::Trace& trace, const std::string& file);

}  // namespace foreshard::simulator
