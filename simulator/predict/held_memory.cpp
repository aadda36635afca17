#include "simulator/predict/held_memory.hpp"

#include <algorithm>
#include <map>

#include "models/base/figures.hpp"
#include "models/llama/module_paths.hpp"

namespace foreshard::simulator {
namespace {

// What a buffer is to the step: a row of the table before owners are told apart.
enum class Part : std::uint8_t {
  parameters,
  gradients,
  optimizer_states,
  unsharded_parameters,
  unsharded_gradients,
  all_gather,
  reduce_scatter,
  block_activations,
  loss,
  other_activations,
  optimizer_temporaries,
  inputs,
  workspaces,
  setup
};

constexpr const char* kParts[] = {"parameters",
                                  "gradients",
                                  "optimizer states",
                                  "unsharded parameters",
                                  "unsharded gradients",
                                  "all-gather buffers",
                                  "reduce-scatter buffers",
                                  "activations",
                                  "logits and loss",
                                  "activations outside of blocks",
                                  "temporaries of the optimizer",
                                  "inputs",
                                  "workspaces",
                                  "temporaries of the set-up"};

class HeldTable {
 public:
  explicit HeldTable(const RankProgram& program) : program_(program) {}

  // By part and owner, which is a unit or a block, or nothing.
  void add(const LiveBuffer& live) {
    const Part part = part_of(live);
    const std::int32_t owner = owner_of(part, live);
    bytes_[{part, owner}] += live.bytes;
  }

  std::vector<HeldMemory> rows(const LiveBuffer& requested, std::size_t& requester) const {
    std::vector<Row> rows;
    for (const auto& [key, bytes] : bytes_) join(rows, key.first, key.second, bytes);
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.bytes > b.bytes; });
    const Part part = part_of(requested);
    const std::int32_t owner = owner_of(part, requested);
    std::vector<HeldMemory> held;
    for (const Row& row : rows) {
      const bool is_its =
          row.part == part && std::count(row.owners.begin(), row.owners.end(), owner);
      if (is_its) requester = held.size();
      held.push_back(described(row));
    }
    return held;
  }

 private:
  struct Row {
    Part part;
    std::int64_t each = 0;  // of blocks that hold equally much
    std::int64_t bytes = 0;
    std::vector<std::int32_t> owners;
  };

  const Buffer& buffer(const LiveBuffer& live) const {
    return program_.buffers[static_cast<std::size_t>(live.buffer)];
  }

  // The decoder block that a buffer's module or parameter is in.
  std::int32_t layer_of(const Buffer& b) const {
    const auto modules = static_cast<NameId>(program_.tree.modules.size());
    const auto parameters = static_cast<NameId>(program_.tree.parameters.size());
    if (b.owner < 0 || b.owner >= modules + parameters) return kNone;
    const ModuleId module =
        b.owner < modules
            ? b.owner
            : program_.tree.parameters[static_cast<std::size_t>(b.owner - modules)].module;
    return program_.tree.modules[static_cast<std::size_t>(module)].layer;
  }

  Part part_of(const LiveBuffer& live) const {
    const Buffer& b = buffer(live);
    switch (b.category) {
      case Category::parameters: return Part::parameters;
      case Category::gradients: return Part::gradients;
      case Category::optimizer_states: return Part::optimizer_states;
      case Category::unsharded_parameters: return Part::unsharded_parameters;
      case Category::unsharded_gradients: return Part::unsharded_gradients;
      case Category::all_gather: return Part::all_gather;
      case Category::reduce_scatter: return Part::reduce_scatter;
      case Category::inputs: return Part::inputs;
      case Category::workspaces: return Part::workspaces;
      default: break;
    }
    if (live.allocated_in == Phase::setup) return Part::setup;
    if (live.allocated_in == Phase::optimizer) return Part::optimizer_temporaries;
    if (live.allocated_in == Phase::loss || program_.name(b.role) == "logits") return Part::loss;
    return layer_of(b) == kNone ? Part::other_activations : Part::block_activations;
  }

  std::int32_t owner_of(Part part, const LiveBuffer& live) const {
    switch (part) {
      case Part::unsharded_parameters:
      case Part::unsharded_gradients:
      case Part::all_gather:
      case Part::reduce_scatter: return buffer(live).unit;
      case Part::block_activations: return layer_of(buffer(live));
      default: return kNone;
    }
  }

  // Units share a row; blocks share one where they hold equally much.
  static void join(std::vector<Row>& rows, Part part, std::int32_t owner, std::int64_t bytes) {
    const std::int64_t each = part == Part::block_activations ? bytes : 0;
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
      return row.part == part && row.each == each;
    });
    Row& row = found == rows.end() ? rows.emplace_back(Row{part, each, 0, {}}) : *found;
    row.bytes += bytes;
    row.owners.push_back(owner);
  }

  std::string name_of(Part part, std::int32_t owner) const {
    if (part != Part::block_activations) return std::string(unit_name(program_, owner));
    const auto inside = std::ranges::find(program_.tree.modules, owner, &Module::layer);
    return std::string(path_of_layer(inside->path));
  }

  HeldMemory described(const Row& row) const {
    constexpr std::size_t kNamed = 2;
    const bool is_of_blocks = row.part == Part::block_activations;
    HeldMemory held{kParts[static_cast<std::size_t>(row.part)], {}, row.bytes};
    for (const std::int32_t owner : row.owners) {
      if (owner != kNone) held.owners.push_back(name_of(row.part, owner));
    }
    const auto count = static_cast<std::int64_t>(held.owners.size());
    if (count == 0) return held;
    if (held.owners.size() <= kNamed) {
      held.what += " of " + held.owners.front();
      if (count > 1) held.what += " and " + held.owners.back();
    } else {
      held.what += " of " + plural(count, is_of_blocks ? "block" : "unit");
    }
    if (is_of_blocks && count > 1) held.what += " (" + binary_bytes(row.each) + " each)";
    return held;
  }

  const RankProgram& program_;
  std::map<std::pair<Part, std::int32_t>, std::int64_t> bytes_;
};

}  // namespace

std::vector<HeldMemory> held_memory(const RankProgram& program,
                                    const std::vector<LiveBuffer>& alive,
                                    const LiveBuffer& requested, std::size_t& requester) {
  HeldTable table(program);
  for (const LiveBuffer& live : alive) table.add(live);
  return table.rows(requested, requester);
}

}  // namespace foreshard::simulator
