#include "models/program/attention_workspace.hpp"

#include <algorithm>

#include "models/base/cudnn_attention.hpp"

namespace foreshard {
namespace {

CostKey part_of(const CostKey& key, const AttentionPart& part) {
  const auto [B, S, H, K, d, W] = key.dims;
  CostKey of_part = key;
  of_part.dims = {part.batch, S, H / K * part.kv_heads, part.kv_heads, d, W};
  return of_part;
}

CudnnAttention attention_of(const CostKey& key) {
  const auto [B, S, H, K, d, W] = key.dims;
  return {B, S, H, K, d};
}

Bytes plain_scratch(const CostKey& key, const DeviceTraits& device) {
  const auto [B, S, H, K, d, W] = key.dims;
  const bool keeps_sums = device.kind == DeviceKind::cpu && key.dtype != DType::fp32;
  return {4 * B * S * H + (keeps_sums ? 8 * B * S * K * d : 0)};
}

}  // namespace

bool is_fused_attention(const CostKey& key, const DeviceTraits& device) {
  const auto [B, S, H, K, d, W] = key.dims;
  return device.has_fused_attention && key.dtype == DType::bf16 && d % 8 == 0 && d <= 128 &&
         S > 1 && W == 0;
}

Bytes cudnn_workspace(const CostKey& key, int compute_capability, bool is_deterministic) {
  const auto [B, S, H, K, d, W] = key.dims;
  if (key.op == Operator::attention) return {cudnn_forward_engine_bytes(compute_capability)};
  const std::int64_t row_sums = 4 * B * S * H;
  const std::int64_t query_sums = is_deterministic ? 0 : 4 * B * S * H * d;
  return {row_sums + query_sums +
          cudnn_backward_engine_bytes(attention_of(key), compute_capability, is_deterministic)};
}

AttentionPart cudnn_backward_part(const CostKey& attention, const DeviceTraits& device) {
  const AttentionPart all{attention.dims[0], attention.dims[3]};
  if (!device.is_deterministic) return all;
  CostKey key = attention;
  key.op = Operator::attention_backward;
  const Bytes most = cudnn_workspace(key, device.compute_capability, false);
  for (const AttentionPart& part : {all, {1, all.kv_heads}}) {
    const Bytes asked = cudnn_workspace(part_of(key, part), device.compute_capability, true);
    if (asked <= most) return part;
  }
  return {1, 1};
}

std::string_view attention_kernel(const Job& job) {
  if (job.plan.operators != OperatorSetName::foreshard || job.device.kind != DeviceKind::cuda) {
    return "";
  }
  const DType type = job.plan.precision.param;
  const LlamaConfig& m = job.model;
  const BatchPlan& batch = job.plan.batch;
  const auto is_fused = [&](std::int64_t layer) {
    const std::int64_t window = m.window(layer, batch.sequence);
    const CostKey key{Operator::attention,
                      type,
                      type,
                      type,
                      {batch.micro_batch, batch.sequence, m.heads, m.kv_heads, m.head_dim, window}};
    return is_fused_attention(key, job.device);
  };
  if (!is_fused(0)) return "plain";  // and so of later layers, which have a window if the first has
  if (!is_fused(m.layers - 1)) {
    return job.device.is_deterministic ? "cuDNN, deterministic; plain within sliding windows"
                                       : "cuDNN; plain within sliding windows";
  }
  return job.device.is_deterministic ? "cuDNN, deterministic" : "cuDNN";
}

Bytes attention_backward_scratch(const CostKey& key, const DeviceTraits& device) {
  const Bytes plain = plain_scratch(key, device);
  if (!is_fused_attention(key, device)) return plain;
  const CostKey part = part_of(key, cudnn_backward_part(key, device));
  const Bytes cudnn = cudnn_workspace(part, device.compute_capability, device.is_deterministic);
  return std::max(cudnn, plain);
}

}  // namespace foreshard
