// Memory and Compare of a trace with a million events, 700,000 of them of memory, at 1920x1080, in CPU
// time. The goals: the window's thread is free within 16 ms while a view opens, a frame of a pan or a
// zoom takes 8 ms, who owns what at another moment is painted after 20 ms, and a comparison is there
// after 2 s.
#include <QThread>
#include <random>

#include <benchmark/benchmark.h>

#include "gui/views/compare/compare_canvas.hpp"
#include "gui/views/compare/compare_view.hpp"
#include "gui/views/memory/memory_view.hpp"
#include "tests/benchmarks/long_run.hpp"
#include "tests/benchmarks/window_thread.hpp"

namespace foreshard::gui {
namespace {

// Until the view is no longer busy: what all threads computed, and the window's in its longest turn.
struct Opened {
  double all_ms = 0, longest_turn_ms = 0;
};

Opened open(View& view) {
  Opened opened;
  const double start = process_cpu_ms();
  bool was_busy = true;
  do {
    was_busy = view.is_busy();
    const double turn = thread_cpu_ms();
    QApplication::processEvents();
    opened.longest_turn_ms = std::max(opened.longest_turn_ms, thread_cpu_ms() - turn);
    if (was_busy) QThread::msleep(1);
  } while (was_busy);
  opened.all_ms = process_cpu_ms() - start;
  return opened;
}

void show(View& view) {
  view.resize(1600, 944);  // what a window of 1920x1080 leaves it
  view.show();
}

void count(benchmark::State& state, const char* name, const std::vector<double>& times) {
  state.counters[std::string(name) + "_median"] = percentile(times, 0.5);
  state.counters[std::string(name) + "_p95"] = percentile(times, 0.95);
  state.counters[std::string(name) + "_worst"] = percentile(times, 1);
}

// A tour of zooms into the trace, each with pans; after each the widget is painted.
std::vector<double> tour(TimeAxis& axis, QWidget& painted) {
  std::vector<double> frames;
  const auto frame = [&](const auto& move) {
    const double start = thread_cpu_ms();
    move();
    painted.repaint();
    frames.push_back(thread_cpu_ms() - start);
  };
  axis.show(axis.bounds());
  for (int zoom = 0; zoom < 20; ++zoom) {
    frame([&] { axis.zoom(1.5, axis.width() / 3); });
    for (int pan = 0; pan < 5; ++pan) frame([&] { axis.pan(zoom % 2 == 0 ? 40 : -40); });
  }
  return frames;
}

void memory_of_large_trace(benchmark::State& state) {
  application();
  Session session;
  MemoryView view(session);
  show(view);
  const DocumentPtr document = long_run();
  for ([[maybe_unused]] auto unused : state) {
    session.add(document);
    const Opened opened = open(view);
    state.counters["open_ms"] = opened.all_ms;
    state.counters["open_longest_turn_ms"] = opened.longest_turn_ms;
    count(state, "frame_ms", tour(session.axis(), *view.canvas().viewport()));
    std::mt19937 random(1);
    std::vector<double> clicks, turns;
    session.axis().show(session.everything());
    for (int n = 0; n < 100; ++n) {
      const double start = process_cpu_ms();
      const auto at = static_cast<std::int64_t>(random() % 29'000) * 1'000'000;
      session.selection().set_cursor(session.everything().start_ns + at);
      turns.push_back(open(view).longest_turn_ms);
      view.repaint();
      clicks.push_back(process_cpu_ms() - start);
    }
    count(state, "click_ms", clicks);
    state.counters["click_longest_turn_ms"] = percentile(turns, 1);
  }
}
BENCHMARK(memory_of_large_trace)
    ->Name("gui/memory/large_trace")
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

// All of it in one step, as recordings of others may have it.
DocumentPtr in_one_step(const DocumentPtr& document) {
  traces::Trace trace = *document->trace;
  trace.events.update_all([](traces::Event& event) { event.step = 1; });
  const traces::Step first = trace.steps.front(), last = trace.steps.back();
  trace.steps = {{first.rank, 1, first.start_ns, last.end_ns, 0, 0}};
  return make_document(std::move(trace), document->source, document->title, {});
}

void comparison_of_large_traces(benchmark::State& state, bool is_one_step) {
  application();
  Session session;
  CompareView view(session);
  show(view);
  const DocumentPtr document = is_one_step ? in_one_step(long_run()) : long_run();
  session.add(document);
  for ([[maybe_unused]] auto unused : state) {
    session.add(document);
    const Opened opened = open(view);
    state.counters["open_ms"] = opened.all_ms;
    state.counters["open_longest_turn_ms"] = opened.longest_turn_ms;
    auto& canvas = *view.findChild<CompareCanvas*>();
    count(state, "frame_ms", tour(canvas.axis(), *canvas.viewport()));
  }
}
BENCHMARK_CAPTURE(comparison_of_large_traces, many_steps, false)
    ->Name("gui/compare/large_traces")
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(comparison_of_large_traces, one_step, true)
    ->Name("gui/compare/large_step")
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
}  // namespace foreshard::gui
