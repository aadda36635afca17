// Writes a snapshot as torch.cuda.memory._dump_snapshot does: a pickle that PyTorch's memory_viz page
// and torch.cuda._memory_viz open.
#pragma once

#include <iosfwd>

#include "traces/snapshot/snapshot.hpp"

namespace foreshard::traces {

void write_snapshot(const Snapshot& snapshot, std::ostream& out);

}  // namespace foreshard::traces
