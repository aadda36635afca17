// Recordings and predictions as one kind of trace: Foreshard's own (.fst), PyTorch profiler's (JSON, or a
// folder of it), Nsight Systems exports and CUDA memory snapshots.
//
//   const auto trace = foreshard::api::Trace::open("run.fst");
//   if (!trace) return complain(trace.error().text());
//   trace->for_each_event([](const foreshard::api::Event& event) { ... });
//   const auto table = trace->query("SELECT kind, sum(duration) AS ns FROM EVENTS GROUP BY kind");
//
// Times are nanoseconds from the start of the run, on one clock for all ranks. Text is valid as long as its
// Trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <foreshard/result.hpp>

namespace foreshard::api {

// Words of `kind` and `action`, and what the figures mean: docs/file-format.md.
struct Event {
  std::int64_t start_ns = 0, end_ns = 0;
  int rank = 0, step = 0, micro_step = 0;  // steps count from 1; 0: outside of all
  bool on_device = false;                  // on a stream; otherwise on a host thread
  std::string_view lane;                   // that stream or thread
  std::string_view kind, name, phase, unit, cost_key;
  std::int64_t bytes = 0;
};

struct MemoryEvent {
  std::int64_t time_ns = 0;
  int rank = 0, step = 0;
  bool on_host = false;
  std::string_view action, stream, category, owner, phase;
  std::int64_t address = 0;
  std::int64_t bytes = 0;            // of the block or segment
  std::int64_t requested_bytes = 0;  // of that, what was requested
};

struct Step {
  int rank = 0, step = 0;
  std::int64_t start_ns = 0, end_ns = 0;
  double loss = 0, gradient_norm = 0;  // 0: not recorded
};

using Cell = std::variant<std::monostate, std::int64_t, double, std::string>;  // first: NULL
struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;
};

class Trace {
 public:
  // The content of the file decides what it is.
  static Result<Trace> open(const std::string& path);

  Trace(Trace&&) noexcept;
  Trace& operator=(Trace&&) noexcept;
  ~Trace();

  bool is_complete() const;  // false: the recording was cut short
  const std::map<std::string, std::string>& metadata() const;
  const std::map<std::string, std::int64_t>& dropped() const;  // records left out, by reason
  std::vector<Step> steps() const;                             // by rank, then by step
  std::size_t events() const;
  std::size_t memory_events() const;

  void for_each_event(
      const std::function<void(const Event&)>& visit) const;  // by lane, then by start
  void for_each_memory_event(
      const std::function<void(const MemoryEvent&)>& visit) const;  // by rank

  // One SELECT on the tables of docs/file-format.md, or a name of `foreshard query --list`. The first query
  // writes a copy of the trace into a temporary folder. Not for several threads at once.
  Result<Table> query(const std::string& sql) const;

 private:
  struct State;
  explicit Trace(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace foreshard::api
