#include "traces/kineto/costs/operator_keys.hpp"

#include <unordered_map>

#include "traces/kineto/costs/key_rules.hpp"

namespace foreshard::traces::kineto {

KeyRule key_rule(std::string_view name) {
  static const std::unordered_map<std::string_view, KeyRule> all = [] {
    std::unordered_map<std::string_view, KeyRule> rules;
    for (const Rules some : {product_rules(), attention_rules(), model_rules(), memory_rules()}) {
      rules.insert(some.begin(), some.end());
    }
    return rules;
  }();
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

CostKey in_backward(const CostKey& forward, Operator op) {
  CostKey out = forward;
  out.op = op;
  if (op != Operator::matmul) out.dims[3] = 0;
  return out;
}

}  // namespace foreshard::traces::kineto
