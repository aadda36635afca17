// Cost keys of operators, worked out once for each kind of arguments: a step repeats few of them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/kineto/costs/operator_keys.hpp"
#include "traces/kineto/json/raw_event.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces::kineto {

class KeyMemo {
 public:
  struct Known {
    StringId key = 0;          // its text, 0 where there is none
    StringId in_backward = 0;  // see OperatorKey; 0 where it is the same
  };

  explicit KeyMemo(Strings& strings) : strings_(strings) {}

  Known of(StringId name, const RawEvent& event);

 private:
  // An operator and the text of its arguments, owned or not.
  template <typename Text>
  struct Call {
    StringId name;
    Text arguments;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const auto& call) const {
      const std::string_view text(call.arguments);
      return std::hash<std::string_view>()(text) ^ static_cast<std::size_t>(call.name);
    }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const {
      return a.name == b.name && std::string_view(a.arguments) == std::string_view(b.arguments);
    }
  };

  using Calls = std::unordered_map<Call<std::string>, Known, Hash, Equal>;
  struct Name {
    KeyRule rule = nullptr;
    bool is_looked_up = false;
    const Calls::value_type* last = nullptr;  // its last call: often the next is equal
  };

  Name& look_up(StringId name, std::string_view text);

  Strings& strings_;
  std::vector<Name> names_;
  Calls known_;
};

}  // namespace foreshard::traces::kineto
