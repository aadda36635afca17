#include "models/lowering/operators/pytorch/compiled_linear.hpp"

namespace foreshard::lowering {

namespace {

constexpr std::string_view kLargest = "triton_red_fused_abs_max";
constexpr std::string_view kCast = "triton_poi_fused__to_copy_clamp_mul_reciprocal";
constexpr std::string_view kCastOfRows = "triton_red_fused__to_copy_abs_amax_clamp_mul_reciprocal";
constexpr std::string_view kTransposed = "triton_poi_fused__to_copy_clamp_clone_mul_reciprocal_t";

}  // namespace

CompiledLinear::CompiledLinear(EagerWriter& writer, std::vector<Slot> inputs)
    : CompiledGraph(writer, std::move(inputs)), w_(writer), scaling_(writer.plan.float8) {}

CostKey CompiledLinear::key(Operator op, CostDims dims) const {
  return is_float8() ? CostKey{op, DType::fp8, w_.type, w_.type, dims} : w_.key(op, dims);
}

void CompiledLinear::operand(std::string_view name, Slots reads, Slots writes, Slot out,
                             std::size_t products) {
  if (!is_float8()) {
    writes.push_back(out);
    return fused(name, std::move(reads), std::move(writes));
  }
  Slots source = reads;
  source.insert(source.end(), writes.begin(), writes.end());
  made_of_[out] = source;
  const Slots rows = cast_rows(out, products);
  if (is_by_row()) {
    writes.insert(writes.end(), rows.begin(), rows.end());
    return fused(name, std::move(reads), std::move(writes));
  }
  writes.push_back(w_.tensor(4));
  fused(name, std::move(reads), std::move(writes));
  fused(kCast, std::move(source), rows);
}

void CompiledLinear::derived(std::string_view name, Slots reads, Slot out) {
  if (!is_float8()) return fused(name, std::move(reads), {out});
  made_of_[out] = std::move(reads);
}

CompiledGraph::Slots CompiledLinear::made_of(Slot x) const {
  const auto found = made_of_.find(x);
  return found == made_of_.end() ? Slots{x} : found->second;
}

CompiledGraph::Slots CompiledLinear::casts(Slot x, std::size_t count) {
  Slots made;
  for (std::size_t i = 0; i < count; ++i) made.push_back(w_.tensor(w_.bytes(x) / w_.z.e));
  return made;
}

CompiledGraph::Slots CompiledLinear::cast_rows(Slot x, std::size_t products) {
  Casts& of = casts_[x];
  of.has_rows = true;
  return of.rows = casts(x, products);
}

CompiledGraph::Slots CompiledLinear::cast_columns(Slot x, std::size_t products) {
  Casts& of = casts_[x];
  of.has_columns = true;
  return of.columns = casts(x, products);
}

bool CompiledLinear::has_columns(Slot x) const {
  const auto found = casts_.find(x);
  return found != casts_.end() && found->second.has_columns;
}

void CompiledLinear::find_largest(Slots reads) {
  fused(kLargest, std::move(reads), {w_.tensor(4)});
}

// Casts that nobody made yet, in one kernel.
void CompiledLinear::narrow(Slot x, bool rows, bool columns) {
  rows = rows && !casts_[x].has_rows;
  columns = columns && !casts_[x].has_columns;
  if (!rows && !columns) return;
  const Slots source = made_of(x);
  if (columns || !is_by_row()) find_largest(source);
  Slots writes;
  if (rows) writes = cast_rows(x);
  if (columns) {
    for (const Slot slot : cast_columns(x)) writes.push_back(slot);
  }
  const std::string_view by_row = is_by_row() ? kCastOfRows : kCast;
  fused(columns ? kTransposed : by_row, source, std::move(writes));
}

// The last copy serves all products that are left.
Slot CompiledLinear::next(Slots& of) {
  const Slot first = of.front();
  if (of.size() > 1) of.erase(of.begin());
  return first;
}

// The largest numbers of a weight's rows are found where it is cast; backward casts a transposed copy, by
// columns' largest.
Slot CompiledLinear::narrowed_weight(const Linear& l, bool is_forward) {
  const ParameterRef weight{l.module, 0};
  const std::int64_t bytes = w_.of(l.out * l.in);
  const Slot cast = w_.tensor(l.out * l.in);
  if (is_forward != is_by_row()) fused(kLargest, weight, bytes, w_.tensor(4));
  const std::string_view forward = is_by_row() ? kCastOfRows : kCast;
  fused(is_forward ? forward : kTransposed, weight, bytes, cast);
  return cast;
}

void CompiledLinear::linear(const Linear& l, Slot x, Slot y) {
  const CostKey of = key(Operator::matmul, {w_.z.T, l.out, l.in, l.bias ? 1 : 0});
  if (!is_float8()) return product(y, of, x, ParameterRef{l.module, 0});
  narrow(x, true, false);
  product(y, of, next(casts_[x].rows), narrowed_weight(l, true));
}

Slot CompiledLinear::input_gradient(const Linear& l, Slot dy) {
  const Slot dx = w_.tensor(w_.of(w_.z.T * l.in));
  const CostKey of = key(Operator::matmul_input_gradient, {w_.z.T, l.in, l.out, 0});
  if (is_float8()) {
    narrow(dy, true, true);
    product(dx, of, casts_[dy].rows.front(), narrowed_weight(l, false));
  } else {
    product(dx, of, dy, ParameterRef{l.module, 0});
  }
  return dx;
}

void CompiledLinear::weight_gradient(const Linear& l, Slot dy, Slot x, Slot dw) {
  const CostKey of = key(Operator::matmul_weight_gradient, {l.out, l.in, w_.z.T});
  if (!is_float8()) return product(dw, of, dy, x);
  narrow(dy, false, true);
  narrow(x, false, true);
  product(dw, of, casts_[dy].columns.front(), next(casts_[x].columns));
  rescale(dw);
}

void CompiledLinear::rescale(Slot product) {
  if (is_by_row()) fused("triton_poi_fused__to_copy_mul_reciprocal", {product}, {product});
}

}  // namespace foreshard::lowering
