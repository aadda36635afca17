// What models' own programs launch, under PyTorch's names.
#include "traces/kineto/costs/key_rules.hpp"

namespace foreshard::traces::kineto {
namespace {

using Key = std::optional<OperatorKey>;

// (weight[V,D], tokens, ...)
Key embedding(const Arguments& arguments) {
  const auto weight = arguments.tensor(0), tokens = arguments.tensor(1);
  if (!weight || !tokens || !weight->type.type || weight->dims.rank() != 2) return {};
  return keyed(Operator::embedding, *weight->type.type,
               {tokens->elements, weight->dims[0], weight->dims[1]});
}

// (gradient, tokens, V, ...)
Key embedding_backward(const Arguments& arguments) {
  const auto gradient = arguments.tensor(0), tokens = arguments.tensor(1);
  const auto vocabulary = arguments.integer(2);
  if (!gradient || !tokens || !gradient->type.type || !vocabulary || *vocabulary <= 0 ||
      *vocabulary > kLargest / gradient->dims.last()) {
    return {};
  }
  return keyed(Operator::embedding_backward, *gradient->type.type,
               {tokens->elements, *vocabulary, gradient->dims.last()});
}

// Over the last dimension only, with a weight of the same type.
Key rms_norm(const Arguments& arguments, Operator op, int input, int weight) {
  const auto x = arguments.tensor(input), w = arguments.tensor(weight);
  if (!x || !w || !x->type.type || x->type != w->type || w->dims.rank() != 1 ||
      w->elements != x->dims.last()) {
    return {};
  }
  return keyed(op, *x->type.type, {x->elements / w->elements, w->elements});
}

// (x, shape, weight, eps)
Key rms_norm_forward(const Arguments& arguments) {
  return rms_norm(arguments, Operator::rms_norm, 0, 2);
}

// (gradient, x, shape, rstd, weight, which gradients)
Key rms_norm_backward(const Arguments& arguments) {
  if (arguments.value(5) != "[True, True]") return {};
  return rms_norm(arguments, Operator::rms_norm_backward, 1, 4);
}

Key fill(const Arguments& arguments) {
  const auto filled = arguments.tensor(0);
  if (!filled) return {};
  return keyed(Operator::fill_zero, DType::fp32, {filled->bytes()});
}

// FSDP2's, (shards, gathered, sizes, S_u, rank)
Key all_gather_copy_in(const Arguments& arguments) {
  const auto gathered = arguments.tensor(1);
  const auto shard = arguments.integer(3);
  if (!gathered || !gathered->type.type || !shard || *shard <= 0) return {};
  if (gathered->elements % *shard != 0) return {};
  return keyed(Operator::all_gather_copy_in, *gathered->type.type,
               {*shard, gathered->elements / *shard});
}

// (gathered[N,S_u], sizes, dimension, out)
Key all_gather_copy_out(const Arguments& arguments) {
  const auto gathered = arguments.tensor(0);
  if (!gathered || !gathered->type.type || gathered->dims.rank() != 2) return {};
  if (arguments.value(2) != "1") return {};
  return keyed(Operator::all_gather_copy_out, *gathered->type.type,
               {gathered->dims[1], gathered->dims[0]});
}

constexpr std::array<std::pair<std::string_view, KeyRule>, 8> kModelRules{{
    {"aten::embedding", embedding},
    {"aten::embedding_dense_backward", embedding_backward},
    {"aten::_fused_rms_norm", rms_norm_forward},
    {"aten::_fused_rms_norm_backward", rms_norm_backward},
    {"aten::fill_", fill},
    {"aten::zero_", fill},
    {"fsdp::all_gather_copy_in", all_gather_copy_in},
    {"aten::split_with_sizes_copy", all_gather_copy_out},
}};

}  // namespace

Rules model_rules() {
  return kModelRules;
}

}  // namespace foreshard::traces::kineto
