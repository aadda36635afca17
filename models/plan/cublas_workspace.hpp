// CUBLAS_WORKSPACE_CONFIG, as PyTorch reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace foreshard {

// Bytes of all buffers of ":KiB:count:KiB:count..."; 0 of an empty text, nothing of any other text.
std::optional<std::int64_t> cublas_workspace_bytes(std::string_view config);

}  // namespace foreshard
