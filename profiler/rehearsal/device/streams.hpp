// Streams and events: all work is done when the call that issues it returns, so that a stream is
// only its properties and the graph that it is captured into, and an event only when it was
// recorded.
//
// A capture begins on one stream; a stream that waits for an event recorded in the capture joins
// it, and its end takes all of them out ("Cross-stream Dependencies and Events" in the CUDA C++
// Programming Guide). The default stream cannot be captured.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <driver_types.h>

#include "profiler/rehearsal/device/counts.hpp"

namespace foreshard::rehearsal {

// What launches of it do: counts, and functions of the host in the order in which they were
// captured.
struct Graph {
  std::uint64_t id = 0;  // of the capture
  Counts counts;
  std::vector<std::function<void()>> host_functions;
};

// The graph that the stream is captured into; nullptr: it is not captured.
std::shared_ptr<Graph> captured_graph(cudaStream_t stream);

// A line of the log for each.
void log_streams();

// All by handle; the runtime and the driver have the same streams and events.
cudaError_t create_stream(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t destroy_stream(cudaStream_t stream);
bool is_stream(cudaStream_t stream);
unsigned stream_flags(cudaStream_t stream);
int stream_priority(cudaStream_t stream);
int stream_device(cudaStream_t stream);

cudaError_t create_event(cudaEvent_t* event, unsigned flags);
cudaError_t destroy_event(cudaEvent_t event);
cudaError_t record_event(cudaEvent_t event, cudaStream_t stream);
cudaError_t query_event(cudaEvent_t event);
cudaError_t wait_for_event(cudaStream_t stream, cudaEvent_t event);
cudaError_t synchronize_event(cudaEvent_t event);
cudaError_t elapsed_time(float* milliseconds, cudaEvent_t from, cudaEvent_t to);
cudaError_t synchronize_stream(cudaStream_t stream);
cudaError_t synchronize_device();

cudaError_t begin_capture(cudaStream_t stream);
cudaError_t end_capture(cudaStream_t stream, std::shared_ptr<Graph>& graph);

// Now, or when the graph that the stream is captured into is launched.
cudaError_t call_on_host(cudaStream_t stream, std::function<void()> function);

// Between any two events of which both were recorded: nothing here takes time, and programs divide
// by it.
inline constexpr float kElapsedMilliseconds = 1.0f;
// Streams of the highest priority have the lowest number.
inline constexpr int kLeastPriority = 0, kGreatestPriority = -5;

}  // namespace foreshard::rehearsal
