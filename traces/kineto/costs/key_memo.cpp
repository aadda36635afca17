#include "traces/kineto/costs/key_memo.hpp"

#include <algorithm>

#include "traces/kineto/costs/arguments.hpp"

namespace foreshard::traces::kineto {
namespace {

// Everything from the first of its arguments' lists to the end of the last: the profiler writes them
// one after the other.
std::string_view arguments_of(const RawEvent& event) {
  const char* begin = event.input_dims.data();
  const char* end = begin + event.input_dims.size();
  for (const std::string_view part :
       {event.input_types, event.input_strides, event.concrete_inputs}) {
    if (part.empty()) continue;
    begin = std::min(begin, part.data());
    end = std::max(end, part.data() + part.size());
  }
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

KeyMemo::Name& KeyMemo::look_up(StringId name, std::string_view text) {
  const auto index = static_cast<std::size_t>(name);
  if (index >= names_.size()) names_.resize(2 * index + 1);
  Name& out = names_[index];
  if (!out.is_looked_up) {
    out.is_looked_up = true;
    out.rule = key_rule(text);
  }
  return out;
}

KeyMemo::Known KeyMemo::of(StringId name, const RawEvent& event) {
  Name& known = look_up(name, event.name);
  if (known.rule == nullptr) return {};
  const Call<std::string_view> call{name, arguments_of(event)};
  if (known.last != nullptr && known.last->first.arguments == call.arguments) {
    return known.last->second;
  }
  if (const auto found = known_.find(call); found != known_.end()) {
    known.last = &*found;
    return found->second;
  }
  Known out;
  if (const auto key = known.rule(Arguments(event))) {
    out.key = strings_.intern(text(key->key));
    if (key->in_backward != Operator::kCount && key->in_backward != key->key.op) {
      out.in_backward = strings_.intern(text(in_backward(key->key, key->in_backward)));
    }
  }
  constexpr std::size_t kMaxKnown = 1 << 16;  // more of them are damage, or all different
  constexpr std::size_t kLongest = 1 << 12;
  if (known_.size() < kMaxKnown && call.arguments.size() < kLongest) {
    known_.emplace(Call<std::string>{name, std::string(call.arguments)}, out);
  }
  return out;
}

}  // namespace foreshard::traces::kineto
