// Who owns what at a moment: totals by category, and the same memory as a tree, by unit, by the
// operator that it was allocated for, or by the code that allocated it, down to single buffers; the
// largest first. Or what has changed since another moment: the same with differences for sizes.
#pragma once

#include <QString>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gui/models/memory/allocator_states.hpp"
#include "gui/models/memory/device_work.hpp"
#include "gui/models/memory/memory_category.hpp"

namespace foreshard::gui {

struct CategoryShare {
  MemoryCategory category;
  std::int64_t bytes = 0, blocks = 0;
};

struct MemoryOwner {
  QString name;
  QString detail{};        // of code: the frames it stands for, innermost first, a line each
  Role role = Role::host;  // of the category that holds most of it
  std::int64_t bytes = 0, blocks = 0;
  std::vector<MemoryOwner> parts;                   // largest first
  traces::MemoryEventPointer allocation = nullptr;  // of a single buffer
};

enum class OwnersBy : std::uint8_t { unit, operator_name, code };

struct MemoryMoment {
  std::int64_t allocated = 0, reserved = 0, on_host = 0;
  QString where;  // "backward · lm_head"; empty where it is unknown
  std::vector<CategoryShare> categories;
  std::vector<MemoryOwner> by_unit, by_operator;
  std::vector<MemoryOwner> by_code;  // none where no stack was recorded

  const std::vector<MemoryOwner>& owners(OwnersBy by) const {
    return by == OwnersBy::unit ? by_unit : by == OwnersBy::operator_name ? by_operator : by_code;
  }
};

// After the first `events` of the rank's. `work`: of every stream.
MemoryMoment memory_moment(const traces::Trace& trace, const AllocatorStates& states,
                           const DeviceWork& work, const AllocatorState& state, std::size_t events);

// How `state` differs from `before`: blocks that are there now less blocks that are there no longer.
// Owners of which as much came as went are left out; the largest change of either sign is first.
MemoryMoment memory_difference(const traces::Trace& trace, const DeviceWork& work,
                               const AllocatorState& before, const AllocatorState& state);

// The parts of an owner as traces have it, "model.layers.3.mlp.up_proj.weight: shard".
struct OwnerName {
  std::string family;  // "layers" of numbered units, else empty
  std::string unit;    // "layers.3", "lm_head"
  std::string module;  // within the unit: "mlp.up_proj", "" of the unit itself
  std::string role;    // "shard"
  bool operator==(const OwnerName&) const = default;
};
OwnerName owner_name(const std::string& owner);

// The frames of a stack that say where a program is, innermost first: those of Python, but for
// PyTorch's own calls of modules, where it has any, else all.
std::vector<std::string_view> program_frames(std::string_view stack);
// A frame as it is shown: "forward  model.py:81" of "forward /home/x/model.py:81".
QString short_frame(std::string_view frame);

}  // namespace foreshard::gui
