// What PyTorch's profile says of the calls of a step: when each was made, by which operator, and the key
// of what that costs.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiler/rehearsal/program/captured_step.hpp"
#include "traces/trace.hpp"

namespace foreshard::profiler {

struct ProfiledCall {
  static constexpr std::int64_t kNoTime = -1;
  std::int64_t time_ns = kNoTime;
  std::int32_t lane = traces::kNone;  // the host's thread, of this profile
  // Of the work that it launched; empty where there is none.
  std::string cost_key, phase, unit, kernel;
};

// An operator whose shapes gave a key, which stands for all work that it launched.
struct KeyedOperator {
  std::int64_t start_ns = 0, end_ns = 0;
  std::string name;
};

class ProfiledCalls {
 public:
  explicit ProfiledCalls(const CapturedStep& step);

  // By correlation; one without a time where the profile does not have it.
  const ProfiledCall& of(std::int64_t correlation) const;
  // The outermost keyed operator around the call; null: none.
  const KeyedOperator* keyed_around(const ProfiledCall& call) const;

 private:
  // Lanes are numbered on from profile to profile.
  void add(const traces::Trace& profile);
  void add_call(const traces::Trace& profile, const traces::Event& event, std::int32_t lane);
  void add_keyed(const traces::Trace& profile, const traces::Event& event, std::int32_t lane);

  std::unordered_map<std::int64_t, ProfiledCall> calls_;
  std::vector<std::vector<KeyedOperator>> keyed_;  // by lane, by start
};

}  // namespace foreshard::profiler
