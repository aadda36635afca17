#include "models/lowering/operator_graph.hpp"

#include "models/base/assertion.hpp"

namespace foreshard::lowering {

std::vector<bool> needed_by_backward(const Segment& segment) {
  std::vector<bool> needed(segment.slots.size());
  std::vector<bool> produced(segment.slots.size());
  for (const Node& node : segment.backward) {
    for (const Operand& o : node.reads) {
      if (o.kind == Operand::Kind::slot && !produced[static_cast<std::size_t>(o.slot)]) {
        needed[static_cast<std::size_t>(o.slot)] = true;
      }
    }
    for (const Operand& o : node.writes) {
      if (o.kind != Operand::Kind::slot) continue;
      const std::size_t slot = static_cast<std::size_t>(o.slot);
      // Written in place where the forward made it: its old value is needed.
      bool is_forward_slot = false;
      for (const Node& f : segment.forward) {
        for (const Operand& w : f.writes) {
          is_forward_slot |= w.kind == Operand::Kind::slot && w.slot == o.slot;
        }
      }
      if (is_forward_slot) needed[slot] = true;
      produced[slot] = true;
    }
  }
  for (std::size_t s = 0; s < needed.size(); ++s) {
    if (segment.slots[s].external && segment.slots[s].category != Category::activations) {
      needed[s] = false;
    }
  }
  return needed;
}

Recomputation recompute_all_but(const Segment& segment, const std::vector<Slot>& kept) {
  const std::vector<bool> needed = needed_by_backward(segment);
  Recomputation out;
  out.keeps.assign(segment.slots.size(), false);
  out.reruns.assign(segment.forward.size(), false);
  for (const Slot s : kept) {
    out.keeps[static_cast<std::size_t>(s)] = needed[static_cast<std::size_t>(s)];
  }
  for (std::size_t s = 0; s < segment.slots.size(); ++s) {
    if (segment.slots[s].external) out.keeps[s] = needed[s];
  }
  std::vector<bool> wanted(segment.slots.size());
  for (std::size_t s = 0; s < wanted.size(); ++s) wanted[s] = needed[s] && !out.keeps[s];
  for (std::size_t n = segment.forward.size(); n-- > 0;) {
    const Node& node = segment.forward[n];
    for (const Operand& o : node.writes) {
      if (o.kind == Operand::Kind::slot && wanted[static_cast<std::size_t>(o.slot)]) {
        out.reruns[n] = true;
      }
    }
    if (!out.reruns[n]) continue;
    for (const Operand& o : node.writes) {
      FORESHARD_ASSERT(
          o.kind != Operand::Kind::slot || !out.keeps[static_cast<std::size_t>(o.slot)],
          "an operator that is computed again would write what was kept");
    }
    for (const Operand& o : node.reads) {
      if (o.kind != Operand::Kind::slot) continue;
      const std::size_t slot = static_cast<std::size_t>(o.slot);
      if (!out.keeps[slot] && !segment.slots[slot].external) wanted[slot] = true;
    }
  }
  return out;
}

}  // namespace foreshard::lowering
