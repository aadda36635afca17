#include "profiler/rehearsal/device/streams.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>

#include <cuda_runtime_api.h>

#include "profiler/rehearsal/device/cupti_records.hpp"
#include "profiler/rehearsal/device/devices.hpp"
#include "profiler/rehearsal/device/durations.hpp"
#include "profiler/rehearsal/device/log.hpp"
#include "profiler/rehearsal/device/machine.hpp"
#include "profiler/rehearsal/device/progress.hpp"

namespace foreshard::rehearsal {
namespace {

struct Stream {
  unsigned flags = 0;
  int priority = 0, device = 0;
  std::shared_ptr<Graph> graph;
  std::int64_t end = 0;  // of its work, in nanoseconds
  Progress progress;
};

struct Event {
  unsigned flags = 0;
  bool is_recorded = false;
  std::int64_t time = 0;
  Progress progress;
  std::weak_ptr<Graph> graph;  // it was last recorded while that was captured
};

std::mutex mutex;
std::atomic<int> captures{0};  // streams that are captured: none is the common case
std::uint64_t last_capture = 0;

// Never destroyed: libraries still call when the process ends.
auto& streams() {
  static auto& streams = *new std::unordered_map<cudaStream_t, Stream>;
  return streams;
}

auto& events() {
  static auto& events = *new std::unordered_map<cudaEvent_t, Event>;
  return events;
}

Stream& default_stream() {  // all of them
  static auto& stream = *new Stream;
  return stream;
}

// What the host has waited for, and until when.
struct Waited {
  std::int64_t time = 0;
  Progress progress;
};

Waited& waited() {
  static auto& waited = *new Waited;
  return waited;
}

bool is_default(cudaStream_t stream) {
  return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

// With the mutex; nullptr: no such stream, or a default one.
Stream* find(cudaStream_t stream) {
  const auto at = streams().find(stream);
  return at == streams().end() ? nullptr : &at->second;
}

Event* find(cudaEvent_t event) {
  const auto at = events().find(event);
  return at == events().end() ? nullptr : &at->second;
}

Stream& or_default(Stream* stream) {
  return stream == nullptr ? default_stream() : *stream;
}

void add_work(Stream* stream, std::int64_t nanoseconds) {
  std::int64_t& end = or_default(stream).end;
  end = std::max(end, waited().time) + nanoseconds;
}

// For a stream's work so far, or an event.
template <class Work>
void host_waits_for(const Work& work, std::int64_t time) {
  waited().time = std::max(waited().time, time);
  waited().progress.join(work.progress);
}

// As far as the host is told.
template <class Work>
bool is_done(const Work& work) {
  return !machine().is_late || waited().progress.includes(work.progress);
}

// Handles are numbers that no address of the process has, and are never used again.
template <class Handle>
Handle new_handle() {
  static std::uintptr_t last = 0x1000;
  return reinterpret_cast<Handle>(last += 16);
}

void log_stream(cudaStream_t stream, const Stream& made) {
  log_line({}, "STREAM %p %d", static_cast<void*>(stream), made.priority);
}

cudaError_t wait(OrderingCall call, const char* what, const void* handle = nullptr) {
  log_line(record_call(call), "WAIT %s %p", what, handle);
  count_wait();
  return cudaSuccess;
}

}  // namespace

void log_streams() {
  const std::lock_guard lock(mutex);
  for (const auto& [handle, made] : streams()) log_stream(handle, made);
}

std::shared_ptr<Graph> captured_graph(cudaStream_t stream) {
  if (captures == 0) return nullptr;
  const std::lock_guard lock(mutex);
  const Stream* found = find(stream);
  return found == nullptr ? nullptr : found->graph;
}

void work(cudaStream_t stream, std::int64_t nanoseconds) {
  const std::lock_guard lock(mutex);
  Stream* const found = find(stream);
  if (found != nullptr && found->graph != nullptr)
    found->graph->nanoseconds += nanoseconds;
  else
    add_work(found, nanoseconds);
}

cudaError_t create_stream(cudaStream_t* stream, unsigned flags, int priority) {
  if (stream == nullptr) return cudaErrorInvalidValue;
  const std::lock_guard lock(mutex);
  *stream = new_handle<cudaStream_t>();
  Stream& made = streams()[*stream];
  made.flags = flags;
  made.priority = std::clamp(priority, kGreatestPriority, kLeastPriority);
  made.device = current_device();
  log_stream(*stream, made);
  return cudaSuccess;
}

cudaError_t destroy_stream(cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  return streams().erase(stream) == 1 ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

bool is_stream(cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  return is_default(stream) || find(stream) != nullptr;
}

unsigned stream_flags(cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  const Stream* found = find(stream);
  return found == nullptr ? cudaStreamDefault : found->flags;
}

int stream_priority(cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  const Stream* found = find(stream);
  return found == nullptr ? kLeastPriority : found->priority;
}

int stream_device(cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  const Stream* found = find(stream);
  return found == nullptr ? current_device() : found->device;
}

cudaError_t query_stream(cudaStream_t stream) {
  if (!is_stream(stream)) return cudaErrorInvalidResourceHandle;
  if (captured_graph(stream) != nullptr) return cudaErrorStreamCaptureUnsupported;
  const std::lock_guard lock(mutex);
  return is_done(or_default(find(stream))) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t create_event(cudaEvent_t* event, unsigned flags) {
  if (event == nullptr) return cudaErrorInvalidValue;
  const std::lock_guard lock(mutex);
  *event = new_handle<cudaEvent_t>();
  events()[*event].flags = flags;
  return cudaSuccess;
}

cudaError_t destroy_event(cudaEvent_t event) {
  const std::lock_guard lock(mutex);
  return events().erase(event) == 1 ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t record_event(cudaEvent_t event, cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  Event* found = find(event);
  Stream* on = find(stream);
  if (found == nullptr || (on == nullptr && !is_default(stream)))
    return cudaErrorInvalidResourceHandle;
  log_line(record_call(OrderingCall::record_event), "RECORD %p %p", static_cast<void*>(stream),
           static_cast<void*>(event));
  found->is_recorded = true;
  found->graph = on == nullptr ? nullptr : on->graph;
  if (found->graph.expired()) add_work(on, durations::kEvent);
  Stream& recorded = or_default(on);
  recorded.progress.advance(on == nullptr ? nullptr : stream);
  found->time = recorded.end;
  found->progress = recorded.progress;
  return cudaSuccess;
}

cudaError_t query_event(cudaEvent_t event) {
  const std::lock_guard lock(mutex);
  const Event* found = find(event);
  if (found == nullptr) return cudaErrorInvalidResourceHandle;
  if (!found->graph.expired()) return cudaErrorCapturedEvent;
  return is_done(*found) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t wait_for_event(cudaStream_t stream, cudaEvent_t event) {
  const std::lock_guard lock(mutex);
  const Event* found = find(event);
  Stream* waits = find(stream);
  if (found == nullptr || (waits == nullptr && !is_default(stream)))
    return cudaErrorInvalidResourceHandle;
  log_line(record_call(OrderingCall::wait_for_event), "AWAIT %p %p", static_cast<void*>(stream),
           static_cast<void*>(event));
  const auto graph = found->graph.lock();
  if (graph == nullptr) {
    Stream& later = or_default(waits);
    later.end = std::max(later.end, found->time);
    later.progress.join(found->progress);
  }
  if (graph == nullptr || (waits != nullptr && waits->graph == graph)) return cudaSuccess;
  if (waits == nullptr) return cudaErrorStreamCaptureImplicit;
  if (waits->graph != nullptr) return cudaErrorStreamCaptureMerge;
  waits->graph = graph;
  ++captures;
  return cudaSuccess;
}

cudaError_t synchronize_event(cudaEvent_t event) {
  {
    const std::lock_guard lock(mutex);
    const Event* found = find(event);
    if (found == nullptr) return cudaErrorInvalidResourceHandle;
    if (!found->graph.expired()) return cudaErrorCapturedEvent;
    host_waits_for(*found, found->time);
  }
  return wait(OrderingCall::synchronize_event, "event", event);
}

cudaError_t elapsed_time(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  const std::lock_guard lock(mutex);
  const Event *begin = find(from), *end = find(to);
  for (const Event* event : {begin, end}) {
    if (milliseconds == nullptr || event == nullptr || !event->is_recorded ||
        (event->flags & cudaEventDisableTiming) != 0)
      return cudaErrorInvalidResourceHandle;
  }
  if (!is_done(*begin) || !is_done(*end)) return cudaErrorNotReady;
  *milliseconds = static_cast<float>(static_cast<double>(end->time - begin->time) / 1e6);
  return cudaSuccess;
}

cudaError_t synchronize_stream(cudaStream_t stream) {
  if (!is_stream(stream)) return cudaErrorInvalidResourceHandle;
  if (captured_graph(stream) != nullptr) return cudaErrorStreamCaptureUnsupported;
  {
    const std::lock_guard lock(mutex);
    const Stream& waited_for = or_default(find(stream));
    host_waits_for(waited_for, waited_for.end);
  }
  return wait(OrderingCall::synchronize_stream, "stream", stream);
}

cudaError_t synchronize_device() {
  {
    const std::lock_guard lock(mutex);
    host_waits_for(default_stream(), default_stream().end);
    for (const auto& [handle, stream] : streams()) host_waits_for(stream, stream.end);
  }
  return wait(OrderingCall::synchronize_device, "device");
}

cudaError_t begin_capture(cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  if (is_default(stream)) return cudaErrorStreamCaptureUnsupported;
  Stream* found = find(stream);
  if (found == nullptr) return cudaErrorInvalidResourceHandle;
  if (found->graph != nullptr) return cudaErrorIllegalState;
  found->graph = std::make_shared<Graph>();
  found->graph->id = ++last_capture;
  log_line({}, "CAPTURE %p %llu", static_cast<void*>(stream),
           static_cast<unsigned long long>(last_capture));
  ++captures;
  return cudaSuccess;
}

cudaError_t end_capture(cudaStream_t stream, std::shared_ptr<Graph>& graph) {
  const std::lock_guard lock(mutex);
  const Stream* found = find(stream);
  if (found == nullptr || found->graph == nullptr) return cudaErrorIllegalState;
  graph = found->graph;
  log_line({}, "CAPTURED %llu", static_cast<unsigned long long>(graph->id));
  for (auto& [handle, joined] : streams()) {
    if (joined.graph != graph) continue;
    joined.graph = nullptr;
    --captures;
  }
  for (auto& [handle, event] : events())
    if (event.graph.lock() == graph) event.graph.reset();
  return cudaSuccess;
}

cudaError_t call_on_host(cudaStream_t stream, std::function<void()> function) {
  if (!is_stream(stream)) return cudaErrorInvalidResourceHandle;
  if (const auto graph = captured_graph(stream))
    graph->host_functions.push_back(std::move(function));
  else
    function();
  return cudaSuccess;
}

}  // namespace foreshard::rehearsal
