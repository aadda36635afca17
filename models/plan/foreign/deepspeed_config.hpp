// A DeepSpeed configuration, by itself or inside another tool's file. ZeRO is not FSDP: it gathers
// parameters one by one and reduces gradients in buckets of a fixed size. Each stage becomes the sharding
// that keeps the same things on every rank, and that it is an approximation is reported. Only for the
// sources of this folder.
#pragma once

#include "models/plan/foreign/conversion.hpp"

namespace foreshard::foreign {

// All of it; the stage.
std::int64_t read_deepspeed_config(Conversion& c);

// The section zero_optimization; the stage. Needs the batch to have been read: how often gradients are
// reduced depends on the accumulation.
std::int64_t read_zero(Conversion& c, std::int64_t usual_stage);

}  // namespace foreshard::foreign
