#include "models/lowering/operators/pytorch/eager_attention.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "models/lowering/operators/pytorch/eager_attention_math.hpp"

namespace foreshard::lowering {
namespace {

constexpr std::int64_t kCudnnForwardWorkspace = 256;

CostKey attention_key(const EagerWriter& w, const EagerAttention& a, Operator op) {
  return w.key(op, {w.z.B, w.z.S, w.z.H, a.kv_heads, a.head_size});
}

// FlashAttention-2's num_splits_heuristic: how many parts the keys are cut into, so that small batches
// fill the device.
std::int64_t flash_splits(const EagerWriter& w, const EagerAttention& a) {
  const std::int64_t B = w.z.B, S = w.z.S, H = w.z.H, d = a.head_size;
  const std::int64_t columns = d <= 64 ? 256 : d <= 128 ? 128 : 64;
  const std::int64_t blocks = ceil_div(S, columns);
  const std::int64_t units = B * H * ceil_div(S, 64), places = 2 * w.job.device.multiprocessors;
  if (static_cast<double>(units) >= 0.8 * static_cast<double>(places)) return 1;
  const std::int64_t most = std::min({std::int64_t{128}, places, blocks});
  const auto is_eligible = [blocks](std::int64_t n) {
    return n == 1 || ceil_div(blocks, n) != ceil_div(blocks, n - 1);
  };
  std::vector<double> efficiency;
  double best = 0;
  for (std::int64_t n = 1; n <= most; ++n) {
    if (!is_eligible(n)) {
      efficiency.push_back(0);
      continue;
    }
    const double waves = static_cast<double>(units * n) / static_cast<double>(places);
    efficiency.push_back(waves / std::ceil(waves));
    best = std::max(best, efficiency.back());
  }
  for (std::int64_t n = 1; n <= most; ++n) {
    if (is_eligible(n) && efficiency[static_cast<std::size_t>(n - 1)] >= 0.85 * best) return n;
  }
  return 1;
}

// The size of a head that the kernels accumulate.
std::int64_t flash_head(const EagerWriter& w, const EagerAttention& a) {
  return round_up(a.head_size, a.head_size > 128 && w.rules.flash_rounds_large_heads ? 64 : 32);
}

// Of the queries' gradient: deterministic kernels sum parts of their own, as many as fill the device
// (flash_api.cpp, nsplits).
std::int64_t flash_accumulators(const EagerWriter& w) {
  if (!w.plan.deterministic) return 1;
  return ceil_div(w.job.device.multiprocessors, w.z.B * w.z.H);
}

std::vector<Operand> inputs(const EagerAttention& a, const AttentionForward& at) {
  std::vector<Operand> read{Operand::of(at.q), Operand::of(at.k), Operand::of(at.v)};
  if (a.bias != kNone) read.push_back(Operand::of(a.bias));
  return read;
}

std::vector<Operand> outputs(const EagerAttention& a, const AttentionForward& at,
                             Slot workspace = kNone) {
  std::vector<Operand> written{Operand::of(a.out)};
  if (at.computes_lse) written.push_back(Operand::of(a.lse));
  if (workspace != kNone) written.push_back(Operand::of(workspace));
  return written;
}

void flash_forward(EagerWriter& w, const EagerAttention& a, const AttentionForward& at) {
  const std::int64_t B = w.z.B, S = w.z.S, H = w.z.H;
  const Slot out = attention_output(a);
  w.allocate(out);
  w.allocate(a.lse);
  const std::int64_t splits = flash_splits(w, a);
  Slot split_lse = kNone, split_out = kNone;
  if (splits > 1) {
    split_lse = w.scratch(4 * splits * B * H * S);
    split_out = w.scratch(4 * splits * B * H * S * flash_head(w, a));
  }
  if (a.seed != kNone) {
    w.allocate(a.random_state);
    w.allocate(a.seed);
  }
  w.launch(attention_key(w, a, Operator::attention), "aten::_scaled_dot_product_flash_attention",
           inputs(a, at), {Operand::of(out), Operand::of(a.lse)});
  if (w.rules.flash_keeps_random_state) {
    w.free({split_lse, split_out});
  } else {
    w.free({split_out, split_lse});
  }
  if (!at.keeps) w.free({a.lse, a.random_state, a.seed});
}

void efficient_forward(EagerWriter& w, const EagerAttention& a, const AttentionForward& at) {
  if (a.seed != kNone) {
    w.allocate(a.random_state);
    w.allocate(a.seed);
  }
  w.allocate(a.out);
  if (at.computes_lse) w.allocate(a.lse);
  const bool accumulates_wide = w.z.is_16_bit && w.z.d > 128;
  const Slot wide = accumulates_wide ? w.scratch(4 * w.z.T * w.z.H * w.z.d) : kNone;
  w.launch(attention_key(w, a, Operator::attention),
           "aten::_scaled_dot_product_efficient_attention", inputs(a, at), outputs(a, at));
  w.free({wide});
  if (!at.keeps) w.free({a.lse, a.random_state, a.seed});
}

void cudnn_forward(EagerWriter& w, const EagerAttention& a, const AttentionForward& at) {
  w.allocate(a.seed);
  w.allocate(a.random_state);
  w.allocate(a.out);
  if (at.computes_lse) w.allocate(a.lse);
  const Slot workspace = w.scratch(kCudnnForwardWorkspace);
  w.launch(attention_key(w, a, Operator::attention), "aten::_scaled_dot_product_cudnn_attention",
           inputs(a, at), outputs(a, at, workspace));
  w.free({workspace});
  if (!at.keeps) w.free({a.lse, a.seed, a.random_state});
}

// Gradients of queries, keys and values, allocated.
AttentionGradients gradients(EagerWriter& w, const EagerAttention& a, const AttentionBackward& at) {
  if (at.results.dq != kNone) {
    for (const Slot slot : {at.results.dq, at.results.dk, at.results.dv}) w.allocate(slot);
    return at.results;
  }
  const std::int64_t row = w.z.T * a.head_size, kv = a.kv_heads;
  return {w.scratch(w.of(row * w.z.H)), w.scratch(w.of(row * kv)), w.scratch(w.of(row * kv))};
}

// A kernel computes all three; what is not asked for dies with its tuple of results
// (ScaledDotProductFlashAttentionBackward0::apply).
void drop_unneeded(EagerWriter& w, AttentionGradients& g, const AttentionNeeds& needs) {
  if (!needs.q) w.free({std::exchange(g.dq, kNone)});
  if (!needs.k) w.free({std::exchange(g.dk, kNone)});
  if (!needs.v) w.free({std::exchange(g.dv, kNone)});
}

void launch_backward(EagerWriter& w, const EagerAttention& a, const AttentionBackward& at,
                     const AttentionGradients& g, std::string_view op, Slot workspace) {
  w.launch(attention_key(w, a, Operator::attention_backward), op,
           {Operand::of(at.dy), Operand::of(at.q), Operand::of(at.k), Operand::of(at.v),
            Operand::of(attention_output(a)), Operand::of(a.lse)},
           {Operand::of(g.dq), Operand::of(g.dk), Operand::of(g.dv), Operand::of(workspace)});
}

// Of heads that were padded: the kernel is given contiguous copies of the gradient and of the result,
// and its gradients are sliced (ConstantPadNdBackward0).
AttentionGradients flash_backward(EagerWriter& w, const EagerAttention& a,
                                  const AttentionBackward& given) {
  const std::int64_t B = w.z.B, S = w.z.S, T = w.z.T, H = w.z.H, d = a.head_size;
  AttentionBackward at = given;
  Slot dy_copy = kNone, out_copy = kNone;
  if (a.pads_heads()) {
    at.q = a.padded_q;
    at.k = a.padded_k;
    at.v = a.padded_v;
    at.dy = w.make("aten::slice_backward", w.bytes(a.result), {given.dy});
    w.free({given.dy});
    if (H > 1) {  // one head lies in rows as it is
      dy_copy = w.make_like("aten::clone", at.dy, {at.dy});
      out_copy = w.make_like("aten::clone", at.dy, {a.result});
    }
  }
  AttentionGradients g = gradients(w, a, at);
  const std::int64_t rows = round_up(S, 128);
  const Slot softmax = w.scratch(4 * B * H * rows);
  const Slot accumulated = w.scratch(flash_accumulators(w) * 4 * B * H * rows * flash_head(w, a));
  Slot all_dk = kNone, all_dv = kNone;
  if (a.kv_heads != H) {
    all_dk = w.scratch(w.of(T * H * d));
    all_dv = w.scratch(w.of(T * H * d));
  }
  launch_backward(w, a, at, g, "aten::_scaled_dot_product_flash_attention_backward", accumulated);
  w.free({all_dv, all_dk, accumulated, softmax, out_copy, dy_copy});
  if (at.results.dq != kNone) return g;
  drop_unneeded(w, g, at.needs);
  const Slot out = attention_output(a);
  if (at.recomputed) {
    w.free({a.seed, a.random_state, out, a.lse, at.v, at.q, at.k, at.dy});
  } else {
    w.free({at.dy, at.k, at.q, at.v, a.lse, out, a.random_state, a.seed});
  }
  if (!a.pads_heads()) return g;
  for (Slot* const padded : {&g.dv, &g.dk, &g.dq}) {
    if (*padded == kNone) continue;
    const Slot sliced = w.make("aten::constant_pad_nd", w.bytes(*padded) / d * w.z.d, {*padded});
    w.free({*padded});
    *padded = sliced;
  }
  return g;
}

// Of one head: the gradient of the queries in fp32 by blocks, each with its counter; of large heads in 16
// bits those of keys and values as well, which no longer fit into registers.
std::int64_t efficient_workspace(const EagerWriter& w) {
  const std::int64_t S = w.z.S, d = w.z.d;
  const bool spills = w.z.is_16_bit && d > 128;
  const std::int64_t height = d <= 64 ? 64 : 128,
                     width = d > 64 && w.z.is_16_bit && !spills ? 128 : 64;
  const std::int64_t queries = ceil_div(S, height) * ceil_div(d, width) * (4 * height * width + 16);
  return queries + (spills ? 2 * 4 * round_up(S, width) * round_up(d, height) : 0);
}

AttentionGradients efficient_backward(EagerWriter& w, const EagerAttention& a,
                                      const AttentionBackward& at) {
  const auto& [B, S, T, D, H, K, d, F, V, e, layers, is_16_bit] = w.z;
  AttentionGradients g = gradients(w, a, at);
  const std::int64_t all = w.of(T * H * d), row = 4 * B * H * S;
  Slot all_dk = kNone, all_dv = kNone, delta = kNone;
  if (a.kv_heads != H) {
    all_dk = w.scratch(all);
    all_dv = w.scratch(all);
  }
  if (is_16_bit) {
    delta = w.make("aten::sum", row, {at.dy, a.out});
  } else {
    const Slot product = w.make("aten::mul", all, {at.dy, a.out});
    const Slot sum = w.make("aten::sum", row, {product});
    if (H > 1) {
      delta = w.make("aten::contiguous", row, {sum});
      w.free({sum, product});
    } else {  // transposing one head leaves it contiguous
      delta = sum;
      w.free({product});
    }
  }
  const Slot workspace = w.scratch(B * H * efficient_workspace(w));
  launch_backward(w, a, at, g, "aten::_scaled_dot_product_efficient_attention_backward", workspace);
  w.free({delta, workspace, all_dv, all_dk});
  if (at.results.dq != kNone) return g;
  drop_unneeded(w, g, at.needs);
  if (at.recomputed) {
    w.free({a.random_state, a.seed, a.out, a.lse, at.v, at.q, at.k, a.bias, at.dy});
  } else {
    w.free({at.dy, a.bias, at.k, at.q, at.v, a.lse, a.out, a.seed, a.random_state});
  }
  return g;
}

AttentionGradients cudnn_backward(EagerWriter& w, const EagerAttention& a,
                                  const AttentionBackward& at) {
  const auto& [B, S, T, D, H, K, d, F, V, e, layers, is_16_bit] = w.z;
  AttentionGradients g = gradients(w, a, at);
  const std::int64_t grouped = a.kv_heads != H ? 2 : 1;
  const Slot workspace = w.scratch(4 * T * H * d * grouped + 4 * T * H + kCudnnForwardWorkspace);
  launch_backward(w, a, at, g, "aten::_scaled_dot_product_cudnn_attention_backward", workspace);
  w.free({workspace});
  if (at.results.dq != kNone) return g;
  drop_unneeded(w, g, at.needs);
  if (at.recomputed) {
    w.free({a.seed, a.random_state, a.out, a.lse, a.bias, at.v, at.q, at.k, at.dy});
  } else {
    w.free({at.dy, at.k, at.q, at.v, a.bias, a.lse, a.out, a.random_state, a.seed});
  }
  return g;
}

// pad_last_dim of queries, keys and values.
void pad_heads(EagerWriter& w, const EagerAttention& a, const AttentionForward& at) {
  w.write(a.padded_q, "aten::constant_pad_nd", {at.q});
  w.write(a.padded_k, "aten::constant_pad_nd", {at.k});
  w.write(a.padded_v, "aten::constant_pad_nd", {at.v});
}

// convert_boolean_attn_mask, then preprocess_mask of the memory-efficient kernel, which reads rows of
// multiples of 8 numbers.
void make_bias(EagerWriter& w, const EagerAttention& a) {
  const Slot first = a.unpadded_bias == kNone ? a.bias : a.unpadded_bias;
  numbers_of_mask(w, first, kNone, w.z.e);
  if (first == a.bias) return;
  w.write(a.bias, "aten::constant_pad_nd", {first});
  w.free({first});
}

// What the kernel was given in place of its arguments.
void free_inputs(EagerWriter& w, const EagerAttention& a) {
  w.free({a.bias, a.padded_v, a.padded_k, a.padded_q});
}

void run_kernel(EagerWriter& w, const EagerAttention& a, const AttentionForward& at) {
  switch (a.kernel) {
    case AttentionKernel::flash: return flash_forward(w, a, at);
    case AttentionKernel::efficient: return efficient_forward(w, a, at);
    case AttentionKernel::cudnn: return cudnn_forward(w, a, at);
    case AttentionKernel::math: return math_attention_forward(w, a, at);
  }
}

}  // namespace

void numbers_of_mask(EagerWriter& w, Slot out, Slot mask, std::int64_t item) {
  const Slot zero = w.make("aten::scalar_tensor", item, {}),
             minus_infinity = w.make("aten::scalar_tensor", item, {});
  w.write(out, "aten::where", {mask, zero, minus_infinity});
  w.free({minus_infinity, zero});
}

EagerAttention declare_attention(EagerWriter& w, const LayerAttention& layer) {
  const auto& [B, S, T, D, H, K, d, F, V, e, layers, is_16_bit] = w.z;
  EagerAttention a{layer.chosen.kernel, layer.kv_heads, layer.head_size};
  a.is_given_by_heads = layer.has_mask && layer.kv_heads != K;
  a.out = w.tensor(w.of(T * H * d));
  if (layer.has_mask) {
    constexpr std::int64_t kRow = 8;
    const std::int64_t row = a.kernel == AttentionKernel::efficient ? round_up(S, kRow) : S;
    if (row != S) a.unpadded_bias = w.tensor(w.of(T * S));
    a.bias = w.tensor(w.of(T * row));
  }
  if (a.head_size != d) {
    a.padded_q = w.tensor(w.of(T * H * a.head_size));
    a.padded_k = w.tensor(w.of(T * a.kv_heads * a.head_size));
    a.padded_v = w.tensor(w.of(T * a.kv_heads * a.head_size));
    a.result = w.tensor(w.of(T * H * a.head_size));
  }
  switch (a.kernel) {
    case AttentionKernel::flash:
      a.lse = w.tensor(4 * B * H * S);
      if (!w.rules.flash_keeps_random_state) break;
      a.random_state = w.tensor(16);
      a.seed = w.tensor(8);
      break;
    case AttentionKernel::efficient:
      a.lse = w.tensor(4 * B * H * round_up(S, 32));
      if (!w.rules.efficient_keeps_random_state) break;
      a.random_state = w.tensor(8);
      a.seed = w.tensor(8);
      break;
    case AttentionKernel::cudnn:
      a.lse = w.tensor(4 * B * H * S);
      a.random_state = w.tensor(8);
      a.seed = w.tensor(8);
      break;
    case AttentionKernel::math: declare_math_attention(w, a); break;
  }
  return a;
}

void attention_forward(EagerWriter& w, const EagerAttention& a, const AttentionForward& at,
                       AttentionRun run) {
  if (a.pads_heads()) pad_heads(w, a, at);
  if (a.bias != kNone) make_bias(w, a);
  if (run == AttentionRun::anew) {
    run_kernel(w, a, at);
  } else {
    w.take_back(attention_output(a));
  }
  // The math path adds the mask in place, of which autograd keeps nothing.
  if (!at.keeps || !w.records() || a.kernel == AttentionKernel::math) free_inputs(w, a);
}

void attention_in_rows(EagerWriter& w, const EagerAttention& a) {
  if (a.copies_result()) w.write(a.out, "aten::clone", {a.result});
}

Slot attention_output(const EagerAttention& a) {
  return a.copies_result() ? a.result : a.out;
}

std::vector<Slot> saved_by_attention(const EagerAttention& a, const AttentionForward& at) {
  if (a.kernel == AttentionKernel::math) {
    if (a.values == kNone && at.needs.scores()) return {at.v};
    return {};
  }
  if (a.pads_heads()) return {a.result};
  return {at.q, at.k, at.v, a.out};
}

AttentionGradients attention_backward(EagerWriter& w, const EagerAttention& a,
                                      const AttentionBackward& at) {
  switch (a.kernel) {
    case AttentionKernel::flash: return flash_backward(w, a, at);
    case AttentionKernel::efficient: return efficient_backward(w, a, at);
    case AttentionKernel::cudnn: return cudnn_backward(w, a, at);
    case AttentionKernel::math: return math_attention_backward(w, a, at);
  }
  return {};
}

}  // namespace foreshard::lowering
