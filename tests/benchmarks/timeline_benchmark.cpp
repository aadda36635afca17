// The timeline's rows: what it takes to make them of a trace, and to find what one frame draws of 30
// rows of 1,500 pixels, at several zooms. The goal of a frame is 2 ms.
#include <memory>

#include <benchmark/benchmark.h>

#include "gui/models/timeline/lane_set.hpp"

namespace foreshard::gui {
namespace {

constexpr int kLanes = 30, kPixels = 1500;

// Streams of one rank, with kernels of 2 to 60 us in bursts as long as a layer.
std::shared_ptr<const traces::Trace> streams(std::int64_t events) {
  auto trace = std::make_shared<traces::Trace>();
  const char* const kernels[] = {"matmul", "attention", "rms_norm", "swiglu", "rope"};
  for (std::int32_t lane = 0; lane < kLanes; ++lane) {
    trace->lanes.push_back({0, true, trace->strings.intern("stream " + std::to_string(lane))});
  }
  std::uint64_t random = 1;
  const auto below = [&](std::uint64_t bound) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>((random >> 33) % bound);
  };
  trace->events.reserve(static_cast<std::size_t>(events));
  for (std::int32_t lane = 0; lane < kLanes; ++lane) {
    std::int64_t at = 0;
    for (std::int64_t n = 0; n < events / kLanes; ++n) {
      traces::Event event;
      event.kind = traces::EventKind::compute;
      event.lane = lane;
      event.start_ns = at;
      event.end_ns = at + 2000 + below(58'000);
      event.name = trace->strings.intern(kernels[below(5)]);
      event.phase = trace->strings.intern(n / 1000 % 2 == 0 ? "forward" : "backward");
      event.unit = trace->strings.intern("model.layers." + std::to_string(n / 30 % 32));
      trace->events.push_back(event);
      at = event.end_ns + below(n % 30 == 0 ? 200'000 : 2000);
    }
  }
  return trace;
}

void make_rows(benchmark::State& state) {
  const auto trace = streams(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(LaneSet(trace).rows().size());
}
BENCHMARK(make_rows)
    ->Arg(100'000)
    ->Arg(1'000'000)
    ->Arg(10'000'000)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// The second argument: how many events a pixel shows, times 100.
void find_frame(benchmark::State& state) {
  const LaneSet lanes(streams(state.range(0)));
  const Row& longest = lanes.rows().back();
  const std::int64_t end = longest.span(longest.size() - 1).end_ns;
  const double ns_per_event = static_cast<double>(end) / static_cast<double>(longest.size());
  const double scale = std::min(ns_per_event * static_cast<double>(state.range(1)) / 100,
                                static_cast<double>(end) / kPixels);
  const auto width = static_cast<std::int64_t>(scale * kPixels);
  std::int64_t start = 0;
  for (auto _ : state) {
    for (std::size_t row = 0; row < lanes.rows().size(); ++row) {
      benchmark::DoNotOptimize(
          lanes.shapes(row, ColourBy::phase, {start, start + width}, scale).columns.size());
    }
    start = (start + width / 7) % std::max<std::int64_t>(end - width, 1);
  }
}
BENCHMARK(find_frame)
    ->ArgsProduct({{100'000, 1'000'000, 10'000'000}, {1, 20, 100, 400, 10'000, 1'000'000}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace foreshard::gui
