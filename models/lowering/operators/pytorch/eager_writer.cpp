#include "models/lowering/operators/pytorch/eager_writer.hpp"

#include <algorithm>

#include "models/base/assertion.hpp"
#include "models/lowering/operators/pytorch/row_sum.hpp"
#include "models/sharding/pytorch_support.hpp"
#include "models/sharding/trained_parameters.hpp"

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
      e(item_size(compute_type(job.plan))),
      layers(job.model.layers),
      is_16_bit(e == 2) {}

EagerWriter::EagerWriter(const Job& of, GradMode grad, ModuleId base)
    : job(of),
      plan(of.plan.pytorch),
      rules(pytorch_rules(of.plan.pytorch)),
      z(of),
      type(compute_type(of.plan)),
      stream_type(of.plan.precision.param),
      code(implementation_of(of.plan)),
      grad_(grad),
      base_(base) {
  if (!job.tree.trains_whole) has_gradients_ = has_gradients(job);
}

void EagerWriter::begin(Script& script, Thread thread) {
  script_ = &script;
  thread_ = thread;
  records_ = has_backward();
}

void EagerWriter::begin_unrecorded(Script& script) {
  begin(script);
  records_ = false;
}

std::int32_t EagerWriter::module(std::string_view path) {
  segment.modules.push_back(path);
  return narrow<std::int32_t>(segment.modules.size() - 1);
}

Slot EagerWriter::add(const SlotSpec& spec) {
  segment.slots.push_back(spec);
  autograd_.emplace_back();
  return narrow<Slot>(segment.slots.size() - 1);
}

Slot EagerWriter::tensor(std::int64_t bytes) {
  return add({bytes, Category::activations, Role::activation, {}});
}

Slot EagerWriter::gradient(std::int32_t module, std::int64_t elements, int parameter) {
  return add(
      {of_stream(elements), Category::unsharded_gradients, Role::gradient, {module, parameter}});
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
  for (const Slot slot : reads) {
    if (slot != kNone && requires_gradient(slot)) set_requires_gradient(out, true);
  }
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

const Module* EagerWriter::find_module(std::string_view path) const {
  const std::string& above = job.tree.modules[nth(base_)].path;
  const auto has_path = [&](const Module& module) {
    const bool is_joined = !above.empty() && !path.empty();
    return module.path.size() == above.size() + (is_joined ? 1 : 0) + path.size() &&
           module.path.ends_with(path);
  };
  const auto found =
      std::find_if(job.tree.modules.begin() + base_, job.tree.modules.end(), has_path);
  return found == job.tree.modules.end() ? nullptr : &*found;
}

bool EagerWriter::trains(const ParameterRef& parameter) const {
  if (job.tree.trains_whole) return true;
  const Module* const found = find_module(segment.modules[nth(parameter.module)]);
  FORESHARD_ASSERT(found != nullptr, "a segment names a module that the model lacks");
  return has_gradients_[nth(found->parameters[nth(parameter.index)])];
}

void EagerWriter::drop(Reads slots) {
  for (const Slot slot : slots) {
    if (slot != kNone && !is_saved(slot)) free({slot});
  }
}

void EagerWriter::release(Reads slots) {
  for (const Slot slot : slots) {
    if (is_saved(slot) && --autograd_[nth(slot)].saved == 0) free({slot});
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
  const RowSumScratch sum = row_sum_scratch(rows, width, job.device);
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

CostKey EagerWriter::product_key(const Linear& l, Operator op, CostDims dims) const {
  if (l.is_float8) return {op, DType::fp8, type, type, dims};
  return {op, l.type, l.type, l.type, dims};
}

void EagerWriter::multiply(const Linear& l, Slot out, const CostKey& key, const Factor& a,
                           const Factor& b) {
  if (!l.is_float8) return product(out, key, {a.tensor, b.tensor});
  const Slot first = narrowed(a.tensor, a.elements), second = narrowed(b.tensor, b.elements);
  product(out, key, {Operand::of(first), Operand::of(second)}, true);  // cublasLt's
  free({first, second});
}

EagerWriter::Linear EagerWriter::declare_linear(std::string_view path, std::int64_t out,
                                                std::int64_t in, bool bias, bool reads_stream) {
  if (job.plan.lora.rank == 0) return declare_plain_linear(path, out, in, bias, reads_stream);
  const Module* const base = find_module(std::string(path) + ".base_layer");
  if (base == nullptr) return declare_plain_linear(path, out, in, bias, reads_stream);
  constexpr std::string_view kBase = ".base_layer";
  const std::string_view whole = base->path;  // of the tree, which outlives the segment
  const std::string_view below = whole.substr(whole.size() - path.size() - kBase.size());
  Linear l = declare_plain_linear(below, out, in, bias, reads_stream);
  l.called = module(path);
  add_adapter(l, path);
  return l;
}

void EagerWriter::add_adapter(Linear& l, std::string_view path) {
  const std::int64_t rank = job.plan.lora.rank;
  const bool is_wide = has_wide_adapters(job.plan);
  const DType adapter = is_wide ? DType::fp32 : type;
  const std::int64_t item = item_size(adapter);
  const auto factor = [&](std::string_view name, std::int64_t out, std::int64_t in) {
    const Module* const found = find_module(std::string(path) + std::string(name));
    FORESHARD_ASSERT(found != nullptr, "an adapter lacks a factor");
    const std::string_view whole = found->path;
    Linear made = declare_plain_linear(whole.substr(whole.size() - path.size() - name.size()), out,
                                       in, false, false);
    made.type = adapter;
    return made;
  };
  l.factors = {factor(".lora_A.default", rank, l.in), factor(".lora_B.default", l.out, rank)};
  l.plain = tensor(of(z.T * l.out));
  if (is_wide) {
    l.wide_input = tensor(item * z.T * l.in);
    l.wide = tensor(item * z.T * l.out);
  }
  l.low = tensor(item * z.T * rank);
  l.product = tensor(item * z.T * l.out);
  l.scaled = tensor(item * z.T * l.out);
}

EagerWriter::Linear EagerWriter::declare_plain_linear(std::string_view path, std::int64_t out,
                                                      std::int64_t in, bool bias,
                                                      bool reads_stream) {
  const std::int32_t own = module(path);
  Linear l{.module = own, .called = own, .out = out, .in = in, .bias = bias};
  l.type = type;
  if (!autocasts()) return l;
  l.cast_weight = tensor(of(out * in));
  if (bias) l.cast_bias = tensor(of(out));
  if (reads_stream) l.cast_input = tensor(of(z.T * in));
  return l;
}

void EagerWriter::cast_parameter(Slot copy, const ParameterRef& parameter) {
  const std::int64_t size = bytes(copy);
  const DType fp32 = DType::fp32;
  allocate(copy);
  launch({Operator::memory_bound, fp32, fp32, fp32, {2 * size, size}}, "aten::_to_copy",
         {Operand::of(parameter)}, {Operand::of(copy)});
}

void EagerWriter::begin_linear(const Linear& l, Slot x, Slot y) {
  const ParameterRef weight{l.module, 0}, bias{l.module, 1};
  const bool trains_weight = trains(weight);
  set_requires_gradient(y, requires_gradient(x) || trains_weight || (l.bias && trains(bias)));
  if (l.cast_bias != kNone) cast_parameter(l.cast_bias, bias);
  if (l.cast_weight != kNone) {
    cast_parameter(l.cast_weight, weight);
    if (requires_gradient(x)) save(l.cast_weight);
  }
  if (l.cast_input != kNone) write(l.cast_input, "aten::_to_copy", {x});
  if (trains_weight) save(l.cast_input == kNone ? x : l.cast_input);
}

// lora.Linear.forward: base(x) + B(A(x)) * scaling.
void EagerWriter::linear(const Linear& l, Slot x, Slot y) {
  if (l.factors.empty()) return plain_linear(l, x, y);
  const Linear &down = l.factors[0], &up = l.factors[1];
  enter(l.module);
  plain_linear(l, x, l.plain);
  const Slot input = adapted_input(l, x);
  plain_linear(down, input, l.low);
  enter(up.module);
  plain_linear(up, l.low, l.product);
  drop({l.low});
  enter(l.called);
  write(l.scaled, "aten::mul", {l.product});
  free({l.product});
  const Slot sum = l.wide == kNone ? y : l.wide;
  write(sum, "aten::add", {l.plain, l.scaled});
  free({l.scaled, l.plain});
  if (sum == y) return;
  write(y, "aten::_to_copy", {sum});
  drop({l.wide_input});
  free({sum});
}

Slot EagerWriter::adapted_input(const Linear& l, Slot x) {
  enter(l.factors[0].module);
  if (l.wide_input == kNone) return x;
  write(l.wide_input, "aten::_to_copy", {x});
  return l.wide_input;
}

void EagerWriter::linear_until_saved(const Linear& l, Slot x, Slot y) {
  if (l.factors.empty()) return begin_linear(l, x, y);
  enter(l.module);
  plain_linear(l, x, l.plain);
  plain_linear(l.factors[0], adapted_input(l, x), l.low);
  begin_linear(l.factors[1], l.low, l.product);
  free({l.plain});
}

void EagerWriter::plain_linear(const Linear& l, Slot x, Slot y) {
  begin_linear(l, x, y);
  const Operand input = Operand::of(l.cast_input == kNone ? x : l.cast_input);
  const auto parameter = [&](Slot copy, std::int32_t index) {
    return copy == kNone ? Operand::of(ParameterRef{l.module, index}) : Operand::of(copy);
  };
  const CostKey key = product_key(l, Operator::matmul, {z.T, l.out, l.in, l.bias ? 1 : 0});
  const Operand weight = parameter(l.cast_weight, 0);
  if (l.is_float8) {
    multiply(l, y, key, {input, z.T * l.in}, {weight, l.out * l.in});
  } else {
    std::vector<Operand> reads{input, weight};
    if (l.bias) reads.push_back(parameter(l.cast_bias, 1));
    product(y, key, std::move(reads), l.bias);
  }
  end_linear(l);
}

// at::autocast::cached_cast: a parameter that trains and is a leaf is cast once in a context; FSDP1's, views
// of the flat one, and other tensors are cast at each call.
void EagerWriter::end_linear(const Linear& l) {
  drop({l.cast_input});
  for (const std::int32_t index : {0, 1}) {
    const Slot copy = index == 0 ? l.cast_weight : l.cast_bias;
    if (copy == kNone) continue;
    if (job.plan.runtime != RuntimeName::fsdp1 && trains({l.module, index})) {
      cast_.push_back(copy);
    } else {
      drop({copy});
    }
  }
}

void EagerWriter::end_autocast() {
  for (const Slot copy : cast_) drop({copy});
  cast_.clear();
}

Slot EagerWriter::linear_backward(const Linear& l, const LinearBackward& at) {
  return l.factors.empty() ? plain_linear_backward(l, at) : adapted_backward(l, at);
}

// Autograd runs what came last first: the scaling, the factors, the layer itself, which is given the same
// gradient as the scaling.
Slot EagerWriter::adapted_backward(const Linear& l, const LinearBackward& at) {
  const Linear &down = l.factors[0], &up = l.factors[1];
  const bool is_wide = l.wide != kNone, needs_plain = requires_gradient(l.plain);
  Slot dy = at.dy, d_sum = at.dy;
  bool keeps_dy = at.keeps_dy;
  enter(l.called);
  if (is_wide) {
    d_sum = make_like("aten::_to_copy", l.wide, {dy});
    if (!keeps_dy) free({dy});
    if (needs_plain) dy = make_like("aten::_to_copy", l.plain, {d_sum});
    keeps_dy = false;
  }
  const Slot d_product = make_like("aten::mul", l.scaled, {d_sum});
  if (is_wide || (!needs_plain && !keeps_dy)) free({d_sum});
  GradientSum own;
  GradientSum& sum = at.joins == nullptr ? own : *at.joins;
  if (at.recomputes) recompute();
  enter(up.module);
  const Slot d_low = plain_linear_backward(up, {d_product, l.low, at.recomputed});
  enter(down.module);
  if (is_wide) {
    const Slot wide = plain_linear_backward(down, {d_low, l.wide_input, at.recomputed});
    if (wide != kNone) {
      const Slot narrow = make("aten::_to_copy", of(z.T * l.in), {wide});
      free({wide});
      join(sum, narrow, false);
    }
  } else {
    plain_linear_backward(down, {d_low, at.x, at.recomputed, &sum});
  }
  enter(l.module);
  if (needs_plain) {
    plain_linear_backward(l, {dy, at.x, at.recomputed, &sum, keeps_dy});
  }
  return sum.slot;
}

// aten::mm's backward has the weight's gradient first, aten::addmm's the input's; autograd itself sums
// what came for the bias. Then come the nodes of the casts.
Slot EagerWriter::plain_linear_backward(const Linear& l, const LinearBackward& at) {
  const ParameterRef weight_of{l.module, 0}, bias_of{l.module, 1};
  const bool needs_dx = requires_gradient(at.x), trains_weight = trains(weight_of),
             trains_bias = l.bias && trains(bias_of);
  const Slot input = l.cast_input == kNone ? at.x : l.cast_input;
  const Operand weight =
      l.cast_weight == kNone ? Operand::of(weight_of) : Operand::of(l.cast_weight);
  // A tensor that a product writes: the gradient, or what is cast to it.
  const auto product_of = [&](Slot gradient, std::int64_t elements) {
    return autocasts() ? scratch_later(of(elements)) : gradient;
  };
  Slot dx = kNone, dw = kNone, db = kNone, dw_product = kNone, db_product = kNone;
  const auto of_input = [&] {
    if (!needs_dx) return;
    dx =
        add({item_size(l.type) * z.T * l.in, Category::temporaries, Role::activation_gradient, {}});
    multiply(l, dx, product_key(l, Operator::matmul_input_gradient, {z.T, l.in, l.out, 0}),
             {Operand::of(at.dy), z.T * l.out}, {weight, l.out * l.in});
  };
  const auto of_weight = [&] {
    if (!trains_weight) return;
    dw = gradient(l.module, l.out * l.in);
    if (l.type != type) segment.slots[nth(dw)].bytes = item_size(l.type) * l.out * l.in;
    dw_product = product_of(dw, l.out * l.in);
    multiply(l, dw_product, product_key(l, Operator::matmul_weight_gradient, {l.out, l.in, z.T}),
             {Operand::of(at.dy), z.T * l.out}, {Operand::of(input), z.T * l.in});
  };
  const Slot saved_input = trains_weight ? input : kNone,
             saved_weight = needs_dx ? l.cast_weight : kNone;
  const auto release_saved = [&](bool is_input_first) {
    if (is_input_first) {
      release({saved_input, saved_weight});
    } else {
      release({saved_weight, saved_input});
    }
  };
  if (l.bias) of_input();
  of_weight();
  if (!l.bias) of_input();
  if (at.recomputed) release_saved(!l.bias);
  if (trains_bias) {
    db = gradient(l.module, l.out, 1);
    db_product = product_of(db, l.out);
    sum_rows(db_product, at.dy, z.T, l.out);
  }
  if (!at.keeps_dy) free({at.dy});
  if (!at.recomputed) release_saved(l.bias);
  if (autocasts() && l.cast_input != kNone && dx != kNone) {
    const Slot wide = make("aten::_to_copy", of_stream(z.T * l.in), {dx});
    free({dx});
    dx = wide;
  }
  if (!autocasts()) {
    if (db != kNone) ready(db);
    if (dw != kNone) ready(dw);
    if (l.bias) accumulate();
  }
  if (l.is_unit && !autocasts()) {
    accumulate();
    leave(l.module);  // RegisterPostBackwardFunction
  }
  if (at.joins != nullptr) join(*at.joins, dx, !autocasts());
  const auto cast_back = [&](Slot product, Slot gradient) {
    if (gradient == kNone) return;
    write(gradient, "aten::_to_copy", {product});
    free({product});
    ready(gradient);
    accumulate();
  };
  if (autocasts()) {
    cast_back(dw_product, dw);
    cast_back(db_product, db);
  }
  accumulate();
  return dx;
}

void EagerWriter::join(GradientSum& sum, Slot term, bool is_view) {
  if (term == kNone) return;
  if (sum.slot == kNone) {
    sum = {term, !is_view};
    return;
  }
  if (sum.is_own) {
    update(sum.slot, "aten::add_", {term});
    free({term});
    return;
  }
  const Slot total = make_like("aten::add", sum.slot, {sum.slot, term});
  free({sum.slot, term});
  sum = {total, true};
}

}  // namespace foreshard::lowering
