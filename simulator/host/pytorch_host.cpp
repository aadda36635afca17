#include "simulator/host/pytorch_host.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/hardware/host_times.hpp"
#include "models/program/step_program.hpp"

namespace foreshard::simulator {
namespace {

// Which decoder layers of a program are computed again in backward, and how: PyTorch keeps all that was
// recomputed (full checkpointing), or looks at each operator whether its result was saved (selective).

struct CheckpointedLayers {
  std::vector<bool> layers;  // empty: none
  bool is_selective = false;

  bool has(std::int32_t layer) const {
    return layer >= 0 && static_cast<std::size_t>(layer) < layers.size() &&
           layers[static_cast<std::size_t>(layer)];
  }
};

// Whether it is the model's own work, rather than what gathers, reduces or updates parameters.
bool is_of_model(const RankProgram& program, const Instruction& i) {
  if (i.kind != Kind::launch) return false;
  switch (const Operator op = program.cost_keys[static_cast<std::size_t>(i.cost_key)].op; op) {
    case Operator::shard_cast:
    case Operator::all_gather_copy_in:
    case Operator::all_gather_copy_out:
    case Operator::copy_slice:
    case Operator::reduce_scatter_copy_in:
    case Operator::adamw:
    case Operator::sgd: return false;
    default: return i.op != kNone || is_matmul(op);
  }
}

// The decoder layer that an instruction belongs to; kNone: to none.
std::int32_t layer_of(const RankProgram& program, const Instruction& i) {
  return i.module == kNone ? kNone : program.tree.modules[static_cast<std::size_t>(i.module)].layer;
}

// Where the work of both modules is: a path, "" for the model.
std::string_view around(std::string_view path, std::string_view other) {
  while (!path.empty() &&
         !(other.starts_with(path) && (other.size() == path.size() || other[path.size()] == '.'))) {
    const std::size_t dot = path.rfind('.');
    path = path.substr(0, dot == path.npos ? 0 : dot);
  }
  return path;
}

std::string_view path_of(const RankProgram& program, const Instruction& i) {
  if (i.module == kNone) return {};
  return program.tree.modules[static_cast<std::size_t>(i.module)].path;
}

// Full checkpointing computes all products of the forward again up to its end or, stopping early, up to what is
// needed last; selective checkpointing leaves out those that were saved. What is computed again first stands
// for all.
bool leaves_out_products(const RankProgram& program, const Program& step) {
  const auto& all = step.instructions;
  const auto is_again = [](const Instruction& i) { return i.phase == Phase::recompute; };
  std::vector<CostKey> recomputed, forward;
  const auto add_product = [&](const Instruction& i, std::vector<CostKey>& products) {
    const CostKey& key = program.cost_keys[static_cast<std::size_t>(i.cost_key)];
    if (is_matmul(key.op)) products.push_back(key);
  };
  auto again = std::find_if(all.begin(), all.end(), is_again);
  std::string_view within;
  for (bool is_first = true; again != all.end(); ++again) {
    if (!is_of_model(program, *again)) continue;
    if (!is_again(*again)) break;
    within = is_first ? path_of(program, *again) : around(within, path_of(program, *again));
    is_first = false;
    add_product(*again, recomputed);
  }
  for (const Instruction& i : all) {
    if (forward.size() == recomputed.size()) break;
    const bool is_there = around(within, path_of(program, i)) == within;
    if (i.phase == Phase::forward && is_there && is_of_model(program, i)) add_product(i, forward);
  }
  return recomputed.empty() || forward != recomputed;
}

CheckpointedLayers checkpointed_layers(const RankProgram& program, const Program& step) {
  CheckpointedLayers found;
  for (const Instruction& i : step.instructions) {
    if (i.phase != Phase::recompute) continue;
    const std::int32_t layer = layer_of(program, i);
    if (layer < 0) continue;
    const auto wanted = static_cast<std::size_t>(layer) + 1;
    if (found.layers.size() < wanted) found.layers.resize(wanted);
    found.layers[wanted - 1] = true;
  }
  found.is_selective = !found.layers.empty() && leaves_out_products(program, step);
  return found;
}

// How a launch comes about: the optimizer's are calls over FSDP2's distributed tensors, or over plain ones.
enum class Way : std::uint8_t { forward, backward, optimizer, tensors, compiled, kCount };
constexpr std::array<std::string_view, static_cast<std::size_t>(Way::kCount)> kWayNames{
    "forward", "backward", "optimizer", "tensors", "compiled"};

// "FSDP::pre_forward (model.layers.0)", "FSDP::backward_prefetch for model.layers.0" and
// "Optimizer.step#AdamW.step" without what they are of.
std::string_view without_unit(std::string_view range) {
  return range.substr(0, std::min({range.find(" ("), range.find(" for"), range.find('#')}));
}

class HostPricer {
 public:
  HostPricer(const RankProgram& program, const HostPace& pace)
      : program_(program),
        pace_(pace),
        is_distributed_(std::any_of(program.own_names.begin(), program.own_names.end(),
                                    [](const std::string& n) { return n.starts_with("FSDP::"); })),
        ranges_(program.name_count()) {
    for (const OperatorInfo& op : program.operators) {
      is_generated_.push_back(op.name.starts_with("triton_"));
      is_compiled_ = is_compiled_ || is_generated_.back();
    }
    for (auto& launches : launches_) launches.resize(kOwn + program.operators.size());
    for (std::size_t c = 0; c < allocations_.size(); ++c) {
      const std::string_view category = name(static_cast<Category>(c));
      allocations_[c] = call(host_time("alloc", kAnyPhase, category), 0);
      frees_[c] = call(host_time("free", kAnyPhase, category), 0);
    }
    for (int k = 0; k < kKinds; ++k) {
      const HostTime time = host_time(name(static_cast<Kind>(k)), kAnyPhase, kAnyPhase);
      kinds_[static_cast<std::size_t>(k)] = call(time, 0);
    }
    for (const bool again : {false, true}) {
      for (const bool selective : {false, true}) {
        hooks_[again ? 1 : 0][selective ? 1 : 0] =
            call(host_time("checkpoint", again ? "recompute" : "forward",
                           selective ? "selective" : "full"),
                 0);
      }
    }
    for (const Way way : {Way::forward, Way::backward}) {
      regions_[static_cast<std::size_t>(way)] =
          call(host_time("region", kWayNames[static_cast<std::size_t>(way)], kAnyPhase), 0);
    }
  }

  IssueTimes times(const Program& step) {
    checkpointed_ = checkpointed_layers(program_, step);
    find_compiled_layers(step);
    in_region_ = {};
    in_graph_ = false;
    IssueTimes times;
    times.reserve(step.instructions.size());
    for (const Instruction& i : step.instructions)
      times.push_back(static_cast<std::int64_t>(ns(i) + 0.5));
    return times;
  }

 private:
  static constexpr std::string_view kAnyPhase = "any";
  static constexpr auto kOwn = static_cast<std::size_t>(Operator::kCount);

  Way way_of(Phase phase) const {
    switch (phase) {
      case Phase::backward: return Way::backward;
      case Phase::optimizer:
      case Phase::report: return is_distributed_ ? Way::optimizer : Way::tensors;
      default: return Way::forward;
    }
  }

  double call(const HostTime& time, int tensors) const {
    return 1000 * (pace_.framework * (time.us + time.per_tensor_us * tensors) +
                   pace_.driver * time.driver_us);
  }

  double ns(const Instruction& i) {
    const bool is_around_graph = (i.kind == Kind::range_begin || i.kind == Kind::range_end) &&
                                 program_.name(i.target) == kGraphLaunch;
    if (is_around_graph) in_graph_ = i.kind == Kind::range_begin;
    if (in_graph_ && !is_around_graph) return 0;
    switch (i.kind) {
      case Kind::launch: return launch_ns(i);
      case Kind::alloc: return allocations_[category_of(i)];
      case Kind::free: return frees_[category_of(i)];
      case Kind::range_begin: return range_ns(i.target);
      default: return kinds_[static_cast<std::size_t>(i.kind)];
    }
  }

  bool is_generated(const Instruction& i) const {
    return i.op != kNone && is_generated_[static_cast<std::size_t>(i.op)];
  }

  std::size_t category_of(const Instruction& i) const {
    return static_cast<std::size_t>(program_.buffers[static_cast<std::size_t>(i.target)].category);
  }

  double range_ns(NameId id) {
    auto& range = ranges_[static_cast<std::size_t>(id)];
    if (!range) {
      range = call(host_time("range", kAnyPhase, without_unit(program_.name(id))), 0);
    }
    return *range;
  }

  double launch_ns(const Instruction& i) {
    const std::int32_t layer = layer_of(program_, i);
    const bool is_model = is_of_model(program_, i);
    const bool is_compiled = is_model && compiled_.has(layer);
    const auto way = is_compiled || is_generated(i) ? Way::compiled : way_of(i.phase);
    double ns = calls_of(i) * call(time_of(way, i), i.reads + i.writes) / launches_of(i);
    if (is_compiled) {
      const Region region{layer, i.phase, i.micro_step};
      if (!(in_region_ == region)) ns += regions_[static_cast<std::size_t>(way_of(i.phase))];
      in_region_ = region;
    } else if (is_model && checkpointed_.has(layer)) {
      const bool again = i.phase == Phase::recompute;
      if (again || i.phase == Phase::forward) {
        ns += hooks_[again ? 1 : 0][checkpointed_.is_selective ? 1 : 0];
      }
    }
    return ns;
  }

  // An operator over a list of tensors, in one piece of work: it is priced by the tensor.
  int calls_of(const Instruction& i) const {
    const bool is_list = i.reads > 1 && program_.operator_name(i).starts_with("aten::_foreach_");
    return is_list ? i.reads : 1;
  }

  // That share what their operator takes.
  int launches_of(const Instruction& i) const {
    return i.op == kNone ? 1 : program_.operators[static_cast<std::size_t>(i.op)].launches;
  }

  const HostTime& time_of(Way way, const Instruction& i) {
    const CostKey& key = program_.cost_keys[static_cast<std::size_t>(i.cost_key)];
    const std::size_t op =
        i.op != kNone ? kOwn + static_cast<std::size_t>(i.op) : static_cast<std::size_t>(key.op);
    auto& time = launches_[static_cast<std::size_t>(way)][op];
    if (!time) {
      // PyTorch has no kernel of its own for chunks that one rank keeps.
      const bool is_alone = key.op == Operator::reduce_scatter_copy_in && key.dims[1] <= 1;
      time = host_time("launch", kWayNames[static_cast<std::size_t>(way)],
                       is_alone ? "reduce_scatter_copy_in alone" : program_.operator_name(i));
    }
    return *time;
  }

  void find_compiled_layers(const Program& step) {
    compiled_ = {};
    if (!is_compiled_) return;
    for (const Instruction& i : step.instructions) {
      if (i.kind != Kind::launch || !is_generated(i)) continue;
      const std::int32_t layer = layer_of(program_, i);
      if (layer < 0) continue;
      const auto wanted = static_cast<std::size_t>(layer) + 1;
      if (compiled_.layers.size() < wanted) compiled_.layers.resize(wanted);
      compiled_.layers[wanted - 1] = true;
    }
  }

  struct Region {
    std::int32_t layer = kNone;
    Phase phase = Phase::setup;
    std::int16_t micro_step = 0;
    bool operator==(const Region&) const = default;
  };

  const RankProgram& program_;
  const HostPace pace_;
  std::vector<bool> is_generated_;  // by OperatorId: Inductor's kernels
  bool is_compiled_ = false;        // where there are any
  const bool is_distributed_;       // its parameters are
  std::array<std::vector<std::optional<HostTime>>, kWayNames.size()> launches_;  // by operator
  std::vector<std::optional<double>> ranges_;                                    // by name
  std::array<double, static_cast<std::size_t>(Category::kCount)> allocations_{}, frees_{};
  std::array<double, static_cast<std::size_t>(kKinds)> kinds_{};
  std::array<std::array<double, 2>, 2> hooks_{};  // forward and again; full and selective
  std::array<double, kWayNames.size()> regions_{};
  CheckpointedLayers checkpointed_, compiled_;
  Region in_region_;
  bool in_graph_ = false;
};

}  // namespace

std::vector<IssueTimes> pytorch_issue_times(const RankProgram& program, const HostPace& pace,
                                            std::size_t first) {
  HostPricer pricer(program, pace);
  std::vector<IssueTimes> times(program.programs.size());
  for (std::size_t p = first; p < times.size(); ++p) times[p] = pricer.times(program.programs[p]);
  return times;
}

}  // namespace foreshard::simulator
