// The sections fsdp_config and parallelism_config of an Accelerate configuration. What a missing key
// means is what `accelerate launch` makes of it, which is not always what the class
// FullyShardedDataParallelPlugin documents. Only for the sources of this folder.
#pragma once

#include "models/plan/foreign/conversion.hpp"

namespace foreshard::foreign {

// The version of FSDP, 1 or 2. Needs the precision to have been read.
int read_fsdp(Conversion& c);

// Replicas times shards, and degrees of other parallelism.
void read_mesh(Conversion& c);

}  // namespace foreshard::foreign
