// Parser of allocator settings in the syntax of PYTORCH_CUDA_ALLOC_CONF.
#pragma once

#include <string>
#include <string_view>

#include "models/allocator/allocator_rules.hpp"
#include "models/base/error.hpp"

namespace foreshard::traces {

// "expandable_segments=true,max_split_size_mb=128,roundup_power2_divisions=[256:1,>:4]": changes the
// named settings of `rules`. ':' may stand for '=', as PyTorch writes it. Errors name `flag`.
Result<AllocatorRules> parse_allocator_settings(std::string_view text, AllocatorRules rules,
                                                const std::string& flag);

}  // namespace foreshard::traces
