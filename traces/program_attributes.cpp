#include "traces/program_attributes.hpp"

namespace foreshard::traces {
namespace {

bool has_buffer(const Instruction& instruction) {
  return instruction.target >= 0 &&
         (instruction.kind == Kind::alloc || instruction.kind == Kind::free ||
          instruction.kind == Kind::record_stream);
}

bool has_cost(const Instruction& instruction) {
  return instruction.cost_key >= 0;
}

// Bytes of the whole buffer for what only moves data, as its cost key counts them.
std::int64_t bytes_of(const RankProgram& rank, const Instruction& instruction) {
  if (has_buffer(instruction))
    return rank.buffers[static_cast<std::size_t>(instruction.target)].bytes;
  if (!has_cost(instruction)) return 0;
  const CostKey& key = rank.cost_keys[static_cast<std::size_t>(instruction.cost_key)];
  if (instruction.kind == Kind::collective || instruction.kind == Kind::copy) return key.dims[0];
  return static_cast<std::int64_t>(bytes_moved(key));
}

}  // namespace

std::optional<EventKind> device_kind(const RankProgram& rank, const Instruction& instruction) {
  switch (instruction.kind) {
    case Kind::launch: {
      const bool moves = has_cost(instruction) && !rank.computes(instruction);
      return moves ? EventKind::memory : EventKind::compute;
    }
    case Kind::collective: return EventKind::communication;
    case Kind::copy: return EventKind::memory;
    case Kind::wait_event: return EventKind::wait;
    default: return std::nullopt;
  }
}

EventKind host_kind(const Instruction& instruction) {
  switch (instruction.kind) {
    case Kind::host_wait: return EventKind::host_wait;
    case Kind::host_compute: return EventKind::host_compute;
    case Kind::range_begin:
    case Kind::range_end: return EventKind::range;
    default: return EventKind::host;
  }
}

std::string owner_text(const RankProgram& rank, const Buffer& buffer) {
  const std::string &owner = rank.name(buffer.owner), &role = rank.name(buffer.role);
  if (owner.empty() || role.empty()) return owner + role;
  return owner + ": " + role;
}

ProgramAttributes program_attributes(const RankProgram& rank, std::size_t number,
                                     const ModuleTree& tree, const std::vector<std::int32_t>& lanes,
                                     Strings& strings) {
  const Program& all = rank.programs[number];
  const std::vector<std::string> stable = stable_keys(rank, all, program_name(rank, number), tree);
  std::vector<StringId> cost_keys, units;
  for (const CostKey& key : rank.cost_keys) cost_keys.push_back(strings.intern(text(key)));
  for (std::size_t unit = 0; unit < rank.units.size(); ++unit) {
    units.push_back(strings.intern(unit_name(rank, static_cast<UnitId>(unit))));
  }

  ProgramAttributes attributes;
  attributes.host.reserve(all.instructions.size());
  attributes.device.reserve(all.instructions.size());
  attributes.memory.reserve(all.instructions.size());
  for (std::size_t i = 0; i < all.instructions.size(); ++i) {
    const Instruction& instruction = all.instructions[i];
    EventAttributes event;
    event.kind = host_kind(instruction);
    event.micro_step = instruction.micro_step;
    if (event.kind == EventKind::range && instruction.target >= 0) {
      event.name = strings.intern(rank.name(instruction.target));
    } else if (has_cost(instruction)) {
      const auto key = static_cast<std::size_t>(instruction.cost_key);
      event.name = strings.intern(rank.operator_name(instruction));
      event.cost_key = cost_keys[key];
    } else {
      event.name = strings.intern(foreshard::name(instruction.kind));
    }
    event.phase = strings.intern(foreshard::name(instruction.phase));
    if (instruction.unit >= 0) event.unit = units[static_cast<std::size_t>(instruction.unit)];
    event.stable_key = strings.intern(stable[i]);
    event.instruction = static_cast<std::int32_t>(i);
    event.bytes = bytes_of(rank, instruction);
    attributes.host.push_back(event);

    if (const auto kind = device_kind(rank, instruction)) event.kind = *kind;
    attributes.device.push_back(event);

    MemoryAttributes memory;
    memory.phase = event.phase;
    memory.instruction = event.instruction;
    if (has_buffer(instruction)) {
      const Buffer& buffer = rank.buffers[static_cast<std::size_t>(instruction.target)];
      memory.on_host = buffer.on_host;
      memory.requested = buffer.bytes;
      if (!buffer.on_host) memory.lane = lanes[static_cast<std::size_t>(buffer.pool)];
      memory.category = strings.intern(foreshard::name(buffer.category));
      memory.owner = strings.intern(owner_text(rank, buffer));
    }
    attributes.memory.push_back(memory);
  }
  return attributes;
}

}  // namespace foreshard::traces
