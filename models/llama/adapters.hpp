// Low-rank adapters in a model's module tree, as PEFT puts them there: a linear layer becomes a module that
// holds it as `base_layer`, beside the two factors of what is added to its output, `lora_A.default` and
// `lora_B.default`. Nothing but the factors trains.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "models/llama/module_tree.hpp"

namespace foreshard {

// `targets`: last components of the names of the linear layers that take an adapter.
ModuleTree with_adapters(const ModuleTree& tree, std::span<const std::string> targets,
                         std::int64_t rank);

}  // namespace foreshard
