#include "models/lowering/operators/pytorch/eager_writer.hpp"

#include "models/base/assertion.hpp"
#include "models/lowering/operators/pytorch/row_sum.hpp"

namespace foreshard::lowering {

EagerSizes::EagerSizes(const Job& job)
    : B(job.plan.batch.micro_batch),
      S(job.plan.batch.sequence),
      T(job.plan.tokens()),
      D(job.model.hidden),
      H(job.model.heads),
      K(job.model.kv_heads),
      d(job.model.head_dim),
      F(job.model.intermediate),
      V(job.model.vocabulary),
      e(item_size(job.plan.precision.param)),
      layers(job.model.layers),
      is_16_bit(e == 2) {}

EagerWriter::EagerWriter(const Job& of)
    : job(of),
      plan(of.plan.pytorch),
      rules(pytorch_rules(of.plan.pytorch)),
      z(of),
      type(of.plan.precision.param),
      is_transformers(of.plan.pytorch.implementation == Implementation::transformers) {}

void EagerWriter::begin(Script& script, Thread thread) {
  script_ = &script;
  thread_ = thread;
}

std::int32_t EagerWriter::module(std::string_view path) {
  segment.modules.push_back(path);
  return narrow<std::int32_t>(segment.modules.size() - 1);
}

Slot EagerWriter::add(const SlotSpec& spec) {
  segment.slots.push_back(spec);
  return narrow<Slot>(segment.slots.size() - 1);
}

Slot EagerWriter::tensor(std::int64_t bytes) {
  return add({bytes, Category::activations, Role::activation, {}});
}

Slot EagerWriter::gradient(std::int32_t module, std::int64_t elements, int parameter) {
  return add({of(elements), Category::unsharded_gradients, Role::gradient, {module, parameter}});
}

void EagerWriter::launch(const CostKey& key, std::string_view op, const std::vector<Operand>& reads,
                         const std::vector<Operand>& writes) {
  script_->launch(key, reads, writes, op);
}

void EagerWriter::launch_memory_bound(std::string_view op, Reads reads, Slot write) {
  std::vector<Operand> operands;
  std::int64_t read = 0;
  for (const Slot slot : reads) {
    if (slot == kNone) continue;
    operands.push_back(Operand::of(slot));
    read += bytes(slot);
  }
  const DType fp32 = DType::fp32;
  launch({Operator::memory_bound, fp32, fp32, fp32, {read, bytes(write)}}, op, std::move(operands),
         {Operand::of(write)});
}

void EagerWriter::write(Slot out, std::string_view op, Reads reads) {
  allocate(out);
  launch_memory_bound(op, reads, out);
}

Slot EagerWriter::make(std::string_view op, std::int64_t bytes, Reads reads) {
  const Slot out = add({bytes, Category::temporaries, Role::activation, {}});
  write(out, op, reads);
  return out;
}

void EagerWriter::update(Slot target, std::string_view op, Reads reads) {
  launch_memory_bound(op, reads, target);
}

Slot EagerWriter::scratch(std::int64_t bytes) {
  const Slot out = scratch_later(bytes);
  allocate(out);
  return out;
}

Slot EagerWriter::scratch_later(std::int64_t bytes) {
  return add({bytes, Category::temporaries, Role::scratch, {}});
}

void EagerWriter::free(Reads slots) {
  for (const Slot slot : slots) {
    if (slot != kNone) script_->add(Action::Kind::free, slot);
  }
}

void EagerWriter::product(Slot out, const CostKey& key, std::vector<Operand> reads,
                          bool adds_bias) {
  allocate(out);
  product_into(out, key, std::move(reads), adds_bias);
}

void EagerWriter::product_into(Slot out, const CostKey& key, std::vector<Operand> reads,
                               bool adds_bias) {
  if (rules.workspace_per_product) {
    const Slot own = scratch(adds_bias ? kBiasWorkspaceBytes : job.device.matmul_workspace.count);
    launch(key, {}, std::move(reads), {Operand::of(out), Operand::of(own)});
    return free({own});
  }
  const bool is_main = thread_ == Thread::main;
  const Shared plain = is_main ? Shared::workspace : Shared::autograd_workspace,
               of_bias = is_main ? Shared::bias_workspace : Shared::autograd_bias_workspace;
  const Shared shared = adds_bias ? of_bias : plain;
  script_->add(Action::Kind::workspace, kNone, shared);
  launch(key, {}, std::move(reads), {Operand::of(out), Operand::of(shared)});
}

void EagerWriter::sum_rows(Slot out, Slot of, std::int64_t rows, std::int64_t width) {
  const RowSumScratch sum = row_sum_scratch(rows, width, job.device.multiprocessors);
  allocate(out);
  if (sum.partial == 0) return update(out, "aten::sum", {of});
  const Slot partial = scratch(sum.partial), semaphores = scratch(sum.semaphores);
  update(out, "aten::sum", {of});
  free({semaphores, partial});
}

Slot EagerWriter::narrowed(const Operand& of, std::int64_t elements) {
  const DType fp32 = DType::fp32;
  const auto step = [&](std::string_view op, std::int64_t bytes, std::int64_t read, Operand from) {
    const Slot out = scratch(bytes);
    launch({Operator::memory_bound, fp32, fp32, fp32, {read, bytes}}, op, {from},
           {Operand::of(out)});
    return out;
  };
  const Slot magnitudes = step("aten::abs", this->of(elements), this->of(elements), of);
  const Slot largest = step("aten::max", 4, this->of(elements), Operand::of(magnitudes));
  free({magnitudes});
  const Slot wide = step("aten::_to_copy", 4 * elements, this->of(elements), of);
  const Slot scaled = step("aten::mul", 4 * elements, 4 * elements, Operand::of(wide));
  free({wide});
  const Slot clamped = step("aten::clamp", 4 * elements, 4 * elements, Operand::of(scaled));
  free({scaled});
  const Slot narrow = step("aten::_to_copy", elements, 4 * elements, Operand::of(clamped));
  free({clamped, largest});
  return narrow;
}

CostKey EagerWriter::product_key(const Linear& l, Operator op,
                                 std::array<std::int64_t, 5> dims) const {
  return l.is_float8 ? CostKey{op, DType::fp8, type, type, dims} : key(op, dims);
}

void EagerWriter::multiply(const Linear& l, Slot out, const CostKey& key, const Factor& a,
                           const Factor& b) {
  if (!l.is_float8) return product(out, key, {a.tensor, b.tensor});
  const Slot first = narrowed(a.tensor, a.elements), second = narrowed(b.tensor, b.elements);
  product(out, key, {Operand::of(first), Operand::of(second)}, true);  // cublasLt's
  free({first, second});
}

void EagerWriter::linear(const Linear& l, Slot x, Slot y) {
  if (l.is_float8) {
    return multiply(l, y, product_key(l, Operator::matmul, {z.T, l.out, l.in, l.bias ? 1 : 0}),
                    {Operand::of(x), z.T * l.in},
                    {Operand::of(ParameterRef{l.module, 0}), l.out * l.in});
  }
  std::vector<Operand> reads = {Operand::of(x), Operand::of(ParameterRef{l.module, 0})};
  if (l.bias) reads.push_back(Operand::of(ParameterRef{l.module, 1}));
  product(y, key(Operator::matmul, {z.T, l.out, l.in, l.bias ? 1 : 0}), std::move(reads), l.bias);
}

// aten::mm's backward has the weight's gradient first, aten::addmm's the input's; autograd itself sums
// what came for the bias.
Slot EagerWriter::linear_backward(const Linear& l, Slot dy, Slot x, Slot saved) {
  const Slot dx = add({of(z.T * l.in), Category::temporaries, Role::activation_gradient, {}});
  const Slot dw = gradient(l.module, l.out * l.in);
  const auto of_input = [&] {
    multiply(l, dx, product_key(l, Operator::matmul_input_gradient, {z.T, l.in, l.out, 0}),
             {Operand::of(dy), z.T * l.out},
             {Operand::of(ParameterRef{l.module, 0}), l.out * l.in});
  };
  if (l.bias) of_input();
  multiply(l, dw, product_key(l, Operator::matmul_weight_gradient, {l.out, l.in, z.T}),
           {Operand::of(dy), z.T * l.out}, {Operand::of(x), z.T * l.in});
  if (!l.bias) {
    ready(dw);
    of_input();
    free({saved});
    return dx;
  }
  free({saved});
  const Slot db = gradient(l.module, l.out, 1);
  sum_rows(db, dy, z.T, l.out);
  ready(db);
  ready(dw);
  return dx;
}

}  // namespace foreshard::lowering
