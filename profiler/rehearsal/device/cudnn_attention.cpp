// The workspace of cuDNN's attention, which is a graph of products around a softmax: two forward,
// five backward; newer graphs have one operation for all of it.
#include "models/base/cudnn_attention.hpp"

#include <algorithm>
#include <optional>

#include "profiler/rehearsal/device/cudnn_descriptor.hpp"
#include "profiler/rehearsal/device/machine.hpp"
#include "profiler/rehearsal/device/notes.hpp"
#include "profiler/rehearsal/device/real_libraries.hpp"

namespace foreshard::rehearsal {
namespace {

constexpr int kKnownCudnn = 919;  // 9.19, whose sizes the formulas are
constexpr std::size_t kForwardProducts = 2, kBackwardProducts = 5;

struct Found {
  CudnnAttention attention;
  bool is_backward = false;
};

// All operations below a descriptor.
void find_operations(const Descriptor& descriptor, Descriptor::Parts& found) {
  for (const auto& [name, parts] : descriptor.parts) {
    if (name == CUDNN_ATTR_OPERATIONGRAPH_OPS)
      found.insert(found.end(), parts.begin(), parts.end());
    else
      for (const auto& part : parts) find_operations(*part, found);
  }
}

// [batch, heads, rows, columns] of a tensor of an operation; empty: it has none.
std::vector<std::int64_t> shape(const Descriptor& operation, cudnnBackendAttributeName_t name) {
  const auto at = operation.parts.find(name);
  if (at == operation.parts.end() || at->second.size() != 1) return {};
  const auto& dimensions = at->second.front()->dimensions;
  return dimensions.size() == 4 ? dimensions : std::vector<std::int64_t>{};
}

std::optional<Found> from_products(const Descriptor::Parts& products) {
  if (products.size() != kForwardProducts && products.size() != kBackwardProducts)
    return std::nullopt;
  Found found{{}, products.size() == kBackwardProducts};
  CudnnAttention& attention = found.attention;
  for (const auto& product : products) {
    const auto a = shape(*product, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
    const auto b = shape(*product, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
    if (a.empty() || b.empty()) return std::nullopt;
    attention.heads = std::max({attention.heads, a[1], b[1]});
    const std::int64_t fewest = std::min(a[1], b[1]);
    attention.kv_heads = attention.batch == 0 ? fewest : std::min(attention.kv_heads, fewest);
    attention.batch = a[0];
    if (attention.tokens != 0 || a[2] != b[3]) continue;  // not the scores of as many keys
    attention.tokens = a[2];
    attention.head_size = a[3];
  }
  return attention.tokens == 0 ? std::nullopt : std::optional(found);
}

#if CUDNN_VERSION >= 91900
std::optional<Found> from_whole(const Descriptor& operation) {
  const bool is_backward = operation.type == CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR;
  if (!is_backward && operation.type != CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR)
    return std::nullopt;
  const auto q = shape(operation, is_backward ? CUDNN_ATTR_OPERATION_SDPA_BWD_QDESC
                                              : CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC);
  const auto k = shape(operation, is_backward ? CUDNN_ATTR_OPERATION_SDPA_BWD_KDESC
                                              : CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC);
  if (q.empty() || k.empty() || q[2] != k[2]) return std::nullopt;
  return Found{{q[0], q[2], q[1], k[1], q[3]}, is_backward};
}
#else
std::optional<Found> from_whole(const Descriptor&) {
  return std::nullopt;
}
#endif

std::optional<Found> find_attention(const Descriptor& plan) {
  Descriptor::Parts operations, products;
  find_operations(plan, operations);
  for (const auto& operation : operations) {
    if (const auto whole = from_whole(*operation)) return whole;
    if (operation->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) products.push_back(operation);
  }
  return from_products(products);
}

}  // namespace

std::int64_t workspace_bytes(const Descriptor& plan) {
  const auto found = find_attention(plan);
  if (!found) {
    note_unknown_workspace("cuDNN");
    return 0;
  }
  if (cudnn_version() / 100 != kKnownCudnn)
    note("cuDNN's attention is taken to ask for the workspaces of cuDNN 9.19");
  const int capability = machine().capability;
  return found->is_backward ? cudnn_backward_engine_bytes(found->attention, capability, false)
                            : cudnn_forward_engine_bytes(capability);
}

}  // namespace foreshard::rehearsal
