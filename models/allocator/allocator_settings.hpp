// Parser of allocator settings in the syntax of PYTORCH_CUDA_ALLOC_CONF, with all keys of PyTorch 2.11.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/allocator/allocator_rules.hpp"
#include "models/base/error.hpp"

namespace foreshard {

// Settings that are valid and change nothing here, as they were given.
struct IdleSettings {
  std::vector<std::string> without_effect;  // on device memory: of host memory, locks and graphs
  std::vector<std::string> not_simulated;   // they have one
};

// "expandable_segments=true,max_split_size_mb=128,roundup_power2_divisions=[256:1,>:4]": changes the
// named settings of `rules`. ':' may stand for '=', as PyTorch writes it; spaces are
// skipped. Errors name `flag`.
Result<AllocatorRules> parse_allocator_settings(std::string_view text, AllocatorRules rules,
                                                const std::string& flag,
                                                IdleSettings* idle = nullptr);

}  // namespace foreshard
