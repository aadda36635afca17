// Frames of the timeline over the fixed tour of zooms and pans, at 1920x1080 without a display: what
// median, 99th percentile and the worst of them take. And how long a file takes to open: read,
// analysed, laid out in rows.
//
// The argument is the number of events. 10^7 of them take 2 GiB, and so are asked for:
// FORESHARD_LARGE_BENCHMARKS=1 in the environment.
#include <QTemporaryDir>
#include <cstdlib>
#include <random>

#include <benchmark/benchmark.h>

#include "gui/views/timeline/frame_tour.hpp"
#include "tests/benchmarks/window_thread.hpp"
#include "traces/fst/fst_file.hpp"

namespace foreshard::gui {
namespace {

// Eight ranks that differ, on each the calls of a host thread, kernels, and collectives, in steps of a
// thousand kernels.
traces::Trace many_events(std::int64_t count) {
  constexpr std::int32_t kRanks = 8, kLanesOfRank = 3, kKernelsOfStep = 1000;
  traces::Trace trace;
  const auto text = [&](const std::string& t) { return trace.strings.intern(t); };
  const traces::StringId names[] = {text("matmul"), text("attention"), text("rms_norm"),
                                    text("all_gather"), text("reduce_scatter")};
  const traces::StringId phases[] = {text("forward"), text("backward")};
  std::vector<traces::StringId> units;
  for (int layer = 0; layer < 32; ++layer) units.push_back(text("layers." + std::to_string(layer)));
  std::mt19937 random(1);
  const auto below = [&](std::uint32_t most) { return static_cast<std::int64_t>(random() % most); };
  for (std::int32_t lane = 0; lane < kRanks * kLanesOfRank; ++lane) {
    const std::int32_t role = lane % kLanesOfRank;
    trace.lanes.push_back({lane / kLanesOfRank, role > 0,
                           text(role == 0   ? "host"
                                : role == 1 ? "compute"
                                            : "all_gather")});
    std::int64_t at = 0;
    for (std::int64_t n = 0; n < count / (kRanks * kLanesOfRank); ++n) {
      traces::Event event;
      event.lane = lane;
      event.kind = role == 0   ? traces::EventKind::host
                   : role == 1 ? traces::EventKind::compute
                               : traces::EventKind::communication;
      event.step = static_cast<std::int32_t>(n / kKernelsOfStep);
      event.name = names[role == 2 ? 3 + below(2) : below(3)];
      event.phase = phases[n % kKernelsOfStep * 2 / kKernelsOfStep];
      event.unit = units[static_cast<std::size_t>(n / 10) % units.size()];
      event.start_ns = at += below(2'000);
      event.end_ns = at += 200 + below(20'000);
      trace.events.push_back(event);
    }
  }
  return trace;
}

void timeline_frames(benchmark::State& state) {
  application();
  Session session;
  session.add(make_document(many_events(state.range(0)), Source::measured, {}, {}));
  TimelineView view(session);
  view.resize(1920, 1080);
  view.show();
  FrameTimes times;
  for ([[maybe_unused]] auto unused : state) times = tour_frames(view, session.axis());
  state.counters["frame_ms_median"] = times.at(0.5);
  state.counters["frame_ms_p99"] = times.at(0.99);
  state.counters["frame_ms_worst"] = times.at(1);
}

void timeline_opening(benchmark::State& state) {
  application();
  const QTemporaryDir folder;
  const std::string path = folder.filePath(QStringLiteral("many.fst")).toStdString();
  if (!traces::write_fst(path, many_events(state.range(0)))) return state.SkipWithError("no file");
  for ([[maybe_unused]] auto unused : state) {
    benchmark::DoNotOptimize(open_document(path));
  }
}

void frame_counts(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(100'000)->Arg(1'000'000);
  if (std::getenv("FORESHARD_LARGE_BENCHMARKS") != nullptr) benchmark->Arg(10'000'000);
}
BENCHMARK(timeline_frames)
    ->Name("gui/timeline/frames")
    ->Apply(frame_counts)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(timeline_opening)
    ->Name("gui/timeline/opening")
    ->Apply(frame_counts)
    ->Iterations(1)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace foreshard::gui
