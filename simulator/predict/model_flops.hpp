// Floating-point operations that training a model needs, as model FLOPs utilisation (MFU) counts
// them: those of the model, whatever the program does a second time.
#pragma once

#include <cstdint>

#include "models/llama/llama_config.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::simulator {

// For one token of a sequence of `sequence`: 6 N + 12 L H Q T, where N are the parameters that
// products take (all but the embedding table, which is looked up), L layers, H heads of Q elements,
// T the sequence; forward and backward, a multiplication and an addition being two. Attention counts
// the whole square of scores: the causal mask is not deducted, nor is recomputation added. The
// convention of PaLM (Chowdhery et al. 2022, appendix B) as torchtitan counts it.
double model_flops_per_token(const LlamaConfig& model, std::int64_t sequence);

// The same of a job: without the gradients of what is frozen, nor those below all that trains.
double model_flops_per_token(const Job& job);

}  // namespace foreshard::simulator
