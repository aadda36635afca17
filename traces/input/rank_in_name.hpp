// The rank that a file's name states, as profilers and launchers name their files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace foreshard::traces {

// 3 of "iteration_10_rank3_memory.pickle", 12 of "a/rank-12.trace.json": the last "rank" that a number
// follows. The folder's name says nothing.
std::optional<std::int32_t> rank_in_name(const std::string& path);

}  // namespace foreshard::traces
