#include "models/sharding/chosen_attention.hpp"

#include <vector>

namespace foreshard {
namespace {

constexpr std::int64_t kHeadAlignment = 8;

bool is_16_bit(const AttentionCall& call) {
  return item_size(call.type) == 2;
}

bool is_nvidia(const AttentionCall& call) {
  return call.compute_capability != 0;
}

std::string sm(const AttentionCall& call) {
  return "sm_" + std::to_string(call.compute_capability);
}

// check_prefer_cudnn_attention: on Hopper and data centers' Blackwell, with cuDNN of more than 9.15,
// which PyPI's wheels bring from 2.11 on.
bool prefers_cudnn(const AttentionCall& call) {
  const int major = call.compute_capability / 10;
  return (major == 9 || major == 10) && call.version >= PyTorchVersion{2, 11};
}

// Why a kernel cannot run; empty: it can.
std::string refusal_of_cudnn(const AttentionCall& call) {
  constexpr int kAmpere = 80, kHopper = 90;
  const std::int64_t largest_head = call.compute_capability == kHopper ? 256 : 128;
  if (!is_nvidia(call)) return "cuDNN needs an NVIDIA GPU";
  if (call.compute_capability < kAmpere) return "cuDNN attention needs sm_80";
  if (!is_16_bit(call)) return "cuDNN attention takes 16-bit types only";
  if (call.is_deterministic) return "cuDNN attention is not deterministic";
  if (call.head_size > largest_head) {
    return "cuDNN attention takes heads of at most " + std::to_string(largest_head);
  }
  if (call.head_size % kHeadAlignment != 0) return "cuDNN attention takes heads of multiples of 8";
  return {};
}

std::string refusal_of_flash(const AttentionCall& call) {
  constexpr int kAmpere = 80;
  constexpr std::int64_t kLargestHead = 256;
  const int capability = call.compute_capability;
  // check_requires_grad_and_head_dim_gt192_constraints_on_sm86_89_or_120
  const bool is_small_part =
      (capability >= 86 && capability <= 89) || (capability >= 120 && capability <= 121);
  if (is_nvidia(call) && capability < kAmpere) return "flash attention needs sm_80";
  if (!is_16_bit(call)) return "flash attention takes 16-bit types only";
  if (call.has_mask) return "flash attention takes no mask";
  if (call.head_size > kLargestHead) return "flash attention takes heads of at most 256";
  if (is_small_part && call.head_size > 192 && call.head_size <= 224) {
    return "flash attention does not train heads of 193 to 224 on " + sm(call);
  }
  return {};
}

// minimum_gemm_alignment: in elements, of what tensor cores or wide loads read.
std::int64_t efficient_alignment(const AttentionCall& call) {
  constexpr int kVolta = 70, kAmpere = 80;
  if (is_16_bit(call)) return !is_nvidia(call) || call.compute_capability >= kVolta ? 8 : 1;
  return !is_nvidia(call) || call.compute_capability >= kAmpere ? 4 : 1;
}

std::string refusal_of_efficient(const AttentionCall& call) {
  constexpr int kAmpere = 80;
  constexpr PyTorchVersion kFirstWithGroups{2, 14};
  const std::int64_t alignment = efficient_alignment(call);
  if (is_nvidia(call) && call.compute_capability < kAmpere && call.type == DType::bf16) {
    return "memory-efficient attention takes bf16 from sm_80 on";
  }
  if (call.head_size % alignment != 0) {
    return "memory-efficient attention takes heads of multiples of " + std::to_string(alignment) +
           " here";
  }
  if (call.is_grouped && (!is_nvidia(call) || call.version < kFirstWithGroups)) {
    return "memory-efficient attention takes as many heads of keys as of queries";
  }
  return {};
}

std::string refusal(AttentionKernel kernel, const AttentionCall& call) {
  switch (kernel) {
    case AttentionKernel::flash: return refusal_of_flash(call);
    case AttentionKernel::efficient: return refusal_of_efficient(call);
    case AttentionKernel::cudnn: return refusal_of_cudnn(call);
    case AttentionKernel::math: break;
  }
  return {};
}

std::vector<AttentionKernel> order_of(const AttentionCall& call) {
  using enum AttentionKernel;
  switch (call.backend) {
    case AttentionBackend::automatic: break;
    case AttentionBackend::flash: return {flash, efficient, math};
    case AttentionBackend::efficient: return {efficient, math};
    case AttentionBackend::cudnn: return {cudnn, flash, efficient, math};
    case AttentionBackend::math: return {math};
  }
  if (prefers_cudnn(call)) return {cudnn, flash, efficient, math};
  return {flash, efficient, math};
}

// Why the first of the order comes first.
std::string first_reason(const AttentionCall& call) {
  if (call.backend != AttentionBackend::automatic) return "as pytorch.attention demands";
  const std::string version = "PyTorch " + to_string(call.version);
  return is_nvidia(call) ? version + "'s first choice on " + sm(call) : version + "'s first choice";
}

}  // namespace

ChosenAttention chosen_attention(const AttentionCall& call) {
  std::string refused;
  for (const AttentionKernel kernel : order_of(call)) {
    const std::string reason = refusal(kernel, call);
    if (reason.empty() && refused.empty()) return {kernel, first_reason(call), true};
    if (reason.empty()) return {kernel, refused};
    refused += (refused.empty() ? "" : ", ") + reason;
  }
  return {AttentionKernel::math, refused};
}

std::string_view attention_name(AttentionKernel kernel) {
  switch (kernel) {
    case AttentionKernel::flash: return "flash attention";
    case AttentionKernel::efficient: return "memory-efficient attention";
    case AttentionKernel::cudnn: return "cuDNN attention";
    case AttentionKernel::math: break;
  }
  return "attention by single operators (math)";
}

std::int64_t padded_head_size(AttentionKernel kernel, std::int64_t head_size) {
  if (kernel != AttentionKernel::flash) return head_size;
  return (head_size + kHeadAlignment - 1) / kHeadAlignment * kHeadAlignment;
}

}  // namespace foreshard
