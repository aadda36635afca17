// The rules behind key_rule, by what kind of operator they are for. Only for the sources of this
// folder.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "traces/kineto/costs/arguments.hpp"
#include "traces/kineto/costs/operator_keys.hpp"

namespace foreshard::traces::kineto {

using Rules = std::span<const std::pair<std::string_view, KeyRule>>;

Rules product_rules();    // matrix products
Rules attention_rules();  // fused attention
Rules model_rules();      // embeddings, norms, casts, FSDP's copies: what models' programs launch
Rules memory_rules();     // what only moves bytes

inline OperatorKey keyed(Operator op, DType type, CostDims dims) {
  return {{op, type, type, type, dims}};
}

}  // namespace foreshard::traces::kineto
