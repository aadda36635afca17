// Reads a source in a thread of its own, a few blocks ahead of whoever takes its bytes.
#pragma once

#include <memory>

#include "traces/input/byte_source.hpp"

namespace foreshard::traces {

std::unique_ptr<ByteSource> read_ahead(std::unique_ptr<ByteSource> from);

}  // namespace foreshard::traces
