#include "models/lowering/script/script_runner.hpp"

#include "models/base/assertion.hpp"

namespace foreshard::lowering {
namespace {

constexpr std::size_t at(std::int32_t index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

Placement place(const Segment& segment, const ModuleTree& tree, ModuleId base) {
  Placement placed{base, {}};
  const auto& modules = tree.modules;
  const std::string& above = modules[at(base)].path;
  for (const std::string_view path : segment.modules) {
    const bool is_joined = !above.empty() && !path.empty();
    const std::size_t length = above.size() + (is_joined ? 1 : 0) + path.size();
    std::size_t found = at(base);  // a module's descendants follow it
    while (found < modules.size() && (modules[found].path.size() != length ||
                                      !std::string_view(modules[found].path).ends_with(path))) {
      ++found;
    }
    FORESHARD_ASSERT(found < modules.size() && modules[found].path.starts_with(above),
                     "a segment names a module that the model lacks");
    placed.modules.push_back(static_cast<ModuleId>(found));
  }
  return placed;
}

ScriptRunner::ScriptRunner(const Job& job, Emitter& emit, ShardingRuntime& runtime)
    : job_(job), emit_(emit), runtime_(runtime) {
  shared.fill(kNone);
}

void ScriptRunner::bind(Segment& segment, Emitter& emit) {
  for (Script* script : {&segment.forward, &segment.backward, &segment.checkpointed_forward,
                         &segment.recomputation, &segment.recomputed_backward}) {
    for (Launch& launch : script->launches) {
      launch.key_id = emit.intern(launch.key);
      launch.op = emit.intern_operator(launch.name);
    }
  }
}

ParameterId ScriptRunner::parameter(const Frame& frame, const ParameterRef& ref) const {
  const ModuleId module = frame.place->modules[at(ref.module)];
  const auto& parameters = job_.tree.modules[at(module)].parameters;
  FORESHARD_ASSERT(at(ref.index) < parameters.size(),
                   "a script names a parameter that its module lacks");
  return parameters[at(ref.index)];
}

void ScriptRunner::allocate(Frame& frame, Slot slot) {
  const SlotSpec& spec = frame.segment->slots[at(slot)];
  BufferId& buffer = frame.live[at(slot)];
  FORESHARD_ASSERT(buffer == kNone, "a script allocates a slot that is alive");
  if (spec.parameter.module == kNone) {
    buffer = emit_.allocate({spec.bytes, spec.category, spec.role});
    return;
  }
  const ParameterId owner = parameter(frame, spec.parameter);
  buffer = runtime_.lasting_gradient(owner);
  if (buffer == kNone) {
    buffer = emit_.declare({spec.bytes, spec.category, spec.role, emit_.parameter_name(owner)});
  }
  emit_.allocate(buffer);
}

BufferId ScriptRunner::resolve(const Frame& frame, const Operand& operand) const {
  switch (operand.kind) {
    case Operand::Kind::slot: break;
    case Operand::Kind::parameter: return runtime_.parameter(parameter(frame, operand.parameter));
    case Operand::Kind::gradient: return runtime_.gradient(parameter(frame, operand.parameter));
    case Operand::Kind::shared: return shared[static_cast<std::size_t>(operand.shared)];
  }
  return frame.live[at(operand.slot)];
}

void ScriptRunner::launch(const Frame& frame, const Script& script, const Launch& launch) {
  const auto buffer_of = [&](const Operand& operand) {
    const bool is_slot = operand.kind == Operand::Kind::slot;  // as most are
    const BufferId buffer = is_slot ? frame.live[at(operand.slot)] : resolve(frame, operand);
    FORESHARD_ASSERT(buffer != kNone,
                     "a script launches an operator on a tensor that is not there");
    return buffer;
  };
  emit_.launch(Stream::compute, launch.key_id, launch.op, script.reads(launch),
               script.writes(launch), buffer_of);
}

void ScriptRunner::allocate_workspace(Shared which) {
  BufferId& buffer = (*this)[which];
  if (buffer != kNone) return;
  const bool is_of_biases =
      which == Shared::bias_workspace || which == Shared::autograd_bias_workspace;
  buffer =
      emit_.allocate({is_of_biases ? kBiasWorkspaceBytes : job_.device.matmul_workspace.count,
                      Category::workspaces, Role::workspace, kNone, Stream::compute, false, true});
}

void ScriptRunner::run(Frame& frame, const Script& script, HookWalk& walk,
                       const std::function<void()>& elsewhere) {
  for (const Action& action : script.actions) {
    switch (action.kind) {
      case Action::Kind::enter: walk.enter(frame.place->modules[at(action.index)]); break;
      case Action::Kind::leave: walk.leave(frame.place->modules[at(action.index)]); break;
      case Action::Kind::allocate: allocate(frame, action.index); break;
      case Action::Kind::free:
        if (const BufferId buffer = frame.take(action.index); buffer != kNone) emit_.free(buffer);
        break;
      case Action::Kind::launch: launch(frame, script, script.launches[at(action.index)]); break;
      case Action::Kind::gradient_ready: {
        const ParameterRef& owner = frame.segment->slots[at(action.index)].parameter;
        runtime_.gradient_ready(parameter(frame, owner), frame.take(action.index));
        break;
      }
      case Action::Kind::accumulate: runtime_.accumulate_gradients(); break;
      case Action::Kind::recompute:
      case Action::Kind::leave_autocast: elsewhere(); break;
      case Action::Kind::workspace: allocate_workspace(action.shared); break;
      case Action::Kind::hand_over: (*this)[action.shared] = frame.take(action.index); break;
      case Action::Kind::receive:
        frame[action.index] = std::exchange((*this)[action.shared], kNone);
        break;
      case Action::Kind::returned: {
        std::vector<BufferId*> outputs;
        for (const Slot slot : frame.segment->returned) outputs.push_back(&frame[slot]);
        runtime_.returned(outputs);
        break;
      }
      case Action::Kind::host_wait: emit_.host_wait(emit_.record(Stream::compute)); break;
    }
  }
}

}  // namespace foreshard::lowering
