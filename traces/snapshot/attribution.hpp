// What an allocation was for, told from the stack that asked for it: a category (the words of
// models/step_program.hpp, and "loss"), a role, and the phase of the step. The rules know functions
// and files of torch, FSDP, torchtitan, transformers and of loops written by hand; what they do not
// know is "unattributed", with the innermost function of the program as its role.
//
// The innermost rule that applies does not always win: an all-gather inside a module's forward is an
// all-gather, what a checkpoint computes again in the backward is an activation. Hence the order of
// the rules in attribution.cpp.
#pragma once

#include <cstdint>
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

Attribution attribute(const Snapshot& snapshot, const std::vector<std::int32_t>& stack);

// "function file:line" for each frame, innermost first, without those of the recording itself; at
// most 64 frames and 256 bytes of each text.
std::string stack_text(const Snapshot& snapshot, const std::vector<std::int32_t>& stack);

}  // namespace foreshard::traces
