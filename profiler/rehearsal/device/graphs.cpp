#include "profiler/rehearsal/device/graphs.hpp"

#include <cuda_runtime_api.h>

#include "profiler/rehearsal/device/cupti_records.hpp"
#include "profiler/rehearsal/device/devices.hpp"
#include "profiler/rehearsal/device/log.hpp"
#include "profiler/rehearsal/device/refusal.hpp"

namespace foreshard::rehearsal {

void refuse_nodes() {
  stop("nodes of CUDA graphs are not described; only what a captured graph does as a whole is");
}

}  // namespace foreshard::rehearsal

using namespace foreshard::rehearsal;

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete &of(graph);
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete &of(executable);
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long) {
  *executable = as_handle<cudaGraphExec_t>(of(graph));
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long flags) {
  return cudaGraphInstantiateWithFlags(executable, graph, flags);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const std::shared_ptr<Graph>& graph = of(executable);
  if (captured_graph(stream) != nullptr) stop("a CUDA graph within a CUDA graph is not described");
  log_line(record_graph(graph->kernels, stream), "GRAPH %p %llu", static_cast<void*>(stream),
           static_cast<unsigned long long>(graph->id));
  count_graph(graph->counts);
  work(stream, graph->nanoseconds);
  for (const auto& function : graph->host_functions) function();
  return cudaSuccess;
}

// Programs ask for the number alone, to see that a capture is not empty.
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  if (nodes != nullptr) refuse_nodes();
  const Counts& counts = of(graph)->counts;
  std::int64_t calls =
      counts.launches + counts.matrix_products + counts.cudnn_executions + counts.copies;
  for (const auto& [what, collective] : counts.collectives) calls += collective.count;
  *count = static_cast<std::size_t>(calls) + of(graph)->host_functions.size();
  return cudaSuccess;
}
