#include <optional>
#include <utility>

#include <foreshard/traces.hpp>

#include "simulator/api/error.hpp"
#include "traces/open/read_trace.hpp"
#include "traces/query/query_database.hpp"

namespace foreshard::api {

struct Trace::State {
  traces::Trace trace;
  std::optional<traces::QueryDatabase> database;  // once there was a query

  std::string_view text(traces::StringId id) const { return trace.strings[id]; }
};

Trace::Trace(std::unique_ptr<State> state) : state_(std::move(state)) {}
Trace::Trace(Trace&&) noexcept = default;
Trace& Trace::operator=(Trace&&) noexcept = default;
Trace::~Trace() = default;

Result<Trace> Trace::open(const std::string& path) {
  auto trace = traces::read_trace(path);
  if (!trace) return error_of(trace.error());
  return Trace(std::make_unique<State>(State{std::move(*trace), {}}));
}

bool Trace::is_complete() const {
  return state_->trace.complete;
}

const std::map<std::string, std::string>& Trace::metadata() const {
  return state_->trace.metadata;
}

const std::map<std::string, std::int64_t>& Trace::dropped() const {
  return state_->trace.dropped;
}

std::vector<Step> Trace::steps() const {
  std::vector<Step> steps;
  for (const traces::Step& step : state_->trace.steps) {
    steps.push_back(
        {step.rank, step.step, step.start_ns, step.end_ns, step.loss, step.gradient_norm});
  }
  return steps;
}

std::size_t Trace::events() const {
  return state_->trace.events.size();
}

std::size_t Trace::memory_events() const {
  return state_->trace.memory.size();
}

void Trace::for_each_event(const std::function<void(const Event&)>& visit) const {
  const State& state = *state_;
  for (const traces::Event event : state.trace.events) {
    const traces::Lane& lane = state.trace.lanes[static_cast<std::size_t>(event.lane)];
    visit({event.start_ns, event.end_ns, lane.rank, event.step, event.micro_step, lane.device,
           state.text(lane.name), traces::name(event.kind), state.text(event.name),
           state.text(event.phase), state.text(event.unit), state.text(event.cost_key),
           event.bytes});
  }
}

void Trace::for_each_memory_event(const std::function<void(const MemoryEvent&)>& visit) const {
  const State& state = *state_;
  for (const traces::MemoryEvent event : state.trace.memory) {
    const std::string_view stream =
        event.lane == traces::kNone
            ? std::string_view()
            : state.text(state.trace.lanes[static_cast<std::size_t>(event.lane)].name);
    visit({event.time_ns, event.rank, event.step, event.on_host, traces::name(event.action), stream,
           state.text(event.category), state.text(event.owner), state.text(event.phase),
           event.address, event.bytes, event.requested});
  }
}

Result<Table> Trace::query(const std::string& sql) const {
  std::optional<traces::QueryDatabase>& database = state_->database;
  if (!database) {
    auto created = traces::QueryDatabase::create(state_->trace);
    if (!created) return error_of(created.error());
    database = std::move(*created);
  }
  Table table;
  const auto done = database->run(
      sql, [&table](const std::vector<std::string>& columns) { table.columns = columns; },
      [&table](const traces::QueryRow& row) {
        table.rows.push_back(row);
        return true;
      });
  if (!done) return error_of(done.error());
  return table;
}

}  // namespace foreshard::api
