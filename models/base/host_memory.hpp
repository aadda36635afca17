// Memory of this machine that a run could still take: what the kernel reports as available, within
// what the control groups of this process (containers, batch systems) leave it. A run that takes
// more is killed by the kernel without a message.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace foreshard {

// In bytes; nothing where the system does not report it. `root` holds proc/ and sys/ (for tests).
std::optional<std::int64_t> available_memory(const std::filesystem::path& root = "/");

}  // namespace foreshard
