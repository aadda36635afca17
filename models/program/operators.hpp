// The operators a step program launches, and the cost key that describes the size of each launch.
//
// Letters: T tokens of a micro-batch (B sequences of S), D hidden size, H query heads, K key/value
// heads, d head size, F feed-forward size, V vocabulary, N ranks of a group, S_u padded shard
// elements of a unit, W the window of attention: a token sees itself and the W - 1 before it, or, where W is 0,
// all before it. All tensors are dense, row-major. `dtype` is the compute type unless a line
// notes otherwise; statistics (rstd, lse, delta) are fp32. Operands are listed as `reads -> writes`;
// a buffer that is updated in place stands among the writes, marked with a plus.
//
//   operator                dims                     operands
//   embedding               T V D                    weight[V,D] tokens[T] -> out[T,D]
//   embedding_backward      T V D accumulate         dout[T,D] tokens[T] -> dweight[V,D] scratch
//   rms_norm                T D                      x[T,D] w[D] -> y[T,D] rstd[T]
//   rms_norm_backward       T D accumulate           dy[T,D] x[T,D] w[D] rstd[T] -> dx(+)[T,D] dw[D] scratch
//   matmul                  T N K bias               x[T,K] w[N,K] (bias[N]) -> y[T,N] workspace+
//   matmul_input_gradient   T K N accumulate         dy[T,N] w[N,K] -> dx(+)[T,K] workspace+
//   matmul_weight_gradient  N K T                    dy[T,N] x[T,K] -> dw[N,K] workspace+
//   bias_gradient           T N                      dy[T,N] -> db[N]
//   rope, rope_backward     B S H d                  table -> x+[T,H,d]  (queries, or keys with H = K)
//   attention               B S H K d W              q[T,H,d] k[T,K,d] v[T,K,d] -> out[T,H,d] lse[B,H,S]
//   attention_backward      B S H K d W              dout q k v out lse -> dq[T,H,d] dk[T,K,d] dv[T,K,d] scratch
//   swiglu                  T F                      gate[T,F] up[T,F] -> out[T,F]
//   swiglu_backward         T F                      dout[T,F] -> gate+[T,F] up+[T,F]   (become dgate, dup)
//   add                     n                        x[n] (dtype2) -> y+[n] (dtype)
//   cross_entropy           T V A                    logits[T,V] targets[T] -> lse[T] loss+ (fp64, += mean / A)
//   cross_entropy_backward  T V A                    targets[T] lse[T] -> logits+[T,V]  (become (softmax - onehot) / (T A))
//   cast                    n                        x[n] (dtype2) -> y[n] (dtype)
//   fill_zero               bytes                    -> x
//   reduce_scatter and all_reduce sum, or average where `aux` is 1.
//   rope_table              S d                      -> table (fp32: cos[S,d/2] then sin[S,d/2])
//   shard_cast              S_u                      shards (dtype2) ... -> flat[S_u] (dtype), or one unsharded parameter each
//   all_gather_copy_in      S_u N                    flat[S_u], or the shards -> gathered[N,S_u], slice `aux`
//   all_gather_copy_out     S_u N                    gathered[N,S_u] -> one unsharded parameter each
//   copy_slice              n                        unsharded -> slice[n], the `aux`-th of its n elements
//   reduce_scatter_copy_in  S_u N                    one gradient each (dtype2) -> input[N,S_u] (dtype), zero-padded
//   transpose               A B C                    x[A,B,C] -> y[B,A,C]
//   gradient_norm           n                        gradient[n] -> norms+ (fp64: sum of squares set in slot `aux`)
//   clip_coefficient        n                        norms[n] -> clip[2] (fp64: total norm, factor)
//   adamw                   n                        gradient (dtype2) clip -> shards+ (dtype) exp_avg+ exp_avg_sq+ (dtype3), one each
//   sgd                     n                        gradient (dtype2) clip -> shards+ (dtype), one each
//   initialize_shards       n                        -> shards (host work: drawn, or read from a file)
//   restore_states          n                        -> exp_avg and exp_avg_sq (host work: of a checkpoint)
//   export_gradients        n                        gradient (host work: kept for a file)
//   load_batch              T                        -> tokens[T] targets[T] on the host (host work, int32)
//   report                  n                        loss clip own-loss (host work: the host reads what the step returns;
//                                                    the rank's own loss where the program is run)
//
// Not launched by programs; they occur in imported recordings:
//   attention_full, attention_full_backward   as attention, but every query sees every key
//   batched_matmul          B M N K accumulate       B products of [M,K] and [K,N]
//   memory_bound            bytes read, written      anything else whose bytes alone decide how long it
//                                                    takes: elementwise operators, reductions, norms
//   opaque                  0                        a kernel of which nothing is known, so that it has
//                                                    no cost
//   all_to_all              bytes N                  of what one rank sends to all, its own part counted
//   broadcast               bytes N                  of what each rank gets; reductions to one rank are alike
//   transfer                bytes 2                  of what one rank of two sends to the other, and gets at
//                                                    the same time
//
// A key whose dims are bytes has the type fp32, whatever the bytes are. fp8 products write `dtype2`.
//
// `scratch` is allocated for the launch alone, `workspace` once in the set-up and shared by all
// launches of a stream. An operator may touch its operands and nothing else; sizes: scratch_bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "models/base/device_traits.hpp"
#include "models/base/dtype.hpp"
#include "models/base/units.hpp"

namespace foreshard {

enum class Operator : std::uint8_t {
  embedding,
  embedding_backward,
  rms_norm,
  rms_norm_backward,
  matmul,
  matmul_input_gradient,
  matmul_weight_gradient,
  bias_gradient,
  rope,
  rope_backward,
  attention,
  attention_backward,
  swiglu,
  swiglu_backward,
  add,
  cross_entropy,
  cross_entropy_backward,
  cast,
  fill_zero,
  rope_table,
  shard_cast,
  all_gather_copy_in,
  all_gather_copy_out,
  copy_slice,
  reduce_scatter_copy_in,
  transpose,
  gradient_norm,
  clip_coefficient,
  adamw,
  sgd,
  initialize_shards,
  restore_states,
  export_gradients,
  load_batch,
  report,
  // Not computed by kernels: their dims are {bytes}, for collectives {bytes of the whole buffer, N}.
  copy_host_to_device,
  copy_device_to_host,
  all_gather,
  reduce_scatter,
  all_reduce,
  attention_full,
  attention_full_backward,
  batched_matmul,
  copy_device_to_device,
  memory_bound,
  opaque,
  all_to_all,
  broadcast,
  transfer,
  kCount
};

std::string_view name(Operator op);

// The operator of that name; kCount when there is none.
Operator operator_named(std::string_view name);

// The sizes of a launch; those that its operator does not have are 0.
using CostDims = std::array<std::int64_t, 6>;

// Everything a launch's duration may depend on, except the machine: equal keys cost the same.
struct CostKey {
  Operator op = Operator::kCount;
  DType dtype = DType::fp32;
  DType dtype2 = DType::fp32;
  DType dtype3 = DType::fp32;
  CostDims dims{};

  // One by one: a key that is looked up was just written so, and a wide load would wait for that.
  bool operator==(const CostKey& other) const {
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] != other.dims[d]) return false;
    }
    return op == other.op && dtype == other.dtype && dtype2 == other.dtype2 &&
           dtype3 == other.dtype3;
  }
};

struct CostKeyHash {
  std::size_t operator()(const CostKey& key) const;
};

// One line: "matmul bf16 512 1024 384 0"; parse_cost_key reads it back. All dtypes are written
// where they differ from the first: "cast fp32,bf16 4096". False when the text is not a cost key.
std::string text(const CostKey& key);
bool parse_cost_key(std::string_view text, CostKey& key);

bool is_collective(Operator op);
bool is_matmul(Operator op);
bool is_attention(Operator op);
// Tokens that a query of attention sees at most, itself included: those of the window, or of the sequence.
std::int64_t attention_window(const CostKey& key);
// Between the host's memory and the device's, over the link between them.
constexpr bool is_host_copy(Operator op) {
  return op == Operator::copy_host_to_device || op == Operator::copy_device_to_host;
}
constexpr bool is_copy(Operator op) {
  return is_host_copy(op) || op == Operator::copy_device_to_device;
}

// Floating-point operations of a launch: multiplications and additions.
double flops(const CostKey& key);

// Bytes an ideal launch reads and writes once.
double bytes_moved(const CostKey& key);

// Bytes of the scratch operand of operators that have one: a formula of the key and the device.
Bytes scratch_bytes(const CostKey& key, const DeviceTraits& device);

// Partial sums of a norm weight's gradient, whose number depends on no setting of a run, so that
// results do not either.
std::int64_t norm_partials(const DeviceTraits& device);

}  // namespace foreshard
