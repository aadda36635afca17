// The memory view's curve of a million events: making it, and a frame of it 1600 pixels wide. The
// goals are 4 ms a frame, and 20 ms for who owns what at any moment.
#include <QGuiApplication>
#include <QImage>
#include <QPainter>
#include <random>

#include <benchmark/benchmark.h>

#include "gui/models/memory/rank_memory.hpp"
#include "gui/views/base/memory_plot.hpp"

namespace foreshard::gui {
namespace {

constexpr int kEvents = 1'000'000;

// Blocks of ten categories in segments of 1 GiB that come and go, some 5,000 of them live.
std::shared_ptr<const traces::Trace> many_events() {
  auto trace = std::make_shared<traces::Trace>();
  trace->lanes = {{0, true, trace->strings.intern("compute")}};
  std::vector<traces::StringId> categories, owners;
  for (const char* name :
       {"parameters", "gradients", "optimizer_states", "unsharded_parameters", "all_gather",
        "unsharded_gradients", "reduce_scatter", "activations", "temporaries", "inputs"}) {
    categories.push_back(trace->strings.intern(name));
  }
  for (int n = 0; n < 64; ++n) {
    owners.push_back(
        trace->strings.intern("model.layers." + std::to_string(n) + ".mlp: activation"));
  }
  constexpr std::int64_t kSegment = std::int64_t{1} << 30, kBlock = std::int64_t{1} << 22;
  constexpr int kSlots = 10000;
  std::int64_t now = 0;
  const auto add = [&](traces::MemoryAction action, std::int64_t address, std::int64_t bytes) {
    traces::MemoryEvent event;
    event.time_ns = now += 700;
    event.action = action;
    event.address = address;
    event.bytes = event.requested = bytes;
    event.lane = 0;
    trace->memory.push_back(event);
  };
  for (std::int64_t n = 0; n <= kSlots * kBlock / kSegment; ++n) {
    add(traces::MemoryAction::segment_alloc, (n + 1) * kSegment, kSegment);
  }
  std::mt19937 random(1);
  std::vector<bool> is_live(kSlots);
  while (trace->memory.size() < kEvents) {
    const auto slot = random() % kSlots;
    const auto action =
        is_live[slot] ? traces::MemoryAction::free_requested : traces::MemoryAction::alloc;
    add(action, kSegment + static_cast<std::int64_t>(slot) * kBlock, kBlock);
    trace->memory.update_last([&](traces::MemoryEvent& event) {
      event.category = categories[slot % categories.size()];
      event.owner = owners[slot % owners.size()];
    });
    is_live[slot] = !is_live[slot];
  }
  return trace;
}

const RankMemory& memory() {
  static const RankMemory memory({many_events(), nullptr, nullptr, false}, 0);
  return memory;
}

void make_memory_curve(benchmark::State& state) {
  const auto trace = many_events();
  for (auto _ : state) benchmark::DoNotOptimize(MemoryCurve(*trace, 0));
}
BENCHMARK(make_memory_curve)->Unit(benchmark::kMillisecond);

// `range(0)`: how many times closer than the whole.
void paint_memory_curve(benchmark::State& state) {
  int count = 0;
  qputenv("QT_QPA_PLATFORM", "offscreen");
  const QGuiApplication application(count, nullptr);
  MemoryPlot plot;
  plot.curve = memory().curve();
  plot.clock = MemoryClock::host_time;
  TimeAxis axis;
  axis.set_width(1600);
  axis.set_bounds(plot.curve->bounds(plot.clock));
  axis.show(axis.bounds());
  axis.zoom(static_cast<double>(state.range(0)), 800);
  QImage image(1600, 320, QImage::Format_ARGB32_Premultiplied);
  QPainter painter(&image);
  const QRectF area(image.rect());
  for (auto _ : state) {
    plot.paint_areas(painter, area, axis);
    plot.paint_reserved_line(painter, area, axis);
    plot.paint_labels(painter, area, axis);
  }
}
BENCHMARK(paint_memory_curve)->Arg(1)->Arg(30)->Arg(1000)->Unit(benchmark::kMillisecond);

void find_memory_moment(benchmark::State& state) {
  std::mt19937 random(3);
  memory();
  for (auto _ : state) {
    benchmark::DoNotOptimize(memory().moment(random() % memory().curve()->size()));
  }
}
BENCHMARK(find_memory_moment)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace foreshard::gui
