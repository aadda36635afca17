// The cost key of models (operators.hpp) that describes the size of an operator, by its name and the
// shapes and types of its arguments, where these are recorded.
//
// Only what computes the same has the same key: attention with a window, dropout or sequences of
// several lengths has none, nor has what is given as a list of tensors, whose types no recording
// defines. Operators that only move bytes, and that no other key means, are memory_bound.
#pragma once

#include <optional>
#include <string_view>

#include "models/program/operators.hpp"

namespace foreshard::traces::kineto {

class Arguments;

struct OperatorKey {
  CostKey key;
  Operator in_backward = Operator::kCount;  // what it is where autograd launched it
};

// Looks at an operator's arguments; nothing where they are not sufficient.
using KeyRule = std::optional<OperatorKey> (*)(const Arguments&);

// Null for operators without a key.
KeyRule key_rule(std::string_view name);

// The same sizes as another operator of autograd's. A product whose first operand is transposed is a
// weight's gradient in backward; one of plain operands an input's.
CostKey in_backward(const CostKey& forward, Operator op);

}  // namespace foreshard::traces::kineto
