// What a process has asked of its devices (interface.h says what each count means). Work that a
// stream captures goes to the graph that it becomes, and counts when that is launched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <driver_types.h>

namespace foreshard::rehearsal {

struct Calls {
  std::int64_t count = 0, bytes = 0;
};

struct Counts {
  std::int64_t launches = 0, matrix_products = 0, cudnn_executions = 0, copies = 0, host_reads = 0,
               host_waits = 0;
  std::int64_t cudnn_workspace_bytes = 0;                    // the largest
  std::map<std::pair<std::string, int>, Calls> collectives;  // by kind and ranks

  void add(const Counts& others);
};

void count_launch(cudaStream_t stream);
void count_product(cudaStream_t stream);
void count_cudnn(cudaStream_t stream, std::int64_t workspace_bytes);
void count_copy(cudaStream_t stream, bool is_read_by_host);
void count_collective(cudaStream_t stream, const char* kind, int ranks, std::size_t bytes);
void count_wait();
void count_graph(const Counts& of_graph);

}  // namespace foreshard::rehearsal
