// Whether a recording fits into this machine's memory, estimated from its size before it is read.
#pragma once

#include <cstdint>
#include <string>

namespace foreshard::gui {

// Of the trace with what the viewer keeps beside it; of a folder, for all its files.
std::int64_t estimated_memory(const std::string& path);

}  // namespace foreshard::gui
