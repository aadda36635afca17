// The graph of a block whose linear layers run in the compute type or in float8, as torchao's
// Float8Linear does it under torch.compile: what Inductor makes of it in PyTorch 2.11 with torchao 0.17.
//
// In float8 both factors of every product are cast first, and each product has its own: of what
// Float8Linear is given a block's graph stores casts alone, in rows for the products in which it is the
// left factor, in columns (a transposed copy) for the gradient of a weight, and reads again what makes it
// (a norm's input, both factors of SwiGLU) for each. The largest numbers come first, in a kernel of their own
// where the cast cannot know them: of a tensor (tensorwise), of a column (rowwise). Those of a row are
// found in the kernel that casts; those of weights by tensor are forward's. Backward's products by row
// are scaled afterwards, as cuBLAS does not: by the kernel that reads an input's gradient, by one more that
// updates a weight's.
#pragma once

#include <map>

#include "models/lowering/operators/pytorch/compiled_graph.hpp"

namespace foreshard::lowering {

class CompiledLinear : public CompiledGraph {
 public:
  CompiledLinear(EagerWriter& writer, std::vector<Slot> inputs);

  bool is_float8() const { return scaling_ != Float8Scaling::none; }
  bool is_by_row() const { return scaling_ == Float8Scaling::rowwise; }

  // A kernel that makes `out`, which `products` products read, and `writes` beside it. In float8 nothing
  // stores it: the kernel casts it by row, and the largest number of a tensor takes one more.
  void operand(std::string_view name, Slots reads, Slots writes, Slot out,
               std::size_t products = 1);
  // A kernel that makes `out`, a gradient or an operand of backward's; in float8 those that cast it do.
  void derived(std::string_view name, Slots reads, Slot out);
  // Casts of a tensor that a kernel of the caller's writes; those of columns by their largest numbers, which
  // a kernel found before.
  Slots cast_rows(Slot x, std::size_t products = 1);
  Slots cast_columns(Slot x, std::size_t products = 1);
  bool has_columns(Slot x) const;
  void find_largest(Slots reads);

  using Linear = EagerWriter::Linear;
  void linear(const Linear& l, Slot x, Slot y);
  Slot input_gradient(const Linear& l, Slot dy);
  void weight_gradient(const Linear& l, Slot dy, Slot x, Slot dw);
  // Multiplies by the scales of both factors what no fused kernel reads next.
  void rescale(Slot product);

 private:
  CostKey key(Operator op, CostDims dims) const;
  struct Casts {
    Slots rows, columns;
    bool has_rows = false, has_columns = false;
  };
  Slots casts(Slot x, std::size_t count);
  Slots made_of(Slot x) const;
  void narrow(Slot x, bool rows, bool columns);
  Slot narrowed_weight(const Linear& l, bool is_forward);
  static Slot next(Slots& of);

  EagerWriter& w_;
  Float8Scaling scaling_;
  std::map<Slot, Casts> casts_;
  std::map<Slot, Slots> made_of_;
};

}  // namespace foreshard::lowering
