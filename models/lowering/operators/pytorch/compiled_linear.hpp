// The graph of a block whose linear layers run in the compute type or in float8, as torchao's
// Float8Linear does it under torch.compile.
//
// In float8 both factors of every product are cast first: an activation and its gradient once a graph,
// a weight at each product. Scaled by tensor, the largest number comes first (from the kernel that makes
// the activation, where that one is fused; forward's are kept), then a kernel that casts. Scaled by row,
// one kernel does both, but the factors of a weight's gradient are scaled by column and cast once more,
// read twice: a row is still in the caches when its largest number is known, a column is not.
#pragma once

#include <map>

#include "models/lowering/operators/pytorch/compiled_graph.hpp"

namespace foreshard::lowering {

class CompiledLinear : public CompiledGraph {
 public:
  CompiledLinear(EagerWriter& writer, std::vector<Slot> inputs);

  using Linear = EagerWriter::Linear;
  void linear(const Linear& l, Slot x, Slot y);
  Slot input_gradient(const Linear& l, Slot dy);
  void weight_gradient(const Linear& l, Slot dy, Slot x, Slot dw);

 private:
  bool is_float8() const { return scaling_ != Float8Scaling::none; }
  CostKey key(Operator op, std::array<std::int64_t, 5> dims) const;
  enum class Scale : std::uint8_t { to_compute, kept };
  Slot narrowed(Slot x, Scale scale, bool by_column);
  Slot narrowed_weight(const Linear& l, Scale scale);

  EagerWriter& w_;
  Float8Scaling scaling_;
  std::map<std::pair<Slot, bool>, Slot> narrowed_;
};

}  // namespace foreshard::lowering
