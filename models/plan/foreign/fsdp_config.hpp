// The sections fsdp_config and parallelism_config, which accelerate launch and transformers' Trainer read,
// each with defaults of its own, which are not always what FullyShardedDataParallelPlugin documents.
// Only for the sources of this folder.
#pragma once

#include <string>
#include <vector>

#include "models/plan/foreign/conversion.hpp"

namespace foreshard::foreign {

struct FsdpSource {
  bool is_trainer = false;                  // TrainingArguments, not accelerate launch
  std::string section = "fsdp_config.";     // "": the file is the section
  std::vector<std::string> legacy_options;  // of TrainingArguments' `fsdp` until transformers 5
};

// The version of FSDP, 1 or 2. Needs the precision to have been read.
int read_fsdp(Conversion& c, const FsdpSource& source);

// Mixed precision of Accelerate, whoever calls it: the models run under autocast, and FSDP casts besides.
enum class Mixed : std::uint8_t { no, bf16, fp16, fp8 };
void read_mixed_precision(Conversion& c, std::string_view key, Mixed mixed, bool is_ddp);

// Accelerate's loop and models, and DDP where nothing is sharded.
void imply_transformers(Conversion& c);
void read_data_parallel(Conversion& c, std::string_view key);

// Micro-steps without reduction but for the last one.
void read_accumulation(Conversion& c, std::optional<std::int64_t> fallback);

// Replicas times shards, and degrees of other parallelism.
void read_mesh(Conversion& c);

}  // namespace foreshard::foreign
