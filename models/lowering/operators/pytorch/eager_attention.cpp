#include "models/lowering/operators/pytorch/eager_attention.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/lowering/operators/pytorch/eager_attention_math.hpp"

namespace foreshard::lowering {
namespace {

constexpr std::int64_t kCudnnForwardWorkspace = 256;

CostKey attention_key(const EagerWriter& w, Operator op) {
  return w.key(op, {w.z.B, w.z.S, w.z.H, attention_kv_heads(w), w.z.d});
}

// FlashAttention-2's num_splits_heuristic: how many parts the keys are cut into, so that small batches
// fill the device.
std::int64_t flash_splits(const EagerWriter& w) {
  const auto& [B, S, T, D, H, K, d, F, V, e, layers, is_16_bit] = w.z;
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
std::int64_t flash_head(const EagerWriter& w) {
  return round_up(w.z.d, w.z.d > 128 && w.rules.flash_rounds_large_heads ? 64 : 32);
}

// Of the queries' gradient: deterministic kernels sum parts of their own, as many as fill the device
// (flash_api.cpp, nsplits).
std::int64_t flash_accumulators(const EagerWriter& w) {
  if (!w.plan.deterministic) return 1;
  return ceil_div(w.job.device.multiprocessors, w.z.B * w.z.H);
}

std::vector<Operand> inputs(const AttentionForward& at) {
  return {Operand::of(at.q), Operand::of(at.k), Operand::of(at.v)};
}

void flash_forward(EagerWriter& w, const EagerAttention& a, const AttentionForward& at) {
  const auto& [B, S, T, D, H, K, d, F, V, e, layers, is_16_bit] = w.z;
  w.allocate(a.out);
  w.allocate(a.lse);
  const std::int64_t splits = flash_splits(w);
  Slot split_lse = kNone, split_out = kNone;
  if (splits > 1) {
    split_lse = w.scratch(4 * splits * B * H * S);
    split_out = w.scratch(4 * splits * B * H * S * flash_head(w));
  }
  if (a.seed != kNone) {
    w.allocate(a.random_state);
    w.allocate(a.seed);
  }
  w.launch(attention_key(w, Operator::attention), "aten::_scaled_dot_product_flash_attention",
           inputs(at), {Operand::of(a.out), Operand::of(a.lse)});
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
  w.allocate(a.lse);
  const bool accumulates_wide = w.z.is_16_bit && w.z.d > 128;
  const Slot wide = accumulates_wide ? w.scratch(4 * w.z.T * w.z.H * w.z.d) : kNone;
  w.launch(attention_key(w, Operator::attention), "aten::_scaled_dot_product_efficient_attention",
           inputs(at), {Operand::of(a.out), Operand::of(a.lse)});
  w.free({wide});
  if (!at.keeps) w.free({a.lse, a.random_state, a.seed});
}

void cudnn_forward(EagerWriter& w, const EagerAttention& a, const AttentionForward& at) {
  w.allocate(a.seed);
  w.allocate(a.random_state);
  w.allocate(a.out);
  w.allocate(a.lse);
  const Slot workspace = w.scratch(kCudnnForwardWorkspace);
  w.launch(attention_key(w, Operator::attention), "aten::_scaled_dot_product_cudnn_attention",
           inputs(at), {Operand::of(a.out), Operand::of(a.lse), Operand::of(workspace)});
  w.free({workspace});
  if (!at.keeps) w.free({a.lse, a.seed, a.random_state});
}

// Gradients of queries, keys and values, allocated.
AttentionGradients gradients(EagerWriter& w, const AttentionBackward& at) {
  if (at.results.dq != kNone) {
    for (const Slot slot : {at.results.dq, at.results.dk, at.results.dv}) w.allocate(slot);
    return at.results;
  }
  const std::int64_t rows = w.z.T * w.z.d, kv = attention_kv_heads(w);
  return {w.scratch(w.of(rows * w.z.H)), w.scratch(w.of(rows * kv)), w.scratch(w.of(rows * kv))};
}

void launch_backward(EagerWriter& w, const EagerAttention& a, const AttentionBackward& at,
                     const AttentionGradients& g, std::string_view op, Slot workspace) {
  w.launch(attention_key(w, Operator::attention_backward), op,
           {Operand::of(at.dy), Operand::of(at.q), Operand::of(at.k), Operand::of(at.v),
            Operand::of(a.out), Operand::of(a.lse)},
           {Operand::of(g.dq), Operand::of(g.dk), Operand::of(g.dv), Operand::of(workspace)});
}

AttentionGradients flash_backward(EagerWriter& w, const EagerAttention& a,
                                  const AttentionBackward& at) {
  const auto& [B, S, T, D, H, K, d, F, V, e, layers, is_16_bit] = w.z;
  const AttentionGradients g = gradients(w, at);
  const std::int64_t rows = round_up(S, 128);
  const Slot softmax = w.scratch(4 * B * H * rows);
  const Slot accumulated = w.scratch(flash_accumulators(w) * 4 * B * H * rows * flash_head(w));
  Slot all_dk = kNone, all_dv = kNone;
  if (attention_kv_heads(w) != H) {
    all_dk = w.scratch(w.of(T * H * d));
    all_dv = w.scratch(w.of(T * H * d));
  }
  launch_backward(w, a, at, g, "aten::_scaled_dot_product_flash_attention_backward", accumulated);
  w.free({all_dv, all_dk, accumulated, softmax});
  if (at.results.dq != kNone) return g;
  if (at.recomputed) {
    w.free({a.seed, a.random_state, a.out, a.lse, at.v, at.q, at.k, at.dy});
  } else {
    w.free({at.dy, at.k, at.q, at.v, a.lse, a.out, a.random_state, a.seed});
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
  const AttentionGradients g = gradients(w, at);
  const std::int64_t all = w.of(T * H * d), row = 4 * B * H * S;
  Slot all_dk = kNone, all_dv = kNone, delta = kNone;
  if (attention_kv_heads(w) != H) {
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
  if (at.recomputed) {
    w.free({a.random_state, a.seed, a.out, a.lse, at.v, at.q, at.k, at.dy});
  } else {
    w.free({at.dy, at.k, at.q, at.v, a.lse, a.out, a.seed, a.random_state});
  }
  return g;
}

AttentionGradients cudnn_backward(EagerWriter& w, const EagerAttention& a,
                                  const AttentionBackward& at) {
  const auto& [B, S, T, D, H, K, d, F, V, e, layers, is_16_bit] = w.z;
  const AttentionGradients g = gradients(w, at);
  const std::int64_t grouped = attention_kv_heads(w) != H ? 2 : 1;
  const Slot workspace = w.scratch(4 * T * H * d * grouped + 4 * T * H + kCudnnForwardWorkspace);
  launch_backward(w, a, at, g, "aten::_scaled_dot_product_cudnn_attention_backward", workspace);
  w.free({workspace});
  if (at.results.dq != kNone) return g;
  if (at.recomputed) {
    w.free({a.seed, a.random_state, a.out, a.lse, at.v, at.q, at.k, at.dy});
  } else {
    w.free({at.dy, at.k, at.q, at.v, a.lse, a.out, a.random_state, a.seed});
  }
  return g;
}

}  // namespace

std::int64_t attention_kv_heads(const EagerWriter& w) {
  return repeats_keys(w.job.plan) ? w.z.H : w.z.K;
}

AttentionKernel attention_kernel(const EagerWriter& w) {
  const AttentionBackend wanted = w.plan.attention;
  if (w.z.is_16_bit && (wanted == AttentionBackend::flash || wanted == AttentionBackend::automatic))
    return AttentionKernel::flash;
  if (w.z.is_16_bit && wanted == AttentionBackend::cudnn) return AttentionKernel::cudnn;
  if (wanted == AttentionBackend::math) return AttentionKernel::math;
  const bool is_grouped = attention_kv_heads(w) != w.z.H;
  return is_grouped && !w.rules.efficient_takes_grouped ? AttentionKernel::math
                                                        : AttentionKernel::efficient;
}

EagerAttention declare_attention(EagerWriter& w) {
  const auto& [B, S, T, D, H, K, d, F, V, e, layers, is_16_bit] = w.z;
  EagerAttention a{attention_kernel(w)};
  a.out = w.tensor(w.of(T * H * d));
  switch (a.kernel) {
    case AttentionKernel::flash:
      a.lse = w.tensor(4 * B * H * S);
      if (!w.rules.flash_keeps_random_state) break;
      a.random_state = w.tensor(16);
      a.seed = w.tensor(8);
      break;
    case AttentionKernel::efficient:
      a.lse = w.tensor(4 * B * H * round_up(S, 32));
      if (!w.rules.efficient_takes_grouped) break;
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

void attention_forward(EagerWriter& w, const EagerAttention& a, const AttentionForward& at) {
  switch (a.kernel) {
    case AttentionKernel::flash: return flash_forward(w, a, at);
    case AttentionKernel::efficient: return efficient_forward(w, a, at);
    case AttentionKernel::cudnn: return cudnn_forward(w, a, at);
    case AttentionKernel::math: return math_attention_forward(w, a, at);
  }
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
