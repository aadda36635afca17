// What takes cuDNN's place on the emulated device: attention in fp32, row by row, that refuses what cuDNN refuses, and
// whose gradients of queries differ from launch to launch unless they are asked to be deterministic.
//
//   FORESHARD_HOST_CUDNN   "refuses": every launch is refused
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "executor/cuda/kernels/cudnn/fused_attention.hpp"
#include "models/base/dtype.hpp"
#include "models/base/float_formats.hpp"
#include "models/program/attention_workspace.hpp"
#include "tests/cuda/runtime/activities.hpp"

namespace foreshard::executor::cuda {
namespace {

constexpr int kEmulatedCapability = 90;

// Rows of an operand [B, S, row heads, d] in bf16.
struct Rows {
  const AttentionShape& shape;
  std::int64_t row_heads;

  std::vector<float> get(const void* operand, std::int64_t b, std::int64_t s,
                         std::int64_t head) const {
    std::vector<float> row;
    const auto* const at = static_cast<const std::uint16_t*>(operand) + offset(b, s, head);
    for (std::int64_t c = 0; c < shape.head_dim; ++c) row.push_back(bf16_to_float(at[c]));
    return row;
  }
  void set(void* operand, std::int64_t b, std::int64_t s, std::int64_t head,
           const std::vector<float>& row) const {
    auto* const at = static_cast<std::uint16_t*>(operand) + offset(b, s, head);
    for (std::size_t c = 0; c < row.size(); ++c) at[c] = float_to_bf16(row[c]);
  }
  std::int64_t offset(std::int64_t b, std::int64_t s, std::int64_t head) const {
    return ((b * shape.sequence + s) * row_heads + head) * shape.head_dim;
  }
};

float dot(const std::vector<float>& a, const std::vector<float>& b) {
  float sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}
void add(std::vector<float>& sum, float factor, const std::vector<float>& row) {
  for (std::size_t c = 0; c < row.size(); ++c) sum[c] += factor * row[c];
}

struct Pass {
  AttentionShape shape;
  Rows queries{shape, shape.row_heads}, keys{shape, shape.row_kv_heads};
  std::int64_t group = shape.heads / shape.kv_heads;
  float scale = 1.0F / std::sqrt(static_cast<float>(shape.head_dim));

  explicit Pass(const AttentionShape& of) : shape(of) {}
  Pass(const Pass& other) : Pass(other.shape) {}

  std::size_t row(std::int64_t b, std::int64_t head, std::int64_t s) const {
    return static_cast<std::size_t>((b * shape.row_heads + head) * shape.sequence + s);
  }
  template <class Callable>
  void each_query(Callable callable) const {
    for (std::int64_t b = 0; b < shape.batch; ++b) {
      for (std::int64_t h = 0; h < shape.heads; ++h) {
        for (std::int64_t s = 0; s < shape.sequence; ++s) callable(b, h, s);
      }
    }
  }

  void forward(const AttentionForward& t) const {
    each_query([&](std::int64_t b, std::int64_t h, std::int64_t s) {
      const auto q = queries.get(t.q, b, s, h);
      std::vector<float> scores, out(q.size());
      float largest = -INFINITY, total = 0;
      for (std::int64_t u = 0; u <= s; ++u) {
        scores.push_back(dot(q, keys.get(t.k, b, u, h / group)) * scale);
        largest = std::fmax(largest, scores.back());
      }
      for (float& x : scores) total += x = std::exp(x - largest);
      for (std::int64_t u = 0; u <= s; ++u) {
        add(out, scores[static_cast<std::size_t>(u)] / total, keys.get(t.v, b, u, h / group));
      }
      queries.set(t.out, b, s, h, out);
      t.lse[row(b, h, s)] = largest + std::log(total);
    });
  }

  void backward(const AttentionBackward& t, bool differs) const {
    const auto d = static_cast<std::size_t>(shape.head_dim);
    const auto all_keys = static_cast<std::size_t>(shape.batch * shape.kv_heads * shape.sequence);
    std::vector dk(all_keys, std::vector<float>(d)), dv = dk;
    const auto key = [this](std::int64_t b, std::int64_t head, std::int64_t s) {
      return static_cast<std::size_t>((b * shape.kv_heads + head) * shape.sequence + s);
    };
    each_query([&](std::int64_t b, std::int64_t h, std::int64_t s) {
      const auto q = queries.get(t.q, b, s, h), dout = queries.get(t.dout, b, s, h);
      const float delta = dot(dout, queries.get(t.out, b, s, h)), lse = t.lse[row(b, h, s)];
      std::vector<float> dq(d);
      for (std::int64_t u = 0; u <= s; ++u) {
        const auto k = keys.get(t.k, b, u, h / group);
        const float p = std::exp(dot(q, k) * scale - lse);
        const float ds = p * (dot(dout, keys.get(t.v, b, u, h / group)) - delta) * scale;
        add(dq, ds, k);
        add(dk[key(b, h / group, u)], ds, q);
        add(dv[key(b, h / group, u)], p, dout);
      }
      if (differs) dq[0] *= 1 + 0x1p-7F;
      queries.set(t.dq, b, s, h, dq);
    });
    for (std::int64_t b = 0; b < shape.batch; ++b) {
      for (std::int64_t h = 0; h < shape.kv_heads; ++h) {
        for (std::int64_t s = 0; s < shape.sequence; ++s) {
          keys.set(t.dk, b, s, h, dk[key(b, h, s)]);
          keys.set(t.dv, b, s, h, dv[key(b, h, s)]);
        }
      }
    }
  }
};

class StandIn final : public FusedAttention {
 public:
  Refusal forward(const AttentionShape& shape, const AttentionForward& t, Workspace workspace,
                  cudaStream_t stream) override {
    return run(Operator::attention, shape, false, {t.q, t.k, t.v, t.out}, workspace, stream,
               [shape, t] { Pass(shape).forward(t); });
  }

  Refusal backward(const AttentionShape& shape, bool is_deterministic, const AttentionBackward& t,
                   Workspace workspace, cudaStream_t stream) override {
    static std::atomic<unsigned> launches{0};
    const bool differs = !is_deterministic && launches++ % 2 == 1;
    return run(Operator::attention_backward, shape, is_deterministic,
               {t.dout, t.q, t.k, t.v, t.out, t.dq, t.dk, t.dv}, workspace, stream,
               [shape, t, differs] { Pass(shape).backward(t, differs); });
  }

 private:
  static Refusal run(Operator op, const AttentionShape& s, bool is_deterministic,
                     std::initializer_list<const void*> operands, Workspace workspace,
                     cudaStream_t stream, std::function<void()> compute) {
    if (const char* wish = std::getenv("FORESHARD_HOST_CUDNN");
        wish != nullptr && std::strcmp(wish, "refuses") == 0)
      return "the test wants no launch";
    if (s.sequence == 1) return "s_q = s_kv = 1 is not supported";
    for (const void* operand : operands) {
      if (reinterpret_cast<std::uintptr_t>(operand) % 16 != 0) return "a pointer is not aligned";
    }
    const CostKey key{op,
                      DType::bf16,
                      DType::bf16,
                      DType::bf16,
                      {s.batch, s.sequence, s.heads, s.kv_heads, s.head_dim}};
    const Bytes asked = cudnn_workspace(key, kEmulatedCapability, is_deterministic);
    if (asked.count > static_cast<std::int64_t>(workspace.bytes))
      return "no plan fits\nthe workspace";
    const auto error = host_cuda::issue(
        "cudaLaunchKernelExC", stream, {host_cuda::Work::Kind::kernel, "_Z9cudnn_mhav"},
        [asked, workspace, compute] {
          std::memset(workspace.memory, 0xff, static_cast<std::size_t>(asked.count));
          compute();
        });
    if (error != cudaSuccess) return "the launch failed";
    return std::nullopt;
  }
};

}  // namespace

}  // namespace foreshard::executor::cuda

extern "C" __attribute__((visibility("default"))) foreshard::executor::cuda::FusedAttention*
foreshard_make_fused_attention() {
  return new foreshard::executor::cuda::StandIn;
}
