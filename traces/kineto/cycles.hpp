// Joins the recordings of one process. A profiler with a schedule of several cycles, or one for each
// epoch, writes a file for each; they are parts of what one rank did.
#pragma once

#include <vector>

#include "traces/kineto/recording.hpp"

namespace foreshard::traces::kineto {

// Recordings of one process on one host which do not overlap, and which go on where the last one's steps
// ended or begin soon after it. Each becomes part of the first; the order of the others stays.
void join_cycles(std::vector<Recording>& recordings);

}  // namespace foreshard::traces::kineto
