// Draws recordings as importers of CUDA's calls and work make them, in microseconds.
#pragma once

#include <cstdint>
#include <string>

#include "traces/trace.hpp"

namespace foreshard::simulator {

class DrawnRecording {
 public:
  DrawnRecording() { trace_.metadata["source"] = "kineto"; }

  int thread(std::int32_t rank = 0, const std::string& name = "python") {
    return lane(rank, false, name);
  }
  int stream(std::int32_t rank = 0, const std::string& name = "stream 7") {
    return lane(rank, true, name);
  }

  // A call of a thread; the number by which work refers to it.
  std::int64_t call(int thread, double start, double end,
                    const std::string& name = "cudaLaunchKernel") {
    const bool waits = name.find("Synchronize") != std::string::npos;
    add(thread, waits ? traces::EventKind::host_wait : traces::EventKind::runtime, start, end, name,
        ++calls_);
    return calls_;
  }

  // Work of a stream; without a call, its launch is not in the recording.
  void work(int stream, double start, double end, std::int64_t call, const std::string& name,
            traces::EventKind kind = traces::EventKind::compute, const std::string& cost_key = "") {
    add(stream, kind, start, end, name, call, cost_key);
  }

  void step(std::int32_t rank, std::int32_t step, double start, double end) {
    trace_.steps.push_back({rank, step, ns(start), ns(end), 0, 0});
  }

  traces::Trace trace() const {
    traces::Trace sorted = trace_;
    traces::sort(sorted);
    return sorted;
  }

  static std::int64_t ns(double us) { return static_cast<std::int64_t>(us * 1000); }

 private:
  int lane(std::int32_t rank, bool device, const std::string& name) {
    trace_.lanes.push_back({rank, device, trace_.strings.intern(name)});
    return static_cast<int>(trace_.lanes.size()) - 1;
  }

  void add(int lane, traces::EventKind kind, double start, double end, const std::string& name,
           std::int64_t correlation, const std::string& cost_key = "") {
    traces::Event event;
    event.start_ns = ns(start);
    event.end_ns = ns(end);
    event.lane = lane;
    event.kind = kind;
    event.name = trace_.strings.intern(name);
    event.cost_key = trace_.strings.intern(cost_key);
    event.correlation = correlation;
    trace_.events.push_back(event);
  }

  traces::Trace trace_;
  std::int64_t calls_ = 0;
};

}  // namespace foreshard::simulator
