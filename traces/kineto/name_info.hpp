// Meanings of the event names of one recording, each computed once.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/annotations.hpp"
#include "traces/communication.hpp"
#include "traces/device_calls.hpp"
#include "traces/kineto/costs/operator_keys.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces::kineto {

struct NameInfo {
  StringId unit = 0, phase = 0;
  Annotation::Scope scope = Annotation::Scope::none;
  std::int32_t step = -1;
  bool has_cost = false;      // an operator of the model
  bool launches = false;      // a call that launches a kernel
  bool communicates = false;  // an operator whose own kernels do
  bool is_known = false;      // looked into
};

class NameTable {
 public:
  explicit NameTable(Strings& strings) : strings_(strings) {}

  const NameInfo& operator[](StringId name) {
    const auto index = static_cast<std::size_t>(name);
    if (index >= infos_.size()) infos_.resize(strings_.size());
    if (!infos_[index].is_known) look_into(name);
    return infos_[index];
  }

 private:
  void look_into(StringId name) {
    const std::string text = strings_[name];
    const Annotation annotation = annotation_of(text);
    infos_[static_cast<std::size_t>(name)] = {strings_.intern(annotation.unit),
                                              strings_.intern(annotation.phase),
                                              annotation.scope,
                                              annotation.step.value_or(-1),
                                              key_rule(text) != nullptr,
                                              launches_kernel(text),
                                              is_communication_operator(text),
                                              true};
  }

  Strings& strings_;
  std::vector<NameInfo> infos_;
};

}  // namespace foreshard::traces::kineto
