// The cause of an allocation, derived from the stack that requested it: a category (the words of
// models/program/step_program.hpp, and "loss"), a role, and the phase of the step. The rules name functions
// and files of torch, FSDP, torchtitan, transformers and of loops written by hand; others are
// "unattributed", with the innermost function of the program as the role. Stacks of a prediction's
// snapshot name the cause themselves (label_frames.hpp).
//
// The innermost frame with a known meaning does not always decide: an all-gather inside a module's
// forward is an all-gather, what a checkpoint computes again in the backward is an activation. Hence
// the order of the rules in allocation_cause.cpp. Frames, of which a snapshot has some
// thousands, are classified once each, not once for each of the many more stacks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/snapshot/snapshot.hpp"

namespace foreshard::traces {

constexpr std::string_view kUnattributed = "unattributed";
// Allocated before the recording began, of unknown cause.
constexpr std::string_view kBeforeRecording = "before the recording";

struct AllocationCause {
  std::string_view category = kUnattributed;
  std::string_view phase;
  std::string role;
};

class AllocationCauses {
 public:
  explicit AllocationCauses(const Snapshot& snapshot);

  const AllocationCause& of(StackId stack);
  // Whether the stack passes FSDP's first allocation of an unsharded parameter.
  bool gathers_first(StackId stack);

 private:
  using FrameTags = std::uint32_t;  // bits: allocation_cause.cpp has the list

  FrameTags classify_frame(std::int32_t frame);
  FrameTags classify_stack(const std::vector<std::int32_t>& stack);
  AllocationCause attribute(const std::vector<std::int32_t>& stack);
  std::string role(const std::vector<std::int32_t>& stack);
  std::string node(const std::vector<std::int32_t>& stack);

  const Snapshot& snapshot_;
  std::vector<FrameTags> frames_;                      // 0: not looked at yet
  std::vector<std::optional<AllocationCause>> known_;  // by stack
};

// "function file:line" for each frame, innermost first, without those of the recording itself; at
// most 64 frames and 256 bytes of each text.
std::string stack_text(const Snapshot& snapshot, const std::vector<std::int32_t>& stack);

// Whether a frame of a Python file says where a program is: PyTorch's own calls of modules, of
// compiled code and of hooks lie between most of its functions.
bool is_place_in_program(std::string_view file);

}  // namespace foreshard::traces
