// Who owns what at a moment: totals by category, and the same memory as a tree, by unit or by the
// operator that it was allocated for, down to single buffers; the largest first.
#pragma once

#include <QString>
#include <cstdint>
#include <string>
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
  Role role = Role::host;  // of the category that holds most of it
  std::int64_t bytes = 0, blocks = 0;
  std::vector<MemoryOwner> parts;                   // largest first
  traces::MemoryEventPointer allocation = nullptr;  // of a single buffer
};

enum class OwnersBy : std::uint8_t { unit, operator_name };

struct MemoryMoment {
  std::int64_t allocated = 0, reserved = 0, on_host = 0;
  QString where;  // "backward · lm_head"; empty where it is unknown
  std::vector<CategoryShare> categories;
  std::vector<MemoryOwner> by_unit, by_operator;
};

// After the first `events` of the rank's. `work`: of every stream.
MemoryMoment memory_moment(const traces::Trace& trace, const AllocatorStates& states,
                           const DeviceWork& work, const AllocatorState& state, std::size_t events);

// The parts of an owner as traces have it, "model.layers.3.mlp.up_proj.weight: shard".
struct OwnerName {
  std::string family;  // "layers" of numbered units, else empty
  std::string unit;    // "layers.3", "lm_head"
  std::string module;  // within the unit: "mlp.up_proj", "" of the unit itself
  std::string role;    // "shard"
  bool operator==(const OwnerName&) const = default;
};
OwnerName owner_name(const std::string& owner);

}  // namespace foreshard::gui
