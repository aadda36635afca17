// Builds traces by hand, for tests whose arithmetic fits in a comment.
#pragma once

#include <string>

#include "traces/metadata.hpp"
#include "traces/trace.hpp"

namespace foreshard::profiler {

class HandMadeTrace {
 public:
  explicit HandMadeTrace(int ranks = 1, bool predicted = false) {
    traces::RunDescription run;
    run.ranks = ranks;
    run.predicted = predicted;
    trace.metadata = traces::run_metadata(run);
    for (int rank = 0; rank < ranks; ++rank) {
      trace.lanes.push_back({rank, false, trace.strings.intern("host")});
      trace.lanes.push_back({rank, true, trace.strings.intern("compute")});
      trace.lanes.push_back({rank, true, trace.strings.intern("all_gather")});
    }
  }

  // On stream 0 (compute) or 1 (all_gather) of a rank; stream -1 is the host.
  HandMadeTrace& event(int rank, int stream, traces::EventKind kind, std::int64_t start,
                       std::int64_t end, int step = 1, const std::string& name = "op",
                       const std::string& key = "") {
    return add(rank, stream, kind, start, end, step, name, key, 0);
  }

  // A call on the host from `call` on, 2 ns long, and the work it launched.
  HandMadeTrace& launch(int rank, int stream, traces::EventKind kind, std::int64_t call,
                        std::int64_t start, std::int64_t end, const std::string& name = "op") {
    ++launches_;
    add(rank, -1, traces::EventKind::runtime, call, call + 2, 1, "launch", "", launches_);
    return add(rank, stream, kind, start, end, 1, name, "", launches_);
  }

  HandMadeTrace& memory(int rank, traces::MemoryAction action, std::int64_t time,
                        std::int64_t address, std::int64_t bytes, const std::string& category = "",
                        const std::string& owner = "", int step = 1, bool on_host = false) {
    traces::MemoryEvent e;
    e.rank = rank;
    e.action = action;
    e.time_ns = time;
    e.address = address;
    e.bytes = bytes;
    e.category = trace.strings.intern(category);
    e.owner = trace.strings.intern(owner);
    e.step = step;
    e.on_host = on_host;
    e.phase = trace.strings.intern("forward");
    trace.memory.push_back(e);
    traces::sort(trace);
    return *this;
  }

  HandMadeTrace& step(int rank, int step, std::int64_t start, std::int64_t end) {
    trace.steps.push_back({rank, step, start, end, 0, 0});
    traces::sort(trace);
    return *this;
  }

  traces::Trace trace;

 private:
  HandMadeTrace& add(int rank, int stream, traces::EventKind kind, std::int64_t start,
                     std::int64_t end, int step, const std::string& name, const std::string& key,
                     std::int64_t correlation) {
    traces::Event e;
    e.start_ns = start;
    e.end_ns = end;
    e.lane = 3 * rank + 1 + stream;
    e.step = step;
    e.kind = kind;
    e.name = trace.strings.intern(name);
    e.stable_key = trace.strings.intern(key);
    e.correlation = correlation;
    trace.events.push_back(e);
    traces::sort(trace);
    return *this;
  }

  std::int64_t launches_ = 0;
};

}  // namespace foreshard::profiler
