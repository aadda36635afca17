// The operator set `foreshard`. Sizes: T tokens of a micro-batch, D hidden, H and K heads of size d,
// F feed-forward, V vocabulary; e bytes an element of the compute type.
#include "models/lowering/operators/foreshard.hpp"

#include <algorithm>

#include "models/base/assertion.hpp"
#include "models/lowering/operators/operator_table.hpp"

namespace foreshard::lowering {
namespace {

// Writes a segment's table; every method adds one operator.
class TableBuilder {
 public:
  explicit TableBuilder(const Job& job)
      : dtype_(job.plan.precision.param), tokens_(job.plan.tokens()), device_(job.device) {}

  Slot slot(std::int64_t elements) {
    return add({elements * item_size(dtype_), Category::activations, Role::activation, {}});
  }
  Slot statistic(std::int64_t elements) {
    return add({elements * 4, Category::activations, Role::activation, {}});
  }
  Slot gradient(std::int64_t elements) {
    return add(
        {elements * item_size(dtype_), Category::temporaries, Role::activation_gradient, {}});
  }
  std::int32_t module(std::string_view path) {
    table.modules.push_back(path);
    return narrow<std::int32_t>(table.modules.size() - 1);
  }

  void forward(std::int32_t module, const CostKey& key, std::vector<Operand> reads,
               std::vector<Operand> writes) {
    table.forward.push_back({key, module, std::move(reads), std::move(writes)});
  }
  void backward(std::int32_t module, const CostKey& key, std::vector<Operand> reads,
                std::vector<Operand> writes) {
    table.backward.push_back({key, module, std::move(reads), std::move(writes)});
  }

  static Operand weight(std::int32_t module) { return Operand::of(ParameterRef{module, 0}); }
  Operand weight_gradient(std::int32_t module, std::int64_t elements) {
    return parameter_gradient({module, 0}, elements);
  }
  Operand scratch(const CostKey& key) {
    return Operand::of(
        add({scratch_bytes(key, device_).count, Category::temporaries, Role::scratch, {}}));
  }

  struct Linear {
    std::int32_t module;
    std::int64_t out, in;
    bool bias;
  };
  void linear(const Linear& l, Slot x, Slot y) {
    std::vector<Operand> reads = {Operand::of(x), weight(l.module)};
    if (l.bias) reads.push_back(Operand::of(ParameterRef{l.module, 1}));
    forward(l.module, key(Operator::matmul, {tokens_, l.out, l.in, l.bias ? 1 : 0}),
            std::move(reads), {Operand::of(y), Operand::of(Shared::workspace)});
  }
  // Input gradient first, then the weight's and the bias's.
  void linear_backward(const Linear& l, Slot dy, Slot x, Slot dx, bool accumulate) {
    backward(
        l.module, key(Operator::matmul_input_gradient, {tokens_, l.in, l.out, accumulate ? 1 : 0}),
        {Operand::of(dy), weight(l.module)}, {Operand::of(dx), Operand::of(Shared::workspace)});
    backward(l.module, key(Operator::matmul_weight_gradient, {l.out, l.in, tokens_}),
             {Operand::of(dy), Operand::of(x)},
             {weight_gradient(l.module, l.out * l.in), Operand::of(Shared::workspace)});
    if (l.bias) {
      backward(l.module, key(Operator::bias_gradient, {tokens_, l.out}), {Operand::of(dy)},
               {parameter_gradient({l.module, 1}, l.out)});
    }
  }
  void norm(std::int32_t module, std::int64_t hidden, Slot x, Slot y, Slot rstd) {
    forward(module, key(Operator::rms_norm, {tokens_, hidden}), {Operand::of(x), weight(module)},
            {Operand::of(y), Operand::of(rstd)});
  }
  void norm_backward(std::int32_t module, std::int64_t hidden, Slot dy, Slot x, Slot rstd, Slot dx,
                     bool accumulate) {
    const CostKey norm = key(Operator::rms_norm_backward, {tokens_, hidden, accumulate ? 1 : 0});
    backward(module, norm, {Operand::of(dy), Operand::of(x), weight(module), Operand::of(rstd)},
             {Operand::of(dx), weight_gradient(module, hidden), scratch(norm)});
  }

  CostKey key(Operator op, CostDims dims) const { return {op, dtype_, dtype_, dtype_, dims}; }

  OperatorTable table;

 private:
  Operand parameter_gradient(ParameterRef parameter, std::int64_t elements) {
    return Operand::of(add(
        {elements * item_size(dtype_), Category::unsharded_gradients, Role::gradient, parameter}));
  }
  Slot add(const SlotSpec& spec) {
    table.slots.push_back(spec);
    return narrow<Slot>(table.slots.size() - 1);
  }

  DType dtype_;
  std::int64_t tokens_;
  const DeviceTraits& device_;
};

// Slots that a checkpointed block keeps, if a rule of the plan names them.
struct Checkpointable {
  std::vector<Slot> attention_outputs, matmul_outputs, second_matmul_outputs;

  // Nothing where no block is checkpointed.
  std::optional<std::vector<Slot>> kept(const CheckpointPlan& plan) const {
    if (plan.mode == CheckpointMode::none) return {};
    std::vector<Slot> out;
    if (plan.mode != CheckpointMode::selective) return out;
    const auto add = [&out](const std::vector<Slot>& slots) {
      for (const Slot slot : slots) out.push_back(slot);
    };
    if (plan.save_attention) add(attention_outputs);
    if (plan.save_matmul) add(matmul_outputs);
    if (plan.save_every_second_matmul) add(second_matmul_outputs);
    return out;
  }
};

Segment block(const Job& job, std::int64_t window) {
  const LlamaConfig& c = job.model;
  const Plan& plan = job.plan;
  const std::int64_t T = plan.tokens(), D = c.hidden, F = c.intermediate;
  const std::int64_t query = c.heads * c.head_dim, key_value = c.kv_heads * c.head_dim;
  const CostDims heads = {
      plan.batch.micro_batch, plan.batch.sequence, c.heads, c.kv_heads, c.head_dim, window};
  TableBuilder b(job);
  const auto norm1 = b.module("input_layernorm"), attention = b.module("self_attn"),
             q_proj = b.module("self_attn.q_proj"), k_proj = b.module("self_attn.k_proj"),
             v_proj = b.module("self_attn.v_proj"), o_proj = b.module("self_attn.o_proj"),
             block = b.module(""), norm2 = b.module("post_attention_layernorm"),
             mlp = b.module("mlp"), gate_proj = b.module("mlp.gate_proj"),
             up_proj = b.module("mlp.up_proj"), down_proj = b.module("mlp.down_proj");
  using Linear = TableBuilder::Linear;
  const Linear to_q{q_proj, query, D, c.attention_bias},
      to_k{k_proj, key_value, D, c.attention_bias}, to_v{v_proj, key_value, D, c.attention_bias},
      to_o{o_proj, D, query, c.output_bias}, to_gate{gate_proj, F, D, c.mlp_bias},
      to_up{up_proj, F, D, c.mlp_bias}, to_down{down_proj, D, F, c.mlp_bias};

  const Slot x = b.slot(T * D);
  const Slot n1 = b.slot(T * D), rstd1 = b.statistic(T);
  const Slot q = b.slot(T * query), k = b.slot(T * key_value), v = b.slot(T * key_value);
  const Slot attended = b.slot(T * query), lse = b.statistic(T * c.heads);
  const Slot h = b.slot(T * D);  // residual stream after attention
  const Slot n2 = b.slot(T * D), rstd2 = b.statistic(T);
  const Slot gate = b.slot(T * F), up = b.slot(T * F), product = b.slot(T * F);
  const Slot y = b.slot(T * D);
  const CostKey residual_add = b.key(Operator::add, {T * D});
  // In place, so each tensor has its own: where one is kept and the other computed again, only the
  // other may turn again.
  const auto rotation = [&](Operator op, std::int64_t count) {
    return b.key(op, {plan.batch.micro_batch, plan.batch.sequence, count, c.head_dim});
  };

  b.norm(norm1, D, x, n1, rstd1);
  b.linear(to_q, n1, q);
  b.linear(to_k, n1, k);
  b.linear(to_v, n1, v);
  b.forward(attention, rotation(Operator::rope, c.heads), {Operand::of(Shared::rope_table)},
            {Operand::of(q)});
  b.forward(attention, rotation(Operator::rope, c.kv_heads), {Operand::of(Shared::rope_table)},
            {Operand::of(k)});
  b.forward(attention, b.key(Operator::attention, heads),
            {Operand::of(q), Operand::of(k), Operand::of(v)},
            {Operand::of(attended), Operand::of(lse)});
  b.linear(to_o, attended, h);
  b.forward(block, residual_add, {Operand::of(x)}, {Operand::of(h)});
  b.norm(norm2, D, h, n2, rstd2);
  b.linear(to_gate, n2, gate);
  b.linear(to_up, n2, up);
  b.forward(mlp, b.key(Operator::swiglu, {T, F}), {Operand::of(gate), Operand::of(up)},
            {Operand::of(product)});
  b.linear(to_down, product, y);
  b.forward(block, residual_add, {Operand::of(h)}, {Operand::of(y)});

  const Slot residual = b.gradient(T * D);  // of y, in the end of x
  const Slot dproduct = b.gradient(T * F), dn2 = b.gradient(T * D);
  const Slot dattended = b.gradient(T * query), dq = b.gradient(T * query),
             dk = b.gradient(T * key_value), dv = b.gradient(T * key_value),
             dn1 = b.gradient(T * D);
  b.linear_backward(to_down, residual, product, dproduct, false);
  b.backward(mlp, b.key(Operator::swiglu_backward, {T, F}), {Operand::of(dproduct)},
             {Operand::of(gate), Operand::of(up)});
  b.linear_backward(to_up, up, n2, dn2, false);
  b.linear_backward(to_gate, gate, n2, dn2, true);
  b.norm_backward(norm2, D, dn2, h, rstd2, residual, true);
  b.linear_backward(to_o, residual, attended, dattended, false);
  const CostKey attention_backward = b.key(Operator::attention_backward, heads);
  b.backward(attention, attention_backward,
             {Operand::of(dattended), Operand::of(q), Operand::of(k), Operand::of(v),
              Operand::of(attended), Operand::of(lse)},
             {Operand::of(dq), Operand::of(dk), Operand::of(dv), b.scratch(attention_backward)});
  b.backward(attention, rotation(Operator::rope_backward, c.heads),
             {Operand::of(Shared::rope_table)}, {Operand::of(dq)});
  b.backward(attention, rotation(Operator::rope_backward, c.kv_heads),
             {Operand::of(Shared::rope_table)}, {Operand::of(dk)});
  b.linear_backward(to_v, dv, n1, dn1, false);
  b.linear_backward(to_k, dk, n1, dn1, true);
  b.linear_backward(to_q, dq, n1, dn1, true);
  b.norm_backward(norm1, D, dn1, x, rstd1, residual, true);

  b.table.input = x;
  b.table.output = y;
  b.table.gradient = residual;
  // Matrix products in order: q, k, v, o, gate, up, down; the 2nd, 4th and 6th are computed again.
  const Checkpointable rules{{attended, lse}, {q, k, v, h, gate, up}, {q, v, gate}};
  return compile(b.table, rules.kept(plan.checkpointing));
}

Segment embedding(const Job& job) {
  const LlamaConfig& c = job.model;
  const std::int64_t T = job.plan.tokens(), D = c.hidden, V = c.vocabulary;
  TableBuilder b(job);
  const auto embed = b.module("model.embed_tokens");
  const Slot x = b.slot(T * D), dx = b.gradient(T * D);
  b.forward(embed, b.key(Operator::embedding, {T, V, D}),
            {TableBuilder::weight(embed), Operand::of(Shared::tokens)}, {Operand::of(x)});
  // A tied weight has the head's gradient already, to which this one is added.
  const CostKey backward =
      b.key(Operator::embedding_backward, {T, V, D, c.tied_embeddings ? 1 : 0});
  const Operand gradient =
      c.tied_embeddings ? Operand::gradient_of({embed, 0}) : b.weight_gradient(embed, V * D);
  b.backward(embed, backward, {Operand::of(dx), Operand::of(Shared::tokens)},
             {gradient, b.scratch(backward)});
  b.table.output = x;
  b.table.gradient = dx;
  return compile(b.table);
}

Segment head(const Job& job) {
  const std::int64_t T = job.plan.tokens(), D = job.model.hidden, V = job.model.vocabulary;
  TableBuilder b(job);
  const auto norm = b.module("model.norm"), head = b.module("lm_head");
  const TableBuilder::Linear to_logits{head, V, D, false};
  const Slot hidden = b.slot(T * D), normed = b.slot(T * D), rstd = b.statistic(T);
  const Slot logits = b.slot(T * V);
  b.table.slots[static_cast<std::size_t>(logits)].role = Role::logits;
  const Slot residual = b.gradient(T * D), dnormed = b.gradient(T * D);
  b.norm(norm, D, hidden, normed, rstd);
  b.linear(to_logits, normed, logits);
  b.linear_backward(to_logits, logits, normed, dnormed, false);
  b.norm_backward(norm, D, dnormed, hidden, rstd, residual, false);
  b.table.input = hidden;
  b.table.output = logits;
  b.table.gradient = residual;
  return compile(b.table);
}

// The gradient of the scores takes their place.
Segment loss(const Job& job) {
  const std::int64_t T = job.plan.tokens(), V = job.model.vocabulary;
  TableBuilder b(job);
  const auto root = b.module("");
  const Slot scores = b.slot(T * V), lse = b.statistic(T);
  const Operand targets = Operand::of(Shared::targets);
  const CostDims dims = {T, V, job.plan.batch.accumulation};
  b.forward(root, b.key(Operator::cross_entropy, dims), {Operand::of(scores), targets},
            {Operand::of(lse), Operand::of(Shared::loss)});
  b.backward(root, b.key(Operator::cross_entropy_backward, dims), {targets, Operand::of(lse)},
             {Operand::of(scores)});
  b.table.input = scores;
  return compile(b.table);
}

}  // namespace

OperatorSet foreshard_operators(const Job& job) {
  OperatorSet set{embedding(job), {}, {}, head(job), loss(job)};
  std::vector<std::int64_t> windows;  // of the blocks that differ
  for (std::int64_t layer = 0; layer < job.model.layers; ++layer) {
    const std::int64_t window = job.model.window(layer, job.plan.batch.sequence);
    const auto found = std::ranges::find(windows, window);
    set.block_kind.push_back(narrow<std::int32_t>(found - windows.begin()));
    if (found != windows.end()) continue;
    windows.push_back(window);
    set.blocks.push_back(block(job, window));
  }
  return set;
}

}  // namespace foreshard::lowering
