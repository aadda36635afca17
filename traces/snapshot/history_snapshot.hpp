// A labelled allocation history as the snapshot that PyTorch would have taken at its end, and a
// snapshot's history with what its stacks tell as labels.
#pragma once

#include "traces/allocator/labelled_history.hpp"
#include "traces/snapshot/snapshot.hpp"

namespace foreshard::traces {

// Frames are labels (label_frames.hpp).
Snapshot snapshot_of(const LabelledHistory& history);

// The events of a device; those that are inferred (history.hpp) have no labels. Streams are called by
// their numbers. Without annotations of FSDP the module of an event is unknown.
LabelledHistory labelled_history_of(const Snapshot& snapshot, int device);

}  // namespace foreshard::traces
