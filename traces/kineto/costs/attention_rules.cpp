// Fused attention: PyTorch's own backends and FlashAttention's library. The places of their arguments
// are those of their schemas (native_functions.yaml, flash_attn_interface.py).
#include <charconv>

#include "traces/kineto/costs/key_rules.hpp"

namespace foreshard::traces::kineto {
namespace {

constexpr int kNot = -1;

struct Form {
  bool is_backward = false;
  bool heads_first = false;                        // [B,H,S,d] rather than [B,S,H,d]
  int causal = kNot;                               // true or false, or the kind of a mask
  int dropout = kNot;                              // the probability
  std::array<int, 3> absent = {kNot, kNot, kNot};  // masks, ends of packed sequences
  int window = kNot;                               // left, then right, then what limits the scores
};

std::optional<bool> is_causal(std::string_view value) {
  if (value == "True" || value == "1" || value == "2") return true;
  if (value == "False" || value == "0") return false;
  return std::nullopt;
}

bool is_zero(std::string_view value) {
  double number = 1;
  const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
  return parsed.ec == std::errc() && number == 0;
}

// A window that hides nothing: of a causal mask it may end at the query.
bool is_open(const Arguments& arguments, const Form& form, bool causal) {
  if (form.window == kNot) return true;
  const std::string_view right = arguments.value(form.window + 1);
  return arguments.value(form.window) == "-1" && (right == "-1" || (causal && right == "0")) &&
         is_zero(arguments.value(form.window + 2));
}

std::optional<OperatorKey> attention(const Arguments& arguments, const Form& form) {
  const int first = form.is_backward ? 1 : 0;  // the output's gradient comes before
  const auto q = arguments.tensor(first), k = arguments.tensor(first + 1),
             v = arguments.tensor(first + 2);
  const auto causal = is_causal(arguments.value(form.causal));
  if (!q || !k || !v || !causal || !q->type.type || q->dims.rank() != 4 || k->dims.rank() != 4 ||
      k->dims != v->dims || q->type != k->type || q->type != v->type) {
    return {};
  }
  for (const int absent : form.absent) {
    if (absent != kNot && !arguments.is_scalar(absent)) return {};
  }
  if (!is_zero(arguments.value(form.dropout)) || !is_open(arguments, form, *causal)) return {};
  const std::size_t heads = form.heads_first ? 1 : 2, length = form.heads_first ? 2 : 1;
  const Dims &queries = q->dims, &keys = k->dims;
  if (queries[0] != keys[0] || queries[3] != keys[3] || queries[length] != keys[length] ||
      queries[heads] % keys[heads] != 0) {
    return {};
  }
  const Operator op =
      *causal ? (form.is_backward ? Operator::attention_backward : Operator::attention)
              : (form.is_backward ? Operator::attention_full_backward : Operator::attention_full);
  return keyed(op, *q->type.type,
               {queries[0], queries[length], queries[heads], keys[heads], queries[3]});
}

template <bool is_backward, bool heads_first, int causal, int dropout, int absent0 = kNot,
          int absent1 = kNot, int absent2 = kNot, int window = kNot>
std::optional<OperatorKey> rule(const Arguments& arguments) {
  return attention(
      arguments, {is_backward, heads_first, causal, dropout, {absent0, absent1, absent2}, window});
}

constexpr std::array<std::pair<std::string_view, KeyRule>, 16> kAttentionRules{{
    {"aten::_scaled_dot_product_flash_attention", rule<false, true, 4, 3>},
    {"aten::_scaled_dot_product_flash_attention_backward", rule<true, true, 11, 10, 6, 7>},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", rule<false, true, 4, 3, 5>},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", rule<true, true, 7, 6, 8>},
    {"aten::_scaled_dot_product_efficient_attention", rule<false, true, 6, 5, 3>},
    {"aten::_scaled_dot_product_efficient_attention_backward", rule<true, true, 11, 9, 4>},
    {"aten::_scaled_dot_product_cudnn_attention", rule<false, true, 6, 5, 3>},
    {"aten::_scaled_dot_product_cudnn_attention_backward", rule<true, true, 14, 13, 8, 9, 10>},
    {"aten::_flash_attention_forward", rule<false, false, 8, 7, 3, 4>},
    {"aten::_flash_attention_backward", rule<true, false, 11, 10, 6, 7>},
    {"aten::_efficient_attention_forward", rule<false, false, 9, 8, 3, 4, 5>},
    {"aten::_efficient_attention_backward", rule<true, false, 14, 11, 4, 6, 7>},
    {"aten::_cudnn_attention_forward", rule<false, true, 10, 9, 3, 4, 5>},
    {"aten::_cudnn_attention_backward", rule<true, true, 14, 13, 8, 9, 10>},
    {"flash_attn::_flash_attn_forward", rule<false, false, 5, 3, 9, kNot, kNot, 6>},
    {"flash_attn::_flash_attn_backward", rule<true, false, 11, 9, 15, kNot, kNot, 12>},
}};

}  // namespace

Rules attention_rules() {
  return kAttentionRules;
}

}  // namespace foreshard::traces::kineto
