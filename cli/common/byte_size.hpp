// Parser of memory sizes such as 80GiB.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace foreshard::cli {

// "2GiB", "512 MiB", "80GB", "1000000": bytes. Nothing where it is none of these.
std::optional<std::int64_t> byte_size(const std::string& text);

}  // namespace foreshard::cli
