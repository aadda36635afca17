// libforeshard_cudnn.so: attention by cuDNN, through cudnn-frontend's graphs.
#include "executor/cuda/kernels/cudnn/fused_attention.hpp"

#include <map>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include <cudnn_frontend.h>

namespace foreshard::executor::cuda {
namespace {

namespace fe = cudnn_frontend;
using fe::graph::Tensor_attributes;
using Tensor = std::shared_ptr<Tensor_attributes>;
using Pack = std::unordered_map<Tensor_attributes::uid_t, void*>;

enum Uid : Tensor_attributes::uid_t { kQ = 1, kK, kV, kOut, kLse, kDout, kDq, kDk, kDv };

[[noreturn]] void throw_refusal(const std::string& what) {
  throw std::runtime_error("cuDNN attention: " + what);
}

// A plan, or nothing where the workspace is not enough for any.
struct Plan {
  std::shared_ptr<fe::graph::Graph> graph;
  std::int64_t workspace = 0;
};

class Builder {
 public:
  explicit Builder(const AttentionShape& shape) : shape_(shape) {
    graph_->set_io_data_type(fe::DataType_t::BFLOAT16)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
  }

  Tensor rows(Uid uid, std::int64_t heads) { return describe_rows(graph_->tensor({}), uid, heads); }
  Tensor lse() {
    Tensor tensor = graph_->tensor({});
    return describe_lse(tensor);
  }
  void output_rows(const Tensor& tensor, Uid uid, std::int64_t heads) const {
    describe_rows(tensor, uid, heads)->set_output(true);
  }
  void output_lse(const Tensor& tensor) const { describe_lse(tensor)->set_output(true); }
  float scale() const { return 1.0F / std::sqrt(static_cast<float>(shape_.head_dim)); }
  fe::graph::Graph& graph() { return *graph_; }

  Plan build(cudnnHandle_t handle) {
    auto status = graph_->build(handle, {fe::HeurMode_t::A});
    if (status.is_bad()) throw_refusal(status.get_message());
    return {graph_, graph_->get_workspace_size()};
  }

 private:
  Tensor describe_rows(Tensor tensor, Uid uid, std::int64_t heads) const {
    const std::int64_t d = shape_.head_dim, row = heads * d;
    tensor->set_uid(uid)
        .set_dim({shape_.batch, heads, shape_.sequence, d})
        .set_stride({shape_.sequence * row, d, row, 1});
    return tensor;
  }
  Tensor describe_lse(Tensor tensor) const {
    const std::int64_t S = shape_.sequence;
    tensor->set_uid(kLse)
        .set_dim({shape_.batch, shape_.heads, S, 1})
        .set_stride({shape_.heads * S, S, 1, 1})
        .set_data_type(fe::DataType_t::FLOAT);
    return tensor;
  }

  const AttentionShape shape_;
  std::shared_ptr<fe::graph::Graph> graph_ = std::make_shared<fe::graph::Graph>();
};

Plan plan_forward(const AttentionShape& shape, cudnnHandle_t handle) {
  Builder b(shape);
  const Tensor q = b.rows(kQ, shape.heads), k = b.rows(kK, shape.kv_heads),
               v = b.rows(kV, shape.kv_heads);
  const auto [out, lse] = b.graph().sdpa(q, k, v,
                                         fe::graph::SDPA_attributes()
                                             .set_name("attention")
                                             .set_generate_stats(true)
                                             .set_causal_mask(true)
                                             .set_attn_scale(b.scale()));
  b.output_rows(out, kOut, shape.heads);
  b.output_lse(lse);
  return b.build(handle);
}

Plan plan_backward(const AttentionShape& shape, cudnnHandle_t handle) {
  Builder b(shape);
  const Tensor q = b.rows(kQ, shape.heads), k = b.rows(kK, shape.kv_heads),
               v = b.rows(kV, shape.kv_heads), out = b.rows(kOut, shape.heads),
               dout = b.rows(kDout, shape.heads), lse = b.lse();
  const auto [dq, dk, dv] = b.graph().sdpa_backward(q, k, v, out, dout, lse,
                                                    fe::graph::SDPA_backward_attributes()
                                                        .set_name("attention_backward")
                                                        .set_causal_mask(true)
                                                        .set_deterministic_algorithm(true)
                                                        .set_attn_scale(b.scale()));
  b.output_rows(dq, kDq, shape.heads);
  b.output_rows(dk, kDk, shape.kv_heads);
  b.output_rows(dv, kDv, shape.kv_heads);
  return b.build(handle);
}

class CudnnAttention final : public FusedAttention {
 public:
  CudnnAttention() {
    if (cudnnCreate(&handle_) != CUDNN_STATUS_SUCCESS) throw_refusal("cannot be used here");
  }
  ~CudnnAttention() override {
    forward_.clear();
    backward_.clear();
    static_cast<void>(cudnnDestroy(handle_));
  }

  bool forward(const AttentionShape& shape, const AttentionForward& t, Workspace workspace,
               cudaStream_t stream) override {
    const Plan& plan = find(forward_, shape, plan_forward);
    return run(plan, workspace, stream,
               {{kQ, const_cast<void*>(t.q)},
                {kK, const_cast<void*>(t.k)},
                {kV, const_cast<void*>(t.v)},
                {kOut, t.out},
                {kLse, t.lse}});
  }

  bool backward(const AttentionShape& shape, const AttentionBackward& t, Workspace workspace,
                cudaStream_t stream) override {
    const Plan& plan = find(backward_, shape, plan_backward);
    return run(plan, workspace, stream,
               {{kDout, const_cast<void*>(t.dout)},
                {kQ, const_cast<void*>(t.q)},
                {kK, const_cast<void*>(t.k)},
                {kV, const_cast<void*>(t.v)},
                {kOut, const_cast<void*>(t.out)},
                {kLse, const_cast<float*>(t.lse)},
                {kDq, t.dq},
                {kDk, t.dk},
                {kDv, t.dv}});
  }

 private:
  using Plans = std::map<AttentionShape, Plan>;

  const Plan& find(Plans& plans, const AttentionShape& shape,
                   Plan (*make)(const AttentionShape&, cudnnHandle_t)) {
    const auto found = plans.find(shape);
    return found != plans.end() ? found->second
                                : plans.emplace(shape, make(shape, handle_)).first->second;
  }

  bool run(const Plan& plan, Workspace workspace, cudaStream_t stream, Pack tensors) {
    if (plan.workspace > static_cast<std::int64_t>(workspace.bytes)) return false;
    if (cudnnSetStream(handle_, stream) != CUDNN_STATUS_SUCCESS) throw_refusal("cudnnSetStream");
    auto status = plan.graph->execute(handle_, tensors, workspace.memory);
    if (status.is_bad()) throw_refusal(status.get_message());
    return true;
  }

  cudnnHandle_t handle_ = nullptr;
  Plans forward_, backward_;
};

}  // namespace
}  // namespace foreshard::executor::cuda

extern "C" __attribute__((visibility("default"))) foreshard::executor::cuda::FusedAttention*
foreshard_make_fused_attention() {
  return new foreshard::executor::cuda::CudnnAttention;
}
