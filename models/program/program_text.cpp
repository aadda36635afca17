// Step programs as people and other programs read them: words, stable keys, a hash, a listing.
#include <unordered_map>

#include "models/base/figures.hpp"
#include "models/base/fnv_hash.hpp"
#include "models/program/step_program.hpp"

namespace foreshard {
namespace {

template <typename Enum, std::size_t n>
std::string_view word(const std::string_view (&words)[n], Enum value) {
  static_assert(n == static_cast<std::size_t>(Enum::kCount));
  return words[static_cast<std::size_t>(value)];
}

constexpr std::string_view kPhaseNames[] = {"setup",    "forward",   "loss",   "recompute",
                                            "backward", "optimizer", "report", "evaluation"};
constexpr std::string_view kCategoryNames[] = {
    "parameters",          "gradients",  "optimizer_states", "unsharded_parameters",
    "unsharded_gradients", "all_gather", "reduce_scatter",   "activations",
    "temporaries",         "inputs",     "workspaces"};
constexpr std::string_view kKindNames[] = {
    "alloc",       "free",         "launch",     "host_compute", "collective",
    "copy",        "record_event", "wait_event", "host_wait",    "record_stream",
    "empty_cache", "range_begin",  "range_end"};

class Hash : public FnvHash {
 public:
  using FnvHash::add;
  void add(const CostKey& key) {
    for (const DType type : {key.dtype, key.dtype2, key.dtype3}) {
      add(static_cast<std::uint64_t>(type));
    }
    add(static_cast<std::uint64_t>(key.op));
    // The sixth came later: programs that have none keep the hash that recordings know them by.
    const std::size_t count = key.dims[5] == 0 ? 5 : 6;
    for (std::size_t d = 0; d < count; ++d) add(static_cast<std::uint64_t>(key.dims[d]));
  }
};

void add_program(Hash& hash, const RankProgram& program, const Program& step) {
  for (const Instruction& i : step.instructions) {
    hash.add(static_cast<std::uint64_t>(i.kind) | static_cast<std::uint64_t>(i.stream) << 8 |
             static_cast<std::uint64_t>(i.phase) << 16 | static_cast<std::uint64_t>(i.group) << 24);
    for (const std::int32_t field : {std::int32_t{i.micro_step}, std::int32_t{i.op}, i.unit,
                                     i.target, i.module, i.aux, i.reads, i.writes}) {
      hash.add(static_cast<std::uint64_t>(static_cast<std::uint32_t>(field)));
    }
    if (i.cost_key != kNone) hash.add(program.cost_keys[static_cast<std::size_t>(i.cost_key)]);
  }
  for (const BufferId b : step.operands) hash.add(static_cast<std::uint64_t>(b));
}

// Work of the sharding runtime belongs to its unit; everything else to its module.
bool belongs_to_unit(const RankProgram& program, const Instruction& i) {
  if (i.kind == Kind::collective) return i.unit != kNone;
  if (i.cost_key == kNone) return false;
  switch (program.cost_keys[static_cast<std::size_t>(i.cost_key)].op) {
    case Operator::shard_cast:
    case Operator::all_gather_copy_in:
    case Operator::all_gather_copy_out:
    case Operator::reduce_scatter_copy_in: return true;
    default: return false;
  }
}

std::string buffer_text(const RankProgram& program, BufferId id) {
  const Buffer& buffer = program.buffers[static_cast<std::size_t>(id)];
  const std::string& owner = program.name(buffer.owner);
  const std::string& role = program.name(buffer.role);
  return "%" + std::to_string(id) + " " + role + (owner.empty() ? "" : " of " + owner);
}

std::string operands_text(const Program& step, const Instruction& i) {
  std::string out;
  const auto list = [&](std::span<const BufferId> buffers) {
    for (std::size_t b = 0; b < buffers.size() && b < 4; ++b)
      out += " %" + std::to_string(buffers[b]);
    if (buffers.size() > 4) out += " and " + std::to_string(buffers.size() - 4) + " more";
  };
  list(step.reads(i));
  out += " ->";
  list(step.writes(i));
  return out;
}

}  // namespace

std::string_view name(Phase v) {
  return word(kPhaseNames, v);
}
std::string_view name(Category v) {
  return word(kCategoryNames, v);
}
std::string_view name(Kind v) {
  static_assert(std::size(kKindNames) == static_cast<std::size_t>(kKinds));
  return kKindNames[static_cast<std::size_t>(v)];
}

const std::string& RankProgram::name(NameId id) const {
  static const std::string kNoName;
  if (id == kNone) return kNoName;
  auto n = static_cast<std::size_t>(id);
  if (n < tree.modules.size()) return tree.modules[n].path;
  n -= tree.modules.size();
  if (n < tree.parameters.size()) return tree.parameters[n].name;
  return own_names[n - tree.parameters.size()];
}

std::int64_t RankProgram::runs_of(std::size_t number, std::int64_t steps) const {
  const auto begin = static_cast<std::int64_t>(steady_begin()),
             n = static_cast<std::int64_t>(number);
  if (n > steps) return 0;
  if (n < begin) return 1;
  if (cycle <= kMostOfCycle) return (steps - n) / cycle + 1;
  const std::int64_t lasts = steps / cycle - (begin - 1) / cycle,
                     firsts = (steps - 1) / cycle - (begin - 2 + cycle) / cycle + 1,
                     all = std::max<std::int64_t>(0, steps - begin + 1);
  if (n == begin) return firsts;
  return n == begin + 1 ? all - firsts - lasts : lasts;
}

std::string_view RankProgram::operator_name(const Instruction& i) const {
  if (i.op != kNone) return operators[static_cast<std::size_t>(i.op)].name;
  return foreshard::name(cost_keys[static_cast<std::size_t>(i.cost_key)].op);
}

std::uint64_t program_hash(const RankProgram& program) {
  Hash hash;
  hash.add(static_cast<std::uint64_t>(program.device.kind));
  for (const std::int64_t size :
       {std::int64_t{program.device.compute_capability},
        std::int64_t{program.device.multiprocessors}, program.device.matmul_workspace.count}) {
    hash.add(static_cast<std::uint64_t>(size));
  }
  for (const StreamInfo& stream : program.streams) hash.add(stream.name);
  for (const GroupInfo& group : program.groups) hash.add(group.name);
  for (const OperatorInfo& op : program.operators) hash.add(op.name);
  for (std::size_t n = 0; n < program.name_count(); ++n) {
    hash.add(program.name(static_cast<NameId>(n)));
  }
  for (const Buffer& b : program.buffers) {
    hash.add(static_cast<std::uint64_t>(b.bytes));
    hash.add(static_cast<std::uint64_t>(b.pool) | static_cast<std::uint64_t>(b.category) << 8 |
             static_cast<std::uint64_t>(b.on_host) << 16 |
             static_cast<std::uint64_t>(b.persistent) << 17);
    for (const std::int32_t field : {b.unit, b.owner, b.role}) {
      hash.add(static_cast<std::uint64_t>(static_cast<std::uint32_t>(field)));
    }
  }
  for (const Program& step : program.programs) add_program(hash, program, step);
  return hash.value();
}

std::string program_name(const RankProgram& program, std::size_t number) {
  if (number == 0) return "setup";
  const std::size_t steps_end = program.programs.size() - program.closing;
  if (number >= steps_end) return "closing " + std::to_string(number - steps_end + 1);
  const std::size_t steady = program.steady_begin();
  if (program.cycle > 1 && number >= steady) return "steady " + std::to_string(number - steady + 1);
  if (number + 1 == steps_end) return "steady";
  return number == 1 ? "first" : "step " + std::to_string(number);
}

std::string_view unit_name(const RankProgram& program, UnitId unit) {
  if (unit == kNone) return "";
  const std::string& path = program.units[static_cast<std::size_t>(unit)].name;
  return path.empty() ? std::string_view("root") : path;
}

std::vector<std::string> stable_keys(const RankProgram& program, const Program& step_program,
                                     std::string_view step_name, const ModuleTree& tree) {
  std::unordered_map<std::string, int> ordinals;
  std::vector<std::string> keys;
  keys.reserve(step_program.instructions.size());
  for (const Instruction& i : step_program.instructions) {
    std::string key(step_name);
    key += "/" + std::to_string(i.micro_step) + "/";
    key += name(i.phase);
    key += '/';
    if (belongs_to_unit(program, i)) {
      key += program.units[static_cast<std::size_t>(i.unit)].name;
    } else if (i.module != kNone) {
      key += tree.modules[static_cast<std::size_t>(i.module)].path;
    }
    key += '/';
    key += i.cost_key == kNone ? name(i.kind) : program.operator_name(i);
    const int ordinal = ordinals[key]++;
    keys.push_back(key + "/" + std::to_string(ordinal));
  }
  return keys;
}

std::string to_text(const RankProgram& program, const Program& step_program,
                    const ModuleTree& tree) {
  std::string out;
  std::size_t depth = 0;
  for (std::size_t n = 0; n < step_program.instructions.size(); ++n) {
    const Instruction& i = step_program.instructions[n];
    if (i.kind == Kind::range_end && depth > 0) {
      --depth;
      continue;
    }
    const bool is_of_host = i.kind == Kind::host_wait || i.kind == Kind::host_compute;
    out += formatted("%6zu  %-9s %-18s ", n, std::string(name(i.phase)).c_str(),
                     is_of_host ? "host" : program.name(i.stream).c_str()) +
           std::string(2 * depth, ' ');
    switch (i.kind) {
      case Kind::alloc:
      case Kind::free: {
        const Buffer& b = program.buffers[static_cast<std::size_t>(i.target)];
        out += (i.kind == Kind::alloc ? "+ " : "- ") + buffer_text(program, i.target) + "  " +
               binary_bytes(b.bytes) + (b.on_host ? " [host]" : "");
        break;
      }
      case Kind::record_event: out += "record event " + std::to_string(i.target); break;
      case Kind::wait_event:
      case Kind::host_wait: out += "wait for event " + std::to_string(i.target); break;
      case Kind::range_begin:
        out += "{ " + program.name(i.target);
        ++depth;
        break;
      case Kind::record_stream: out += "record stream for %" + std::to_string(i.target); break;
      case Kind::empty_cache: out += "empty cache"; break;
      default:
        if (i.op != kNone) out += std::string(program.operator_name(i)) + ": ";
        out += text(program.cost_keys[static_cast<std::size_t>(i.cost_key)]);
        if (i.kind == Kind::collective) out += " over " + program.name(i.group);
        out += operands_text(step_program, i);
        if (i.module != kNone && !tree.modules[static_cast<std::size_t>(i.module)].path.empty()) {
          out += "  (" + tree.modules[static_cast<std::size_t>(i.module)].path + ")";
        }
    }
    out += '\n';
  }
  return out;
}

}  // namespace foreshard
