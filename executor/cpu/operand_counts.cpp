#include "executor/cpu/operand_counts.hpp"

#include <stdexcept>
#include <string>

namespace foreshard::executor {
namespace {

struct Counts {
  std::int32_t reads = 0, writes = 0;
};

std::int32_t parameters_of(const RankProgram& program, const Instruction& i) {
  if (i.unit < 0 || static_cast<std::size_t>(i.unit) >= program.units.size()) return 0;
  const auto& unit = program.units[static_cast<std::size_t>(i.unit)];
  return static_cast<std::int32_t>(unit.parameters.size());
}

// As models/program/operators.hpp lists them; one of a list that depends on more than the unit.
Counts fewest_operands(const CostKey& key, std::int32_t parameters) {
  switch (key.op) {
    case Operator::embedding: return {2, 1};
    case Operator::embedding_backward: return {2, 2};
    case Operator::rms_norm: return {2, 2};
    case Operator::rms_norm_backward: return {4, 3};
    case Operator::matmul: return {key.dims[3] != 0 ? 3 : 2, 2};
    case Operator::matmul_input_gradient:
    case Operator::matmul_weight_gradient: return {2, 2};
    case Operator::bias_gradient: return {1, 1};
    case Operator::rope:
    case Operator::rope_backward: return {1, 1};
    case Operator::attention: return {3, 2};
    case Operator::attention_backward: return {6, 4};
    case Operator::swiglu: return {2, 1};
    case Operator::swiglu_backward: return {1, 2};
    case Operator::cross_entropy: return {2, 2};
    case Operator::cross_entropy_backward: return {2, 1};
    case Operator::fill_zero:
    case Operator::rope_table: return {0, 1};
    case Operator::add:
    case Operator::cast:
    case Operator::shard_cast:
    case Operator::all_gather_copy_in:
    case Operator::all_gather_copy_out:
    case Operator::copy_slice:
    case Operator::reduce_scatter_copy_in:
    case Operator::transpose:
    case Operator::gradient_norm:
    case Operator::clip_coefficient: return {1, 1};
    case Operator::adamw: return {2, 3 * parameters};
    case Operator::sgd: return {2, parameters};
    case Operator::initialize_shards: return {0, parameters};
    case Operator::restore_states: return {0, 2 * parameters};
    case Operator::export_gradients: return {1, 0};
    case Operator::load_batch: return {0, 2};
    case Operator::report: return {3, 0};
    default: return {};
  }
}

// Operators that match operands with their unit's parameters one by one.
bool exceeds_unit(const CostKey& key, const Instruction& i, std::int32_t parameters) {
  return (key.op == Operator::all_gather_copy_out && i.writes > parameters) ||
         (key.op == Operator::reduce_scatter_copy_in && i.reads > parameters) ||
         (key.op == Operator::shard_cast && i.writes > 1 && i.writes != i.reads);
}

void check(const RankProgram& program, const Program& part) {
  for (std::size_t at = 0; at < part.instructions.size(); ++at) {
    const Instruction& i = part.instructions[at];
    if (i.kind != Kind::launch && i.kind != Kind::host_compute) continue;
    const CostKey& key = program.cost_keys[static_cast<std::size_t>(i.cost_key)];
    const std::int32_t parameters = parameters_of(program, i);
    const Counts fewest = fewest_operands(key, parameters);
    if (i.reads >= fewest.reads && i.writes >= fewest.writes && !exceeds_unit(key, i, parameters)) {
      continue;
    }
    throw std::logic_error("instruction " + std::to_string(at) + ", " + text(key) + ", has " +
                           std::to_string(i.reads) + " reads and " + std::to_string(i.writes) +
                           " writes; expected " + std::to_string(fewest.reads) + " and " +
                           std::to_string(fewest.writes) + ", and at most " +
                           std::to_string(parameters) + " parameters of its unit");
  }
}

}  // namespace

void check_operands(const RankProgram& program) {
  for (const Program& part : program.programs) check(program, part);
}

}  // namespace foreshard::executor
