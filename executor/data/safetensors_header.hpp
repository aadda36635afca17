// The JSON header of a safetensors file, checked against the bytes that follow it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "executor/data/safetensors.hpp"

namespace foreshard::executor {

// `header` is the JSON alone, `data` everything after it.
Result<SafetensorsContents> parse_safetensors_header(std::string_view header,
                                                     std::span<const std::byte> data,
                                                     const std::string& file);

}  // namespace foreshard::executor
