#include "models/lowering/operators/operator_table.hpp"

#include <algorithm>

#include "models/base/assertion.hpp"

namespace foreshard::lowering {
namespace {

using Slots = std::vector<bool>;  // by slot
using Nodes = std::vector<bool>;  // by node of forward

constexpr std::size_t at(std::int32_t index) {
  return static_cast<std::size_t>(index);
}
constexpr bool is_slot(const Operand& o) {
  return o.kind == Operand::Kind::slot;
}

// Calls `visit` with every slot of a node, those it reads first.
template <typename Visit>
void for_each_slot(const Node& node, Visit visit) {
  for (const auto* operands : {&node.reads, &node.writes}) {
    for (const Operand& o : *operands) {
      if (is_slot(o)) visit(at(o.slot));
    }
  }
}

Slots written_by(const std::vector<Node>& nodes, std::size_t slots) {
  Slots written(slots);
  for (const Node& node : nodes) {
    for (const Operand& o : node.writes) {
      if (is_slot(o)) written[at(o.slot)] = true;
    }
  }
  return written;
}

// What forward must keep: slots that backward reads before it writes them, or writes in place.
Slots needed_by_backward(const OperatorTable& table) {
  Slots needed(table.slots.size()), produced(table.slots.size());
  const Slots made_by_forward = written_by(table.forward, table.slots.size());
  for (const Node& node : table.backward) {
    for (const Operand& o : node.reads) {
      if (is_slot(o) && !produced[at(o.slot)]) needed[at(o.slot)] = true;
    }
    for (const Operand& o : node.writes) {
      if (!is_slot(o)) continue;
      if (made_by_forward[at(o.slot)]) needed[at(o.slot)] = true;
      produced[at(o.slot)] = true;
    }
  }
  if (table.gradient != kNone) needed[at(table.gradient)] = false;
  return needed;
}

// The nodes of forward that make what backward needs and a checkpointed block did not keep.
Nodes nodes_to_rerun(const OperatorTable& table, const Slots& needed, const Slots& keeps) {
  Nodes reruns(table.forward.size());
  Slots wanted(table.slots.size());
  for (std::size_t s = 0; s < wanted.size(); ++s) wanted[s] = needed[s] && !keeps[s];
  for (std::size_t n = table.forward.size(); n-- > 0;) {
    const Node& node = table.forward[n];
    reruns[n] = std::any_of(node.writes.begin(), node.writes.end(),
                            [&](const Operand& o) { return is_slot(o) && wanted[at(o.slot)]; });
    if (!reruns[n]) continue;
    for (const Operand& o : node.writes) {
      FORESHARD_ASSERT(!is_slot(o) || !keeps[at(o.slot)],
                       "an operator that is computed again would write what was kept");
    }
    for (const Operand& o : node.reads) {
      if (is_slot(o) && !keeps[at(o.slot)] && o.slot != table.input) wanted[at(o.slot)] = true;
    }
  }
  return reruns;
}

// Writes the script of a list of nodes.
class Compiler {
 public:
  Compiler(const OperatorTable& table, Slots alive) : table_(table), alive_(std::move(alive)) {}

  // `handed_on`: slots that the script does not free. `recomputes`: in the first node's module.
  Script script(const std::vector<Node>& nodes, const Nodes& runs, const Slots& handed_on,
                bool recomputes = false) {
    constexpr std::size_t kNever = static_cast<std::size_t>(-1);
    std::vector<std::size_t> last_use(table_.slots.size(), kNever);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (runs[n]) for_each_slot(nodes[n], [&](std::size_t slot) { last_use[slot] = n; });
    }
    Script out;
    out.launches.reserve(nodes.size());
    out.actions.reserve(6 * nodes.size());  // mostly fewer, as the next
    out.operands.reserve(6 * nodes.size());
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (!runs[n]) continue;
      const Node& node = nodes[n];
      out.add(Action::Kind::enter, node.module);
      if (std::exchange(recomputes, false)) {
        out.add(Action::Kind::recompute, kNone);
        out.add(Action::Kind::enter, node.module);
      }
      add(out, node);
      for_each_slot(node, [&](std::size_t slot) {
        if (last_use[slot] == n && !handed_on[slot]) end(out, slot, Action::Kind::free);
      });
    }
    return out;
  }

 private:
  void add(Script& out, const Node& node) {
    for (const Operand& o : node.writes) {
      if (!is_slot(o) || alive_[at(o.slot)]) continue;
      out.add(Action::Kind::allocate, o.slot);
      alive_[at(o.slot)] = true;
    }
    out.launch(node.key, node.reads, node.writes);
    for (const Operand& o : node.writes) {
      if (is_slot(o) && table_.slots[at(o.slot)].role == Role::scratch) {
        end(out, at(o.slot), Action::Kind::free);
      }
    }
    for (const Operand& o : node.writes) {
      if (!is_slot(o) || table_.slots[at(o.slot)].parameter.module == kNone) continue;
      end(out, at(o.slot), Action::Kind::gradient_ready);
      out.add(Action::Kind::accumulate, kNone);
    }
  }

  void end(Script& out, std::size_t slot, Action::Kind how) {
    if (!alive_[slot]) return;
    out.add(how, static_cast<Slot>(slot));
    alive_[slot] = false;
  }

  const OperatorTable& table_;
  Slots alive_;
};

}  // namespace

Segment compile(const OperatorTable& table, const std::optional<std::vector<Slot>>& kept) {
  const std::size_t slots = table.slots.size();
  const Nodes all_forward(table.forward.size(), true), all_backward(table.backward.size(), true);
  const auto with = [&](Slots set, std::initializer_list<Slot> more) {
    for (const Slot slot : more) {
      if (slot != kNone) set[at(slot)] = true;
    }
    return set;
  };
  const Slots needed = needed_by_backward(table), none(slots);
  Segment out;
  out.modules = table.modules;
  out.slots = table.slots;
  out.input = table.input;
  out.output = table.output;
  out.gradient = table.gradient;
  const auto forward = [&](const Slots& handed_on) {
    return Compiler(table, with(none, {table.input}))
        .script(table.forward, all_forward, with(handed_on, {table.input, table.output}));
  };
  out.forward = forward(needed);
  // A gradient that backward reads first is given to it; and whatever it writes last lives on. The
  // input's activation dies where backward reads it; one that becomes its own gradient does not.
  Slots read(slots), alive = with(needed, {table.input, table.output});
  for (const Node& node : table.backward) {
    for (const Operand& o : node.reads) {
      if (is_slot(o)) read[at(o.slot)] = true;
    }
  }
  if (table.gradient != kNone) {
    for (const Node& node : table.backward) {
      const auto uses = [&](const std::vector<Operand>& operands) {
        return std::any_of(operands.begin(), operands.end(), [&](const Operand& o) {
          return is_slot(o) && o.slot == table.gradient;
        });
      };
      if (!uses(node.reads) && !uses(node.writes)) continue;
      alive[at(table.gradient)] = uses(node.reads);
      break;
    }
  }
  Slots handed_on = with(none, {table.gradient});
  for (const Slot slot : {table.input, table.output}) {
    if (slot != kNone && !read[at(slot)]) handed_on[at(slot)] = true;
  }
  out.backward = Compiler(table, alive).script(table.backward, all_backward, handed_on);
  if (!kept) return out;

  Slots keeps(slots);
  for (const Slot slot : *kept) keeps[at(slot)] = needed[at(slot)];
  if (table.input != kNone) keeps[at(table.input)] = needed[at(table.input)];
  out.checkpointed_forward = forward(keeps);
  out.recomputation =
      Compiler(table, with(keeps, {table.input}))
          .script(table.forward, nodes_to_rerun(table, needed, keeps), with(needed, {table.input}));
  out.recomputed_backward =
      Compiler(table, alive).script(table.backward, all_backward, handed_on, true);
  return out;
}

}  // namespace foreshard::lowering
