// The what-if view of an 8B on 8 ranks at 1920x1080: how long after a move of a control its answer
// is painted, and how long the window's thread is never free for input meanwhile.
#include <array>

#include <benchmark/benchmark.h>

#include "gui/views/what_if/what_if_view.hpp"
#include "tests/benchmarks/window_thread.hpp"

namespace foreshard::gui {
namespace {

constexpr int kMoves = 200;

void moved_control(benchmark::State& state) {
  application();
  Session session;
  WhatIfView view(session);
  view.resize(1920, 1080);
  view.show();
  WhatIf& what_if = view.what_if();
  std::vector<double> turns, answers;
  const auto is_answered = [&] { return !what_if.is_stale() && view.shows_answer(); };
  settle(is_answered, turns);
  what_if.pin();
  turns.clear();
  constexpr std::array values{"1", "2", "3", "4"};
  for ([[maybe_unused]] auto unused : state) {
    for (std::size_t move = 0; move < kMoves; ++move) {
      const auto start = std::chrono::steady_clock::now();
      what_if.set_value("batch.micro_batch", values[move % values.size()]);
      turns.push_back(ms_since(start));
      settle(is_answered, turns);
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
