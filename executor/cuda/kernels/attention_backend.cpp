#include "executor/cuda/kernels/attention_backend.hpp"

#include <algorithm>

#include "executor/cuda/kernels/cudnn/fused_attention.hpp"
#include "models/program/attention_workspace.hpp"

namespace foreshard::executor::cuda {
namespace {

// Of the operands that a launch of some heads of some sequences has.
class HeadsAt {
 public:
  HeadsAt(const CostKey& key, const AttentionPart& part, std::int64_t sequence,
          std::int64_t kv_head)
      : element_(item_size(key.dtype)) {
    const auto [B, S, H, K, d, W] = key.dims;
    const std::int64_t group = H / K;
    shape = {part.batch, S, group * part.kv_heads, part.kv_heads, d, H, K};
    queries_ = (sequence * S * H + kv_head * group) * d;
    keys_ = (sequence * S * K + kv_head) * d;
    rows_ = (sequence * H + kv_head * group) * S;
  }
  template <class Byte>
  auto* queries(std::span<Byte> operand) const {
    return operand.data() + element_ * queries_;
  }
  template <class Byte>
  auto* keys(std::span<Byte> operand) const {
    return operand.data() + element_ * keys_;
  }
  const float* rows(std::span<const std::byte> operand) const {
    return reinterpret_cast<const float*>(operand.data()) + rows_;
  }

  AttentionShape shape;

 private:
  std::int64_t element_, queries_ = 0, keys_ = 0, rows_ = 0;
};

class CudnnBackend final : public KernelBackend {
 public:
  CudnnBackend(std::unique_ptr<FusedAttention> cudnn, const DeviceTraits& traits)
      : cudnn_(std::move(cudnn)), traits_(traits) {}

  bool computes(const CostKey& key) const override {
    return (key.op == Operator::attention || key.op == Operator::attention_backward) &&
           is_fused_attention(key, traits_);
  }

  std::optional<std::string> run(const CudaLaunch& a) override {
    const Refusal refusal = a.key.op == Operator::attention ? forward(a) : backward(a);
    if (!refusal) return std::nullopt;
    std::string why = *refusal;
    std::ranges::replace(why, '\n', ' ');
    return "attention is computed by the plain kernel, not by cuDNN: " + why;
  }

 private:
  Refusal forward(const CudaLaunch& a) {
    const auto [B, S, H, K, d, W] = a.key.dims;
    return cudnn_->forward({B, S, H, K, d, H, K},
                           {a.reads[0].data(), a.reads[1].data(), a.reads[2].data(),
                            a.writes[0].data(), reinterpret_cast<float*>(a.writes[1].data())},
                           {a.tools.partials, StreamTools::kPartials * sizeof(double)},
                           a.tools.stream);
  }

  Refusal backward(const CudaLaunch& a) {
    const AttentionPart part = cudnn_backward_part(a.key, traits_);
    for (std::int64_t b = 0; b < a.key.dims[0]; b += part.batch) {
      for (std::int64_t head = 0; head < a.key.dims[3]; head += part.kv_heads) {
        const HeadsAt at(a.key, part, b, head);
        const Refusal refusal =
            cudnn_->backward(at.shape, traits_.is_deterministic,
                             {at.queries(a.reads[0]), at.queries(a.reads[1]), at.keys(a.reads[2]),
                              at.keys(a.reads[3]), at.queries(a.reads[4]), at.rows(a.reads[5]),
                              at.queries(a.writes[0]), at.keys(a.writes[1]), at.keys(a.writes[2])},
                             {a.writes[3].data(), a.writes[3].size()}, a.tools.stream);
        if (refusal) return refusal;
      }
    }
    return std::nullopt;
  }

  const std::unique_ptr<FusedAttention> cudnn_;
  const DeviceTraits traits_;
};

}  // namespace

std::unique_ptr<KernelBackend> make_attention_backend(const DeviceTraits& traits) {
  if (!traits.has_fused_attention) return nullptr;
  auto cudnn = load_fused_attention();
  if (cudnn == nullptr) return nullptr;
  return std::make_unique<CudnnBackend>(std::move(cudnn), traits);
}

}  // namespace foreshard::executor::cuda
