#include "profiler/rehearsal/device/counts.hpp"

#include <algorithm>
#include <mutex>
#include <sstream>

#include "profiler/rehearsal/device/interface.h"
#include "profiler/rehearsal/device/log.hpp"
#include "profiler/rehearsal/device/streams.hpp"

namespace foreshard::rehearsal {
namespace {

std::mutex mutex;
Counts& counts() {
  static auto& counts = *new Counts;
  return counts;
}

thread_local bool counts_waits = true;

template <class Change>
void change(cudaStream_t stream, Change change) {
  const std::lock_guard lock(mutex);
  const auto graph = captured_graph(stream);
  change(graph == nullptr ? counts() : graph->counts);
}

std::string as_json(const Counts& counts) {
  std::ostringstream json;
  json << "{\"launches\": " << counts.launches
       << ", \"matrix_products\": " << counts.matrix_products
       << ", \"cudnn_executions\": " << counts.cudnn_executions
       << ", \"cudnn_workspace_bytes\": " << counts.cudnn_workspace_bytes
       << ", \"copies\": " << counts.copies << ", \"collectives\": [";
  const char* separator = "";
  for (const auto& [what, calls] : counts.collectives) {
    json << separator << "{\"kind\": \"" << what.first << "\", \"ranks\": " << what.second
         << ", \"count\": " << calls.count << ", \"bytes\": " << calls.bytes << "}";
    separator = ", ";
  }
  json << "], \"host_reads\": " << counts.host_reads << ", \"host_waits\": " << counts.host_waits
       << "}";
  return json.str();
}

}  // namespace

void Counts::add(const Counts& others) {
  launches += others.launches;
  matrix_products += others.matrix_products;
  cudnn_executions += others.cudnn_executions;
  cudnn_workspace_bytes = std::max(cudnn_workspace_bytes, others.cudnn_workspace_bytes);
  copies += others.copies;
  host_reads += others.host_reads;
  host_waits += others.host_waits;
  for (const auto& [what, calls] : others.collectives) {
    collectives[what].count += calls.count;
    collectives[what].bytes += calls.bytes;
  }
}

void count_launch(cudaStream_t stream) {
  change(stream, [](Counts& counts) { ++counts.launches; });
}

void count_product(cudaStream_t stream) {
  change(stream, [](Counts& counts) { ++counts.matrix_products; });
}

void count_cudnn(cudaStream_t stream, std::int64_t workspace_bytes) {
  change(stream, [=](Counts& counts) {
    ++counts.cudnn_executions;
    counts.cudnn_workspace_bytes = std::max(counts.cudnn_workspace_bytes, workspace_bytes);
  });
}

void count_copy(cudaStream_t stream, bool is_read_by_host) {
  change(stream, [=](Counts& counts) {
    ++counts.copies;
    counts.host_reads += is_read_by_host;
  });
}

void count_collective(cudaStream_t stream, const char* kind, int ranks, std::size_t bytes) {
  change(stream, [=](Counts& counts) {
    Calls& calls = counts.collectives[{kind, ranks}];
    ++calls.count;
    calls.bytes += static_cast<std::int64_t>(bytes);
  });
}

void count_wait() {
  if (!counts_waits) return;
  const std::lock_guard lock(mutex);
  ++counts().host_waits;
}

void count_graph(const Counts& of_graph) {
  const std::lock_guard lock(mutex);
  counts().add(of_graph);
}

}  // namespace foreshard::rehearsal

const char* foreshard_rehearsal_counts() {
  using namespace foreshard::rehearsal;
  static thread_local std::string json;
  const std::lock_guard lock(mutex);
  json = as_json(counts());
  counts() = {};
  return json.c_str();
}

void foreshard_rehearsal_count_waits(int counts) {
  foreshard::rehearsal::counts_waits = counts != 0;
}

void foreshard_rehearsal_mark(const char* text) {
  foreshard::rehearsal::log_line({}, "MARK %s", text);
  foreshard::rehearsal::flush_log();
}
