#include "simulator/predict/stream_progress.hpp"

#include <algorithm>

namespace foreshard::simulator {
namespace {

void join(std::vector<std::int64_t>& into, const std::vector<std::int64_t>& other) {
  for (std::size_t s = 0; s < other.size(); ++s) into[s] = std::max(into[s], other[s]);
}

}  // namespace

StreamProgress::StreamProgress(std::size_t streams, GpuTiming timing)
    : is_late_(timing == GpuTiming::late), streams_(streams, Clock(streams)), host_(streams) {}

void StreamProgress::begin_program(const Program& program) {
  if (is_late_) events_.assign(static_cast<std::size_t>(program.events), Clock());
}

const StreamProgress::Clock& StreamProgress::mark(std::size_t stream) {
  Clock& clock = streams_[stream];
  ++clock[stream];
  return clock;
}

void StreamProgress::record(EventId event, Stream stream) {
  if (!is_late_) return;
  events_[static_cast<std::size_t>(event)] = mark(static_cast<std::size_t>(stream));
}

void StreamProgress::wait(Stream stream, EventId event) {
  if (is_late_) join(at(stream), events_[static_cast<std::size_t>(event)]);
}

void StreamProgress::host_wait(EventId event) {
  if (is_late_) join(host_, events_[static_cast<std::size_t>(event)]);
}

std::int64_t StreamProgress::record(int stream) {
  if (!is_late_) return 0;
  const auto row = static_cast<std::size_t>(stream);
  marks_.push_back({row, mark(row)});
  return static_cast<std::int64_t>(marks_.size()) - 1;
}

bool StreamProgress::is_done(std::int64_t event) {
  if (!is_late_) return true;
  const auto& [stream, clock] = marks_[static_cast<std::size_t>(event)];
  return host_[stream] >= clock[stream];
}

void StreamProgress::wait(std::int64_t event) {
  if (is_late_) join(host_, marks_[static_cast<std::size_t>(event)].clock);
}

}  // namespace foreshard::simulator
