// The what-if view of an 8B on 8 ranks at 1920x1080: how long after a move of a control its answer
// is painted, and how long the window's thread is never free for input meanwhile.
#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include <benchmark/benchmark.h>

#include "gui/views/what_if/what_if_view.hpp"
#include "tests/benchmarks/gui_application.hpp"

namespace foreshard::gui {
namespace {

constexpr int kMoves = 200;

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

// Until the answer to the present settings is there and painted; the longest turns of the event
// loop go into `turns`.
void settle(const WhatIf& what_if, std::vector<double>& turns) {
  bool is_answered = false;
  do {
    is_answered = !what_if.is_stale();
    const auto turn = std::chrono::steady_clock::now();
    QApplication::processEvents();
    turns.push_back(ms_since(turn));
  } while (!is_answered);
}

void moved_control(benchmark::State& state) {
  benchmark_application();
  Session session;
  WhatIfView view(session);
  view.resize(1920, 1080);
  view.show();
  WhatIf& what_if = view.what_if();
  std::vector<double> turns, answers;
  settle(what_if, turns);
  what_if.pin();
  turns.clear();
  constexpr std::array values{"1", "2", "3", "4"};
  for ([[maybe_unused]] auto unused : state) {
    for (std::size_t move = 0; move < kMoves; ++move) {
      const auto start = std::chrono::steady_clock::now();
      what_if.set_value("batch.micro_batch", values[move % values.size()]);
      turns.push_back(ms_since(start));
      settle(what_if, turns);
      answers.push_back(ms_since(start));
    }
  }
  state.counters["answer_ms_median"] = percentile(answers, 0.5);
  state.counters["answer_ms_p95"] = percentile(answers, 0.95);
  state.counters["answer_ms_worst"] = percentile(answers, 1);
  const auto is_busy_turn = [](double ms) { return ms < 0.1; };  // others only wait
  turns.erase(std::remove_if(turns.begin(), turns.end(), is_busy_turn), turns.end());
  state.counters["input_ms_p95"] = percentile(turns, 0.95);
  state.counters["input_ms_p99"] = percentile(turns, 0.99);
  state.counters["input_ms_worst"] = percentile(turns, 1);
}
BENCHMARK(moved_control)
    ->Name("gui/what_if/moved_control")
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
}  // namespace foreshard::gui
