#include "simulator/fit/rank_variation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "models/base/statistics.hpp"
#include "simulator/costs/key_facts.hpp"

namespace foreshard::simulator {
namespace {

struct ComputingTime {
  std::int64_t kernels = 0, ns = 0;
};

// By step, then rank.
using ComputingTimes = std::map<std::int32_t, std::map<std::int32_t, ComputingTime>>;

ComputingTimes computing_times(const traces::Trace& trace) {
  std::unordered_map<traces::StringId, bool> computes;  // by cost key's text
  const auto is_arithmetic_key = [&](traces::StringId id) {
    const auto [found, is_new] = computes.try_emplace(id, false);
    CostKey key;
    if (is_new) found->second = parse_cost_key(trace.strings[id], key) && is_arithmetic(key.op);
    return found->second;
  };
  ComputingTimes times;
  for (const traces::Event& event : trace.events) {
    const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(event.lane)];
    const bool is_kernel = lane.device && event.kind == traces::EventKind::compute;
    if (!is_kernel || !is_arithmetic_key(event.cost_key)) continue;
    ComputingTime& time = times[event.step][lane.rank];
    ++time.kernels;
    time.ns += event.end_ns - event.start_ns;
  }
  return times;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Sums of squares of a recording, with their degrees of freedom.
struct Squares {
  double ranks = 0, rank_degrees = 0;  // of the ranks' means
  double rest = 0, rest_degrees = 0;   // of what ranks and steps do not explain
};

Squares squares_of(const RankStepTimes& times) {
  const std::size_t ranks = times.size(), steps = times.front().size();
  std::vector<double> of_rank, of_step(steps);
  for (const auto& row : times) {
    of_rank.push_back(mean(row));
    for (std::size_t s = 0; s < steps; ++s) of_step[s] += row[s] / static_cast<double>(ranks);
  }
  const double all = mean(of_rank);
  Squares squares;
  squares.rank_degrees = static_cast<double>(ranks - 1);
  squares.rest_degrees = static_cast<double>((ranks - 1) * (steps - 1));
  for (std::size_t r = 0; r < ranks; ++r) {
    squares.ranks += (of_rank[r] - all) * (of_rank[r] - all);
    for (std::size_t s = 0; s < steps; ++s) {
      const double left = times[r][s] - of_rank[r] - of_step[s] + all;
      squares.rest += left * left;
    }
  }
  return squares;
}

}  // namespace

RankStepTimes rank_step_times(const traces::Trace& trace) {
  const ComputingTimes all = computing_times(trace);
  std::size_t ranks = 0;
  std::vector<std::int64_t> kernels;
  for (const auto& [step, of_rank] : all) {
    ranks = std::max(ranks, of_rank.size());
    for (const auto& [rank, time] : of_rank) kernels.push_back(time.kernels);
  }
  const std::int64_t usual = median(kernels);
  RankStepTimes times(ranks);
  for (const auto& [step, of_rank] : all) {
    const bool is_whole = of_rank.size() == ranks &&
                          std::all_of(of_rank.begin(), of_rank.end(), [&](const auto& entry) {
                            return entry.second.kernels == usual && entry.second.ns > 0;
                          });
    if (!is_whole) continue;
    std::size_t row = 0;
    for (const auto& [rank, time] : of_rank) {
      times[row++].push_back(std::log(static_cast<double>(time.ns)));
    }
  }
  return times;
}

std::optional<RankVariation> rank_variation(const std::vector<RankStepTimes>& recordings) {
  RankVariation variation;
  Squares sum;
  double rank_squares = 0;  // what the rest makes the ranks' means differ by is taken out
  for (const RankStepTimes& times : recordings) {
    if (times.size() < 2 || times.front().empty()) continue;
    const Squares squares = squares_of(times);
    const auto steps = static_cast<double>(times.front().size());
    const double by_rest =
        squares.rest_degrees > 0 ? squares.rest / squares.rest_degrees / steps : 0;
    rank_squares += squares.ranks - squares.rank_degrees * by_rest;
    sum.rank_degrees += squares.rank_degrees;
    sum.rest += squares.rest;
    sum.rest_degrees += squares.rest_degrees;
    variation.ranks = std::max<std::int64_t>(variation.ranks, std::ssize(times));
    variation.steps += std::ssize(times.front());
  }
  if (variation.ranks == 0) return {};
  variation.between_ranks = std::sqrt(std::max(0.0, rank_squares / sum.rank_degrees));
  if (sum.rest_degrees > 0) variation.between_steps = std::sqrt(sum.rest / sum.rest_degrees);
  return variation;
}

}  // namespace foreshard::simulator
