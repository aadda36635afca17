// Where a run's first parameters come from: a Hugging Face safetensors file (--init), or drawn
// from a seed. Every rank fills its own shards; nothing is ever gathered.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "executor/data/initial_weights.hpp"
#include "executor/data/safetensors.hpp"
#include "executor/device/worker_pool.hpp"
#include "models/base/dtype.hpp"
#include "models/base/error.hpp"
#include "models/llama/llama_config.hpp"
#include "models/llama/module_tree.hpp"
#include "models/program/step_program.hpp"

namespace foreshard::executor {

class WeightSource {
 public:
  static WeightSource drawn(const LlamaConfig& config, std::uint64_t seed);

  // Fails unless the file has every parameter of the model in its shape and nothing else (a tied
  // lm_head.weight and rotary tables, which some files carry, are passed over).
  static Result<WeightSource> from_file(const std::string& path, const LlamaConfig& config,
                                        const ModuleTree& tree);

  // Tells files apart by the first and last values of each of their tensors; nothing where weights are drawn.
  std::optional<std::uint64_t> fingerprint() const;

  // This rank's shard, `shard.local` elements and then zeros up to `shard.padded`, as fp32 or bf16.
  // `workers` share the work: each element is the same, however many they are. Safe to call from
  // several threads at once.
  void fill(const ModuleTree& tree, const ParameterShard& shard, DType storage, void* out,
            WorkerPool& workers) const;

 private:
  InitialWeights drawn_;
  std::shared_ptr<const SafetensorsReader> file_;  // none: drawn
};

}  // namespace foreshard::executor
