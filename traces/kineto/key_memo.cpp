#include "traces/kineto/key_memo.hpp"

#include "traces/kineto/arguments.hpp"

namespace foreshard::traces::kineto {

KeyRule KeyMemo::rule_of(StringId name, std::string_view text) {
  const auto index = static_cast<std::size_t>(name);
  if (index >= rules_.size()) {
    rules_.resize(2 * index + 1, nullptr);
    is_looked_up_.resize(rules_.size(), false);
  }
  if (!is_looked_up_[index]) {
    is_looked_up_[index] = true;
    rules_[index] = key_rule(text);
  }
  return rules_[index];
}

KeyMemo::Known KeyMemo::of(StringId name, const RawEvent& event) {
  const KeyRule rule = rule_of(name, event.name);
  if (rule == nullptr) return {};
  constexpr std::size_t kMostKnown = 1 << 16;  // more of them are damage, or all different
  constexpr std::size_t kLongest = 1 << 12;
  arguments_.assign(event.name);
  for (const std::string_view part :
       {event.input_dims, event.input_types, event.input_strides, event.concrete_inputs}) {
    arguments_ += part;
  }
  if (const auto found = known_.find(arguments_); found != known_.end()) return found->second;
  Known out;
  if (const auto key = rule(Arguments(event))) {
    out.key = strings_.intern(text(key->key));
    if (key->in_backward != key->key.op) out.in_backward = key->in_backward;
  }
  if (known_.size() < kMostKnown && arguments_.size() < kLongest) known_.emplace(arguments_, out);
  return out;
}

}  // namespace foreshard::traces::kineto
