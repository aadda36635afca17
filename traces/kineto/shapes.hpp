// Shapes and types of an operator's arguments, and the cost key of models (operators.hpp) that says
// how large the operator was, where it has one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "models/operators.hpp"
#include "traces/kineto/raw_event.hpp"

namespace foreshard::traces::kineto {

struct OperatorKey {
  CostKey key;
  Operator in_backward = Operator::kCount;  // what it is where autograd launched it
};

// Matrix products and embeddings whose shapes and type are recorded. A product whose first operand
// is transposed is a weight's gradient in backward; one of plain operands an input's.
std::optional<OperatorKey> operator_key(const RawEvent& event);

// Whether operator_key knows the operator, if shapes are recorded.
bool has_operator_key(std::string_view name);

// The same sizes as another operator of autograd's.
CostKey in_backward(const CostKey& forward, Operator op);

// A copy or a fill, by the name of the device's event.
std::optional<CostKey> copy_key(std::string_view name, std::int64_t bytes);

// By "Collective name", element type, elements and group.
std::optional<CostKey> collective_key(const RawEvent& event);

// Bytes of the larger side of a collective, 0 where unknown.
std::int64_t collective_bytes(const RawEvent& event);

}  // namespace foreshard::traces::kineto
