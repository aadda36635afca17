// Units of models that FSDP does not wrap, or whose recording has none of its ranges: the blocks of the model, by
// the calls of modules that PyTorch's profiler records with_stack or with_modules, "nn.Module: LlamaDecoderLayer_3".
//
// A block is a module beside which its parent has others of its class: the layers of a transformer, not its
// embedding. What a block contains belongs to it, however often it is repeated there.
#pragma once

#include <cstddef>
#include <span>
#include <unordered_map>

#include "traces/meaning/imported_events.hpp"

namespace foreshard::traces {

// By the names of their calls, each unit's own name, "LlamaDecoderLayer_3". `threads`: lanes, sorted.
std::unordered_map<StringId, StringId> module_units(ImportedEvents& imported,
                                                    std::span<const std::size_t> threads);

}  // namespace foreshard::traces
