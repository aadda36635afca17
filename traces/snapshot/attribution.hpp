// What an allocation was for, told from the stack that asked for it: a category (the words of
// models/program/step_program.hpp, and "loss"), a role, and the phase of the step. The rules know functions
// and files of torch, FSDP, torchtitan, transformers and of loops written by hand; what they do not
// know is "unattributed", with the innermost function of the program as its role.
//
// The innermost frame that says something does not always win: an all-gather inside a module's
// forward is an all-gather, what a checkpoint computes again in the backward is an activation. Hence
// the order of the rules in attribution.cpp. What a frame says is found out once for each frame, of
// which a snapshot has some thousands, and not for each of its many more stacks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/snapshot/snapshot.hpp"

namespace foreshard::traces {

constexpr std::string_view kUnattributed = "unattributed";
// What was there already when the recording began, and says nothing of itself.
constexpr std::string_view kBeforeRecording = "before the recording";

struct Attribution {
  std::string_view category = kUnattributed;
  std::string_view phase;
  std::string role;
};

class Attributions {
 public:
  explicit Attributions(const Snapshot& snapshot);

  const Attribution& of(StackId stack);
  // Whether the stack passes FSDP's first allocation of an unsharded parameter.
  bool gathers_first(StackId stack);

 private:
  using Says = std::uint32_t;  // bits: attribution.cpp has the list

  Says said_by(std::int32_t frame);
  Says said_by_all(const std::vector<std::int32_t>& stack);
  Attribution attribute(const std::vector<std::int32_t>& stack);
  std::string role(const std::vector<std::int32_t>& stack);
  std::string node(const std::vector<std::int32_t>& stack);

  const Snapshot& snapshot_;
  std::vector<Says> frames_;                       // 0: not looked at yet
  std::vector<std::optional<Attribution>> known_;  // by stack
};

// "function file:line" for each frame, innermost first, without those of the recording itself; at
// most 64 frames and 256 bytes of each text.
std::string stack_text(const Snapshot& snapshot, const std::vector<std::int32_t>& stack);

}  // namespace foreshard::traces
