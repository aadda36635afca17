// Streams and events: all work is done when the call that issues it returns, so that a stream is
// only its properties and the graph that it is captured into, and nobody ever waits. Where the GPU is
// late (machine.hpp) the host is not told so before it has waited for the work, or for something
// that comes after it.
//
// Times are simulated: a stream begins work when it has done what it was given before, and no earlier
// than the host has waited for; an event takes the stream's time, and carries it to streams that
// wait for it. Issuing work takes the host no time.
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
#include "profiler/rehearsal/device/kernels.hpp"

namespace foreshard::rehearsal {

// What launches of it do: counts, and kernels and functions of the host in the order in which they
// were captured.
struct Graph {
  std::uint64_t id = 0;  // of the capture
  Counts counts;
  std::int64_t nanoseconds = 0;  // of all its work, one after the other
  std::vector<NamedLaunch> kernels;
  std::vector<std::function<void()>> host_functions;
};

// The graph that the stream is captured into; nullptr: it is not captured.
std::shared_ptr<Graph> captured_graph(cudaStream_t stream);

// A line of the log for each.
void log_streams();

// The stream is given work of so many nanoseconds, or the graph that it is captured into.
void work(cudaStream_t stream, std::int64_t nanoseconds);

// All by handle; the runtime and the driver have the same streams and events.
cudaError_t create_stream(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t destroy_stream(cudaStream_t stream);
bool is_stream(cudaStream_t stream);
cudaError_t query_stream(cudaStream_t stream);
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

// Streams of the highest priority have the lowest number.
inline constexpr int kLeastPriority = 0, kGreatestPriority = -5;

}  // namespace foreshard::rehearsal
