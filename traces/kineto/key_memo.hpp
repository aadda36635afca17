// Cost keys of operators, worked out once for each kind of arguments: a step repeats few of them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/kineto/operator_keys.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces::kineto {

class KeyMemo {
 public:
  struct Known {
    StringId key = 0;                         // its text, 0 where there is none
    Operator in_backward = Operator::kCount;  // see OperatorKey; kCount where it is the same
  };

  explicit KeyMemo(Strings& strings) : strings_(strings) {}

  Known of(StringId name, const RawEvent& event);

 private:
  KeyRule rule_of(StringId name, std::string_view text);

  Strings& strings_;
  std::vector<bool> is_looked_up_;  // by name
  std::vector<KeyRule> rules_;
  std::unordered_map<std::string, Known> known_;
  std::string arguments_;
};

}  // namespace foreshard::traces::kineto
