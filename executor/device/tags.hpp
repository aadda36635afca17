// A task's tag in a run: step and instruction, in the order in which a rank issues them.
#pragma once

#include <cstdint>
#include <string>

#include "executor/device/task.hpp"

namespace foreshard::executor {

constexpr Tag tag_of(std::int64_t step, std::int32_t instruction) {
  return static_cast<Tag>(step) << 32 | static_cast<std::uint32_t>(instruction);
}
constexpr std::int64_t step_of(Tag tag) {
  return static_cast<std::int64_t>(tag >> 32);
}
constexpr std::int32_t instruction_of(Tag tag) {
  return static_cast<std::int32_t>(tag & 0xFFFFFFFF);
}

// For messages.
inline std::string describe_tag(Tag tag) {
  return "instruction " + std::to_string(instruction_of(tag)) + " of step " +
         std::to_string(step_of(tag));
}

}  // namespace foreshard::executor
