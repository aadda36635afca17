// Operator sets that leave lifetimes to a rule: the segments of a model as readable tables of
// operators, compiled to scripts.
//
// A node of a table names its operator, the module it belongs to, and its operands. The rule:
//   a tensor is allocated for the first operator that writes it and freed after the last one that
//   uses it, where backward does not need it; of one operator, those it reads die first;
//   scratch and gradients live from their operator to its end;
//   the tensors that are handed from segment to segment live on.
// From the tables also follow what forward keeps for backward, and what a checkpointed block keeps
// and computes again. Operator sets with lifetimes of their own write scripts instead.
#pragma once

#include <vector>

#include "models/lowering/script/script.hpp"

namespace foreshard::lowering {

struct Node {
  CostKey key;
  std::int32_t module = 0;  // index into the segment's modules
  std::vector<Operand> reads, writes;
};

struct OperatorTable {
  std::vector<std::string_view> modules;
  std::vector<SlotSpec> slots;
  // Slots of `Segment`: the input and output of forward, the gradient of backward.
  Slot input = kNone, output = kNone, gradient = kNone;
  std::vector<Node> forward, backward;
};

// The segment of a table; without `kept`, of one that is never checkpointed. A checkpointed block keeps,
// besides its input, the slots of `kept` that backward needs, and runs again the operators of forward
// that make the others. A node that runs again must not write what is kept: operators that work in place
// have one tensor each.
Segment compile(const OperatorTable& table, const std::optional<std::vector<Slot>>& kept = {});

}  // namespace foreshard::lowering
