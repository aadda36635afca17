// Reads a source in a thread of its own, a few blocks ahead of whoever takes its bytes.
#pragma once

#include <memory>

#include "traces/kineto/bytes.hpp"

namespace foreshard::traces::kineto {

std::unique_ptr<Bytes> read_ahead(std::unique_ptr<Bytes> from);

}  // namespace foreshard::traces::kineto
