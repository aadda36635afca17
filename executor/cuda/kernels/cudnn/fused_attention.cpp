// libforeshard_cudnn.so: attention by cuDNN, through cudnn-frontend's graphs.
#include "executor/cuda/kernels/cudnn/fused_attention.hpp"

#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
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

// Everything that a plan follows from.
struct Wanted {
  AttentionShape shape;
  bool is_backward = false, is_deterministic = false;

  auto operator<=>(const Wanted&) const = default;
};

void require(fe::error_t status) {
  if (status.is_bad()) throw std::runtime_error(status.get_message());
}

class AttentionGraph : public fe::graph::Graph {
 public:
  // As far as the choice of engines. Of the GPU that `handle` is for, or of a described one.
  AttentionGraph(const Wanted& wanted, cudnnHandle_t handle,
                 const std::shared_ptr<fe::DeviceProperties>& described = nullptr,
                 int compute_capability = 0)
      : shape_(wanted.shape) {
    set_io_data_type(fe::DataType_t::BFLOAT16)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    if (described) set_device_properties(described).set_sm_version(compute_capability);
    if (wanted.is_backward) {
      describe_backward(wanted.is_deterministic);
    } else {
      describe_forward();
    }
    require(validate());
    require(build_operation_graph(handle));
    require(create_execution_plans({fe::HeurMode_t::A}));
  }

  // Chooses among the plans that keep to the workspace, of which cudnn-frontend takes a part for itself.
  void build_within(std::int64_t workspace) {
    deselect_workspace_greater_than(workspace - own_workspace());
    require(check_support());
    require(build_plans());
  }

  // Of the plan that cuDNN prefers. That list is of the plans that are not barred, whatever its name says.
  std::int64_t preferred_workspace() {
    auto configurations = plans.get_barred_engine_configs();
    if (configurations.empty()) throw std::runtime_error("there is no plan");
    std::int64_t bytes = 0;
    require(fe::detail::get_workspace_size(configurations.front(), bytes));
    return own_workspace() + bytes;
  }

 private:
  // As long as no plan is built.
  std::int64_t own_workspace() const { return get_autotune_workspace_size(); }

  void describe_forward() {
    const Tensor q = input_rows(kQ, queries()), k = input_rows(kK, keys()),
                 v = input_rows(kV, keys());
    const auto [out, lse] = sdpa(q, k, v,
                                 fe::graph::SDPA_attributes()
                                     .set_name("attention")
                                     .set_generate_stats(true)
                                     .set_causal_mask(true)
                                     .set_attn_scale(scale()));
    rows(out, kOut, queries())->set_output(true);
    sums(lse)->set_output(true);
  }

  void describe_backward(bool is_deterministic) {
    const Tensor q = input_rows(kQ, queries()), k = input_rows(kK, keys()),
                 v = input_rows(kV, keys()), out = input_rows(kOut, queries()),
                 dout = input_rows(kDout, queries()), lse = sums(tensor({}));
    const auto [dq, dk, dv] = sdpa_backward(q, k, v, out, dout, lse,
                                            fe::graph::SDPA_backward_attributes()
                                                .set_name("attention_backward")
                                                .set_causal_mask(true)
                                                .set_deterministic_algorithm(is_deterministic)
                                                .set_attn_scale(scale()));
    rows(dq, kDq, queries())->set_output(true);
    rows(dk, kDk, keys())->set_output(true);
    rows(dv, kDv, keys())->set_output(true);
  }

  struct Heads {
    std::int64_t here, in_row;
  };
  Heads queries() const { return {shape_.heads, shape_.row_heads}; }
  Heads keys() const { return {shape_.kv_heads, shape_.row_kv_heads}; }
  float scale() const { return 1.0F / std::sqrt(static_cast<float>(shape_.head_dim)); }

  Tensor input_rows(Uid uid, const Heads& heads) { return rows(tensor({}), uid, heads); }
  Tensor rows(Tensor tensor, Uid uid, const Heads& heads) const {
    const std::int64_t d = shape_.head_dim, row = heads.in_row * d;
    tensor->set_uid(uid)
        .set_dim({shape_.batch, heads.here, shape_.sequence, d})
        .set_stride({shape_.sequence * row, d, row, 1});
    return tensor;
  }
  // Of a part of the heads there is one sequence, so these lie side by side, as cuDNN wants it.
  Tensor sums(Tensor tensor) const {
    const std::int64_t S = shape_.sequence;
    tensor->set_uid(kLse)
        .set_dim({shape_.batch, shape_.heads, S, 1})
        .set_stride({shape_.heads * S, S, 1, 1})
        .set_data_type(fe::DataType_t::FLOAT);
    return tensor;
  }

  const AttentionShape shape_;
};

// Of one GPU: the process' ranks on it take turns, as neither a handle nor every engine's plan may be used
// by two threads at once (cuDNN's release notes, limitations).
class Engine {
 public:
  // cuDNN takes its memory now, where it can; where not, launches are refused.
  void open() {
    const std::scoped_lock lock(mutex_);
    if (handle_ == nullptr && cudnnCreate(&handle_) != CUDNN_STATUS_SUCCESS) handle_ = nullptr;
  }

  Refusal run(const Wanted& wanted, Workspace workspace, cudaStream_t stream, Pack tensors) {
    const std::scoped_lock lock(mutex_);
    if (handle_ == nullptr) return "cuDNN cannot be used on this GPU";
    try {
      const Plan& plan = find(wanted, static_cast<std::int64_t>(workspace.bytes));
      if (plan.graph == nullptr) return plan.refusal;
      require(cudnnSetStream(handle_, stream), "cudnnSetStream");
      cuda::require(plan.graph->execute(handle_, tensors, workspace.memory));
      return std::nullopt;
    } catch (const std::exception& error) {
      return error.what();
    }
  }

 private:
  struct Plan {
    std::unique_ptr<AttentionGraph> graph;
    std::string refusal;  // without a graph
  };

  static void require(cudnnStatus_t status, const char* call) {
    if (status == CUDNN_STATUS_SUCCESS) return;
    throw std::runtime_error(std::string(call) + ": " + cudnnGetErrorString(status));
  }

  const Plan& find(const Wanted& wanted, std::int64_t workspace) {
    const auto [found, is_new] = plans_.try_emplace({wanted, workspace});
    Plan& plan = found->second;
    if (!is_new) return plan;
    try {
      auto graph = std::make_unique<AttentionGraph>(wanted, handle_);
      graph->build_within(workspace);
      plan.graph = std::move(graph);
    } catch (const std::exception& error) {
      plan.refusal = error.what();
    }
    return plan;
  }

  std::mutex mutex_;
  cudnnHandle_t handle_ = nullptr;
  std::map<std::pair<Wanted, std::int64_t>, Plan> plans_;
};

// It stays for as long as the process, as CUDA may be gone before statics are.
Engine& engine_of_current_device() {
  static std::mutex mutex;
  static auto& engines = *new std::map<int, Engine>;
  int device = 0;
  static_cast<void>(cudaGetDevice(&device));
  const std::scoped_lock lock(mutex);
  return engines[device];
}

class CudnnAttention final : public FusedAttention {
 public:
  CudnnAttention() { engine_.open(); }

  Refusal forward(const AttentionShape& shape, const AttentionForward& t, Workspace workspace,
                  cudaStream_t stream) override {
    return engine_.run({shape}, workspace, stream,
                       {{kQ, const_cast<void*>(t.q)},
                        {kK, const_cast<void*>(t.k)},
                        {kV, const_cast<void*>(t.v)},
                        {kOut, t.out},
                        {kLse, t.lse}});
  }

  Refusal backward(const AttentionShape& shape, bool is_deterministic, const AttentionBackward& t,
                   Workspace workspace, cudaStream_t stream) override {
    return engine_.run({shape, true, is_deterministic}, workspace, stream,
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
  Engine& engine_ = engine_of_current_device();
};

}  // namespace
}  // namespace foreshard::executor::cuda

extern "C" {

__attribute__((visibility("default"))) foreshard::executor::cuda::FusedAttention*
foreshard_make_fused_attention() {
  return new foreshard::executor::cuda::CudnnAttention;
}

__attribute__((visibility("default"))) std::int64_t foreshard_cudnn_workspace(
    const foreshard::executor::cuda::WorkspaceQuestion& question) {
  using namespace foreshard::executor::cuda;
  const std::string_view description = question.device;
  auto device = std::make_shared<fe::DeviceProperties>();
  require(device->deserialize({description.begin(), description.end()}));
  AttentionGraph graph({question.shape, question.is_backward, question.is_deterministic}, nullptr,
                       device, question.compute_capability);
  const std::int64_t bytes = graph.preferred_workspace();
  if (!question.compiles) return bytes;
  graph.build_within(bytes);
  return graph.get_workspace_size();
}

}  // extern "C"
