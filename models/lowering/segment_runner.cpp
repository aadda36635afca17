#include "models/lowering/segment_runner.hpp"

#include "models/base/assertion.hpp"

namespace foreshard::lowering {
namespace {

constexpr bool is_slot(const Operand& o) {
  return o.kind == Operand::Kind::slot;
}
constexpr std::size_t index(Slot slot) {
  return static_cast<std::size_t>(slot);
}

}  // namespace

SegmentRunner::SegmentRunner(const Job& job, Emitter& emit, Fsdp2& runtime,
                             const PersistentBuffers& persistent)
    : job_(job), emit_(emit), runtime_(runtime), persistent_(persistent) {}

void SegmentRunner::bind(Segment& segment, Emitter& emit) {
  for (Node& node : segment.forward) node.key_id = emit.intern(node.key);
  for (Node& node : segment.backward) node.key_id = emit.intern(node.key);
}

PlacedSegment SegmentRunner::place(const Segment& segment, ModuleId base) const {
  PlacedSegment placed{&segment, base, {}, std::vector<BufferId>(segment.slots.size(), kNone)};
  const auto& modules = job_.tree.modules;
  const std::string& above = modules[static_cast<std::size_t>(base)].path;
  for (const std::string_view path : segment.modules) {
    const bool is_joined = !above.empty() && !path.empty();
    const std::size_t length = above.size() + (is_joined ? 1 : 0) + path.size();
    std::size_t at = static_cast<std::size_t>(base);  // a module's descendants follow it
    while (at < modules.size() && (modules[at].path.size() != length ||
                                   !std::string_view(modules[at].path).ends_with(path))) {
      ++at;
    }
    FORESHARD_ASSERT(at < modules.size() && modules[at].path.starts_with(above),
                     "a segment names a module that the model lacks");
    placed.modules.push_back(static_cast<ModuleId>(at));
  }
  return placed;
}

ParameterId SegmentRunner::parameter(const PlacedSegment& placed, const Node& node,
                                     bool bias) const {
  const ModuleId module = placed.modules[static_cast<std::size_t>(node.module)];
  const auto& parameters = job_.tree.modules[static_cast<std::size_t>(module)].parameters;
  const std::size_t index = bias ? 1 : 0;
  FORESHARD_ASSERT(index < parameters.size(), "a node names a parameter that its module lacks");
  return parameters[index];
}

BufferId SegmentRunner::resolve(PlacedSegment& placed, const Operand& operand, const Node& node,
                                bool is_write) {
  switch (operand.kind) {
    case Operand::Kind::slot: {
      BufferId& buffer = placed.live[index(operand.slot)];
      if (buffer == kNone && is_write) {
        const SlotSpec& spec = placed.segment->slots[index(operand.slot)];
        buffer = emit_.allocate({spec.bytes, spec.category, spec.role});
      }
      return buffer;
    }
    case Operand::Kind::weight: return runtime_.unsharded(parameter(placed, node, false));
    case Operand::Kind::bias: return runtime_.unsharded(parameter(placed, node, true));
    case Operand::Kind::weight_gradient: {
      const bool accumulates = node.key.op == Operator::embedding_backward && node.key.dims[3] != 0;
      return runtime_.gradient_for(parameter(placed, node, false), accumulates);
    }
    case Operand::Kind::bias_gradient:
      return runtime_.gradient_for(parameter(placed, node, true), false);
    case Operand::Kind::workspace: return persistent_.workspace;
    case Operand::Kind::scratch:
      return emit_.allocate({scratch_bytes(node.key).count, Category::temporaries, Role::scratch});
    case Operand::Kind::rope_table: return persistent_.rope_table;
    case Operand::Kind::tokens: return tokens;
    case Operand::Kind::targets: return targets;
    case Operand::Kind::loss: return persistent_.loss;
  }
  return kNone;
}

void SegmentRunner::launch(PlacedSegment& placed, const Node& node, Stream stream) {
  reads_.clear();
  writes_.clear();
  BufferId scratch = kNone;
  for (const Operand& o : node.reads) reads_.push_back(resolve(placed, o, node, false));
  for (const Operand& o : node.writes) {
    writes_.push_back(resolve(placed, o, node, true));
    if (o.kind == Operand::Kind::scratch) scratch = writes_.back();
  }
  emit_.launch(stream, node.key_id, reads_, writes_);
  if (scratch != kNone) emit_.free(scratch);
  for (const Operand& o : node.writes) {
    if (o.kind == Operand::Kind::weight_gradient)
      runtime_.gradient_written(parameter(placed, node, false));
    if (o.kind == Operand::Kind::bias_gradient)
      runtime_.gradient_written(parameter(placed, node, true));
  }
}

void SegmentRunner::forward(PlacedSegment& placed, ModuleWalk& walk, const std::vector<bool>& keeps,
                            const std::vector<bool>* reruns) {
  const Segment& segment = *placed.segment;
  last_use_.assign(segment.slots.size(), kNone);
  const auto runs = [reruns](std::size_t n) { return reruns == nullptr || (*reruns)[n]; };
  for (std::size_t n = 0; n < segment.forward.size(); ++n) {
    if (!runs(n)) continue;
    for (const auto* operands : {&segment.forward[n].reads, &segment.forward[n].writes}) {
      for (const Operand& o : *operands) {
        if (is_slot(o)) last_use_[index(o.slot)] = static_cast<std::int32_t>(n);
      }
    }
  }
  for (std::size_t n = 0; n < segment.forward.size(); ++n) {
    if (!runs(n)) continue;
    const Node& node = segment.forward[n];
    walk.go_to(placed.modules[static_cast<std::size_t>(node.module)]);
    launch(placed, node, Stream::compute);
    for (const auto* operands : {&node.reads, &node.writes}) {
      for (const Operand& o : *operands) {
        if (!is_slot(o)) continue;
        const std::size_t s = index(o.slot);
        const bool dies = last_use_[s] == static_cast<std::int32_t>(n) && !keeps[s] &&
                          !segment.slots[s].external && placed.live[s] != kNone;
        if (dies) emit_.free(std::exchange(placed.live[s], kNone));
      }
    }
  }
}

void SegmentRunner::backward(PlacedSegment& placed, ModuleWalk& walk,
                             const std::function<void()>& before_first) {
  const Segment& segment = *placed.segment;
  for (std::size_t n = 0; n < segment.backward.size(); ++n) {
    walk.go_to(placed.modules[static_cast<std::size_t>(segment.backward[n].module)]);
    if (n == 0) {
      if (before_first) {
        before_first();
        walk.go_to(placed.modules[static_cast<std::size_t>(segment.backward[n].module)]);
      }
      last_use_.assign(segment.slots.size(), kNone);
      std::vector<bool> is_read(segment.slots.size());
      for (std::size_t m = 0; m < segment.backward.size(); ++m) {
        for (const Operand& o : segment.backward[m].reads) {
          if (is_slot(o)) is_read[index(o.slot)] = true;
        }
        for (const auto* operands : {&segment.backward[m].reads, &segment.backward[m].writes}) {
          for (const Operand& o : *operands) {
            if (is_slot(o)) last_use_[index(o.slot)] = static_cast<std::int32_t>(m);
          }
        }
      }
      for (std::size_t s = 0; s < segment.slots.size(); ++s) {
        const SlotSpec& spec = segment.slots[s];
        const bool is_handed_on =
            spec.external && (spec.category != Category::activations || !is_read[s]);
        if (is_handed_on) last_use_[s] = kNone;
      }
    }
    const Node& node = segment.backward[n];
    launch(placed, node, Stream::compute);
    for (const auto* operands : {&node.reads, &node.writes}) {
      for (const Operand& o : *operands) {
        if (!is_slot(o)) continue;
        const std::size_t s = index(o.slot);
        if (last_use_[s] == static_cast<std::int32_t>(n) && placed.live[s] != kNone) {
          emit_.free(std::exchange(placed.live[s], kNone));
        }
      }
    }
  }
}

}  // namespace foreshard::lowering
