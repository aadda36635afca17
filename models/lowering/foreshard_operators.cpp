// The operator set `foreshard`. Sizes: T tokens of a micro-batch, D hidden, H and K heads of size d,
// F feed-forward, V vocabulary; e bytes an element of the compute type.
#include "models/base/assertion.hpp"
#include "models/lowering/operator_graph.hpp"

namespace foreshard::lowering {
namespace {

using Kind = Operand::Kind;
constexpr Operand kWeight{Kind::weight, 0}, kBias{Kind::bias, 0},
    kWeightGradient{Kind::weight_gradient, 0}, kBiasGradient{Kind::bias_gradient, 0},
    kWorkspaceOperand{Kind::workspace, 0}, kScratch{Kind::scratch, 0}, kTable{Kind::rope_table, 0},
    kTokens{Kind::tokens, 0}, kTargets{Kind::targets, 0}, kLoss{Kind::loss, 0};

// Writes a segment's node lists; every method adds one operator.
class SegmentBuilder {
 public:
  SegmentBuilder(DType dtype, std::int64_t tokens) : dtype_(dtype), tokens_(tokens) {}

  Slot slot(std::int64_t elements, Category category = Category::activations) {
    return add({elements * item_size(dtype_), category, false, role_of(category)});
  }
  Slot statistic(std::int64_t elements) {
    return add({elements * 4, Category::activations, false, Role::activation});
  }
  Slot external(std::int64_t elements, Category category) {
    return add({elements * item_size(dtype_), category, true, role_of(category)});
  }
  std::int16_t module(std::string_view path) {
    segment.modules.push_back(path);
    return narrow<std::int16_t>(segment.modules.size() - 1);
  }

  void forward(std::int16_t module, CostKey key, std::vector<Operand> reads,
               std::vector<Operand> writes) {
    segment.forward.push_back({key, module, std::move(reads), std::move(writes)});
  }
  void backward(std::int16_t module, CostKey key, std::vector<Operand> reads,
                std::vector<Operand> writes) {
    segment.backward.push_back({key, module, std::move(reads), std::move(writes)});
  }

  struct Linear {
    std::int16_t module;
    std::int64_t out, in;
    bool bias;
  };
  void linear(const Linear& l, Slot x, Slot y) {
    std::vector<Operand> reads = {Operand::of(x), kWeight};
    if (l.bias) reads.push_back(kBias);
    forward(l.module, key(Operator::matmul, {tokens_, l.out, l.in, l.bias ? 1 : 0}),
            std::move(reads), {Operand::of(y), kWorkspaceOperand});
  }
  // Input gradient first, then the weight's and the bias's.
  void linear_backward(const Linear& l, Slot dy, Slot x, Slot dx, bool accumulate) {
    backward(l.module,
             key(Operator::matmul_input_gradient, {tokens_, l.in, l.out, accumulate ? 1 : 0}),
             {Operand::of(dy), kWeight}, {Operand::of(dx), kWorkspaceOperand});
    backward(l.module, key(Operator::matmul_weight_gradient, {l.out, l.in, tokens_}),
             {Operand::of(dy), Operand::of(x)}, {kWeightGradient, kWorkspaceOperand});
    if (l.bias) {
      backward(l.module, key(Operator::bias_gradient, {tokens_, l.out}), {Operand::of(dy)},
               {kBiasGradient});
    }
  }
  void norm(std::int16_t module, std::int64_t hidden, Slot x, Slot y, Slot rstd) {
    forward(module, key(Operator::rms_norm, {tokens_, hidden}), {Operand::of(x), kWeight},
            {Operand::of(y), Operand::of(rstd)});
  }
  void norm_backward(std::int16_t module, std::int64_t hidden, Slot dy, Slot x, Slot rstd, Slot dx,
                     bool accumulate) {
    backward(module, key(Operator::rms_norm_backward, {tokens_, hidden, accumulate ? 1 : 0}),
             {Operand::of(dy), Operand::of(x), kWeight, Operand::of(rstd)},
             {Operand::of(dx), kWeightGradient, kScratch});
  }

  CostKey key(Operator op, std::array<std::int64_t, 5> dims) const {
    return {op, dtype_, dtype_, dtype_, dims};
  }

  Segment segment;

 private:
  static Role role_of(Category category) {
    return category == Category::activations ? Role::activation : Role::activation_gradient;
  }
  Slot add(const SlotSpec& spec) {
    segment.slots.push_back(spec);
    return narrow<Slot>(segment.slots.size() - 1);
  }

  DType dtype_;
  std::int64_t tokens_;
};

void build_block(const LlamaConfig& c, const Plan& plan, OperatorSet& set) {
  const std::int64_t T = plan.tokens(), D = c.hidden, F = c.intermediate;
  const std::int64_t query = c.heads * c.head_dim, key_value = c.kv_heads * c.head_dim;
  const std::array<std::int64_t, 5> heads = {plan.batch.micro_batch, plan.batch.sequence, c.heads,
                                             c.kv_heads, c.head_dim};
  SegmentBuilder b(plan.precision.param, T);
  const auto norm1 = b.module("input_layernorm"), attention = b.module("self_attn"),
             q_proj = b.module("self_attn.q_proj"), k_proj = b.module("self_attn.k_proj"),
             v_proj = b.module("self_attn.v_proj"), o_proj = b.module("self_attn.o_proj"),
             block = b.module(""), norm2 = b.module("post_attention_layernorm"),
             mlp = b.module("mlp"), gate_proj = b.module("mlp.gate_proj"),
             up_proj = b.module("mlp.up_proj"), down_proj = b.module("mlp.down_proj");
  using Linear = SegmentBuilder::Linear;
  const Linear to_q{q_proj, query, D, c.attention_bias},
      to_k{k_proj, key_value, D, c.attention_bias}, to_v{v_proj, key_value, D, c.attention_bias},
      to_o{o_proj, D, query, c.attention_bias}, to_gate{gate_proj, F, D, c.mlp_bias},
      to_up{up_proj, F, D, c.mlp_bias}, to_down{down_proj, D, F, c.mlp_bias};

  const Slot x = b.external(T * D, Category::activations);  // block input
  const Slot n1 = b.slot(T * D), rstd1 = b.statistic(T);
  const Slot q = b.slot(T * query), k = b.slot(T * key_value), v = b.slot(T * key_value);
  const Slot attended = b.slot(T * query), lse = b.statistic(T * c.heads);
  const Slot h = b.slot(T * D);  // residual stream after attention
  const Slot n2 = b.slot(T * D), rstd2 = b.statistic(T);
  const Slot gate = b.slot(T * F), up = b.slot(T * F), product = b.slot(T * F);
  const Slot y = b.external(T * D, Category::activations);  // block output
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
  b.forward(attention, rotation(Operator::rope, c.heads), {kTable}, {Operand::of(q)});
  b.forward(attention, rotation(Operator::rope, c.kv_heads), {kTable}, {Operand::of(k)});
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

  constexpr Category kTransient = Category::temporaries;
  const Slot residual = b.external(T * D, kTransient);  // gradient of y, in the end of x
  const Slot dproduct = b.slot(T * F, kTransient), dn2 = b.slot(T * D, kTransient);
  const Slot dattended = b.slot(T * query, kTransient), dq = b.slot(T * query, kTransient),
             dk = b.slot(T * key_value, kTransient), dv = b.slot(T * key_value, kTransient),
             dn1 = b.slot(T * D, kTransient);
  b.linear_backward(to_down, residual, product, dproduct, false);
  b.backward(mlp, b.key(Operator::swiglu_backward, {T, F}), {Operand::of(dproduct)},
             {Operand::of(gate), Operand::of(up)});
  b.linear_backward(to_up, up, n2, dn2, false);
  b.linear_backward(to_gate, gate, n2, dn2, true);
  b.norm_backward(norm2, D, dn2, h, rstd2, residual, true);
  b.linear_backward(to_o, residual, attended, dattended, false);
  b.backward(attention, b.key(Operator::attention_backward, heads),
             {Operand::of(dattended), Operand::of(q), Operand::of(k), Operand::of(v),
              Operand::of(attended), Operand::of(lse)},
             {Operand::of(dq), Operand::of(dk), Operand::of(dv), kScratch});
  b.backward(attention, rotation(Operator::rope_backward, c.heads), {kTable}, {Operand::of(dq)});
  b.backward(attention, rotation(Operator::rope_backward, c.kv_heads), {kTable}, {Operand::of(dk)});
  b.linear_backward(to_v, dv, n1, dn1, false);
  b.linear_backward(to_k, dk, n1, dn1, true);
  b.linear_backward(to_q, dq, n1, dn1, true);
  b.norm_backward(norm1, D, dn1, x, rstd1, residual, true);

  set.block = std::move(b.segment);
  set.block_output = static_cast<std::size_t>(y);
  set.block_gradient = static_cast<std::size_t>(residual);
  set.attention_outputs = {attended, lse};
  set.matmul_outputs = {q, k, v, h, gate, up};
  // Matrix products in order: q, k, v, o, gate, up, down; the 2nd, 4th and 6th are computed again.
  set.second_matmul_outputs = {q, v, gate};
}

void build_ends(const LlamaConfig& c, const Plan& plan, OperatorSet& set) {
  const std::int64_t T = plan.tokens(), D = c.hidden, V = c.vocabulary;
  SegmentBuilder e(plan.precision.param, T);
  const auto embed = e.module("model.embed_tokens");
  const Slot x = e.external(T * D, Category::activations);
  const Slot dx = e.external(T * D, Category::temporaries);
  e.forward(embed, e.key(Operator::embedding, {T, V, D}), {kWeight, kTokens}, {Operand::of(x)});
  e.backward(embed, e.key(Operator::embedding_backward, {T, V, D, c.tied_embeddings ? 1 : 0}),
             {Operand::of(dx), kTokens}, {kWeightGradient, kScratch});
  set.embedding = std::move(e.segment);
  set.embedding_gradient = static_cast<std::size_t>(dx);

  SegmentBuilder b(plan.precision.param, T);
  const auto norm = b.module("model.norm"), head = b.module("lm_head");
  const SegmentBuilder::Linear to_logits{head, V, D, false};
  const Slot hidden = b.external(T * D, Category::activations);
  const Slot normed = b.slot(T * D), rstd = b.statistic(T);
  const Slot logits = b.external(T * V, Category::activations);
  b.segment.slots[static_cast<std::size_t>(logits)].role = Role::logits;
  const Slot residual = b.external(T * D, Category::temporaries);
  const Slot dnormed = b.slot(T * D, Category::temporaries);
  b.norm(norm, D, hidden, normed, rstd);
  b.linear(to_logits, normed, logits);
  b.linear_backward(to_logits, logits, normed, dnormed, false);
  b.norm_backward(norm, D, dnormed, hidden, rstd, residual, false);
  set.head = std::move(b.segment);
  set.head_gradient = static_cast<std::size_t>(residual);
  set.logits = static_cast<std::size_t>(logits);

  SegmentBuilder l(plan.precision.param, T);
  const auto root = l.module("");
  const Slot scores = l.external(T * V, Category::activations);
  const Slot lse = l.statistic(T);
  const std::array<std::int64_t, 5> dims = {T, V, plan.batch.accumulation};
  l.forward(root, l.key(Operator::cross_entropy, dims), {Operand::of(scores), kTargets},
            {Operand::of(lse), kLoss});
  l.backward(root, l.key(Operator::cross_entropy_backward, dims), {kTargets, Operand::of(lse)},
             {Operand::of(scores)});
  set.loss = std::move(l.segment);
}

}  // namespace

OperatorSet foreshard_operators(const LlamaConfig& model, const Plan& plan) {
  OperatorSet set;
  build_block(model, plan, set);
  build_ends(model, plan, set);
  return set;
}

}  // namespace foreshard::lowering
