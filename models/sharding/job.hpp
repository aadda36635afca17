// A job: a question whose parts fit together, which is all that the step program of any rank depends on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/base/error.hpp"
#include "models/llama/module_tree.hpp"
#include "models/sharding/question.hpp"
#include "models/sharding/units.hpp"

namespace foreshard {

struct Job : Question {
  DeviceTraits device;  // that of the plan's operators
  ModuleTree tree;
  std::vector<Unit> units;
  std::vector<std::string> warnings;  // settings of the plan that have no effect here
};

// Checks what only holds for a number of ranks: groups that divide it, nodes. `plan_file` is used in
// messages only.
Result<Job> make_job(Question question, const std::string& plan_file);

// `machine` may be null. `own_device`: what Foreshard's operators run on, a CPU or a GPU (cuda_device.hpp).
Result<Job> make_job(const LlamaConfig& model, const Plan& plan, const std::string& plan_file,
                     int ranks, int nodes = 0, const Machine* machine = nullptr,
                     const DeviceTraits& own_device = {});

// A job of the same question but for its plan. It shares what plans do not change: the tree.
Result<Job> replan(const Job& job, const Plan& plan, const std::string& plan_file);

// Ranks that share one copy of the parameters.
int shard_group_size(const Job& job);

// Whether a decoder block's activations are computed again in backward.
bool is_checkpointed(const Job& job, std::size_t layer);

// What becomes of a unit's unsharded parameters after its forward: they stay, or every rank keeps its
// shard alone (also where it is the only rank of its shard group), or a slice for the post-forward
// group.
enum class AfterForward : std::uint8_t { keep, reshard, reshard_to_group };
AfterForward after_forward(const Job& job, UnitId unit);

// Whether backward leaves a unit as it finds it (pytorch.keep_sharded_in_backward).
bool stays_sharded_in_backward(const Job& job, UnitId unit);

}  // namespace foreshard
