// Any bytes as a recording of PyTorch's profiler: an error, or a trace whose records refer to lanes
// and text that are there, in the order that Trace promises.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "traces/kineto/bytes.hpp"
#include "traces/kineto/recording.hpp"

namespace {

namespace traces = foreshard::traces;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const traces::Trace& trace) {
  const auto text = [&](traces::StringId id) {
    require(id >= 0 && static_cast<std::size_t>(id) < trace.strings.size());
  };
  for (const traces::Lane& lane : trace.lanes) text(lane.name);
  const traces::Event* last = nullptr;
  for (const traces::Event& event : trace.events) {
    require(event.lane >= 0 && static_cast<std::size_t>(event.lane) < trace.lanes.size());
    require(event.end_ns >= event.start_ns);
    require(last == nullptr || last->lane < event.lane ||
            (last->lane == event.lane && last->start_ns <= event.start_ns));
    for (const auto id : {event.name, event.phase, event.unit, event.cost_key}) text(id);
    last = &event;
  }
  for (const traces::MemoryEvent& event : trace.memory) {
    require(event.bytes >= 0);
    for (const auto id : {event.category, event.owner, event.phase, event.stack}) text(id);
  }
  for (const auto& [reason, records] : trace.dropped) require(records > 0 && !reason.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto bytes = traces::kineto::inflated(traces::kineto::bytes_in_memory(input));
  auto recording = traces::kineto::read_recording(*bytes, "rank1.json", {});
  if (!recording) {
    require(recording.error().text().find("rank1.json") != std::string::npos);
    return 0;
  }
  check(recording->trace);
  return 0;
}
