#include "tests/simulator/network/measured_collectives.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "models/program/bus_bandwidth.hpp"

namespace foreshard::simulator {
namespace {

constexpr double kSmallest = 256 * 1024;

std::optional<Operator> operator_named(const std::string& name) {
  if (name == "all_gather") return Operator::all_gather;
  if (name == "reduce_scatter") return Operator::reduce_scatter;
  if (name == "all_reduce") return Operator::all_reduce;
  return std::nullopt;
}

std::string first_word(std::string text) {
  text.erase(std::min(text.find(' '), text.size()));
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Of rows that were measured twice the slower ones were forced.
std::optional<Algorithm> forced_in(const InterconnectFact& fact, double best) {
  const bool is_forced = fact.notes.find("forced") != std::string::npos || fact.value < 0.97 * best;
  return is_forced ? algorithm_named(first_word(fact.algorithm)) : std::nullopt;
}

std::string question(const InterconnectFact& f) {
  return f.machine + f.collective + f.sources + std::to_string(f.gpus) + "/" +
         std::to_string(f.nodes) + "/" + std::to_string(f.node_bandwidth) + "/" +
         std::to_string(f.payload.count);
}

// A number that the fit may move.
struct Free {
  std::vector<double*> values;  // together
  double least, most;
  double start;
};

std::vector<Free> free_terms(CollectiveTerms& terms) {
  std::vector<Free> all{{{&terms.launch_us}, 5, 60, terms.launch_us},
                        {{&terms.filling_bytes}, 1e5, 1e9, terms.filling_bytes}};
  for (auto& [name, link] : terms.technologies) {
    all.push_back({{&link.efficiency}, 0.2, 0.98, link.efficiency});
    all.push_back(
        {{&link.pipeline_us, &link.startup_us, &link.hop_us}, 0.01, 1e4, link.pipeline_us});
  }
  return all;
}

double loss(std::span<const MeasuredCollective> rows, const CollectiveTerms& terms,
            const std::vector<Free>& free) {
  constexpr double kRounding = 0.1, kPrior = 0.01;
  double sum = 0;
  for (const MeasuredCollective& row : rows) {
    const double error = std::log1p(relative_error(row, terms));
    sum += row.weight * (std::hypot(error, kRounding) - kRounding);
  }
  for (const Free& term : free) {
    const double moved = std::log(*term.values.front() / term.start);
    sum += kPrior * moved * moved;
  }
  return sum;
}

}  // namespace

std::vector<MeasuredCollective> measured_collectives() {
  std::map<std::string, double> best;
  for (const InterconnectFact& fact : interconnect_facts()) {
    double& value = best[question(fact)];
    value = std::max(value, fact.value);
  }
  std::vector<MeasuredCollective> rows;
  std::map<std::string, double> rows_of;
  for (const InterconnectFact& fact : interconnect_facts()) {
    const auto op = operator_named(fact.collective);
    const auto bytes = static_cast<double>(fact.payload.count);
    if (fact.machine.empty() || !op || fact.meaning != "busbw" || bytes < kSmallest) continue;
    MeasuredCollective row;
    row.system = fact.system;
    row.source = fact.sources;
    row.machine = load_machine(fact.machine).value();
    row.op = *op;
    row.bytes = bytes;
    row.bus_gb_s = fact.value / 1e9;
    row.place = {fact.gpus, fact.link == "MNNVL" ? 1 : fact.nodes};
    if (row.place.nodes > 1) {
      row.network = fact.link;
      row.node_bandwidth = fact.node_bandwidth;
    }
    row.forced = forced_in(fact, best[question(fact)]);
    row.table = fact.system + ", " + fact.collective + ", " +
                (row.forced ? std::string(name_of(*row.forced)) : "") + ", " + fact.sources;
    rows_of[row.table] += 1;
    rows.push_back(std::move(row));
  }
  for (MeasuredCollective& row : rows) row.weight = 1 / rows_of[row.table];
  return rows;
}

std::vector<MeasuredCollective> with_networks(std::span<const MeasuredCollective> rows) {
  std::vector<MeasuredCollective> told;
  for (MeasuredCollective row : rows) {
    if (row.network.empty()) continue;
    row.machine.network = row.network;
    row.machine.network_bandwidth =
        row.node_bandwidth / static_cast<double>(row.machine.gpus_per_node);
    told.push_back(std::move(row));
  }
  return told;
}

double relative_error(const MeasuredCollective& row, const CollectiveTerms& terms) {
  const CollectiveNetwork network(row.machine, row.node_bandwidth, terms);
  const double ns = network.time(row.op, row.bytes, row.place, row.forced).ns;
  return bus_gb_s(row.op, row.bytes, row.place.ranks, ns) / row.bus_gb_s - 1;
}

ErrorQuantiles error_quantiles(std::span<const MeasuredCollective> rows,
                               const CollectiveTerms& terms) {
  std::vector<std::pair<double, double>> errors;
  double total = 0;
  for (const MeasuredCollective& row : rows) {
    errors.emplace_back(std::abs(relative_error(row, terms)), row.weight);
    total += row.weight;
  }
  std::sort(errors.begin(), errors.end());
  const auto quantile = [&](double part) {
    double at = 0;
    for (const auto& [error, weight] : errors) {
      at += weight;
      if (at >= part * total - 1e-9) return error;
    }
    return 0.0;
  };
  return {quantile(0.5), quantile(0.9)};
}

CollectiveTerms unfitted_terms() {
  CollectiveTerms terms = bundled_collective_terms();
  terms.launch_us = 20;
  terms.filling_bytes = 4 * 1024 * 1024;
  for (auto& [name, link] : terms.technologies) {
    link.efficiency = 0.75;
    if (link.startup_us > 0) {
      link.startup_us = 40;
      link.hop_us = 12;
      link.pipeline_us = 24;
    } else {
      link.pipeline_us = link.least_ranks > 0 ? 5 : 0.6;
    }
  }
  return terms;
}

CollectiveTerms fitted_terms(std::span<const MeasuredCollective> rows,
                             const CollectiveTerms& start) {
  CollectiveTerms terms = start;
  const std::vector<Free> free = free_terms(terms);
  std::vector<double> steps(free.size(), 0.3);
  double best = loss(rows, terms, free);
  constexpr int kRounds = 14;
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < free.size(); ++i) {
      const std::vector<double*>& values = free[i].values;
      bool is_better = false;
      for (const double way : {1.0, -1.0}) {
        std::vector<double> before;
        for (const double* value : values) before.push_back(*value);
        const double wanted =
            std::clamp(before[0] * std::exp(way * steps[i]), free[i].least, free[i].most);
        if (before[0] <= 0 || wanted == before[0]) continue;
        for (double* value : values) *value *= wanted / before[0];
        const double now = loss(rows, terms, free);
        is_better = now < best - 1e-9;
        if (is_better) {
          best = now;
          break;
        }
        for (std::size_t v = 0; v < values.size(); ++v) *values[v] = before[v];
      }
      steps[i] *= is_better ? 1.5 : 0.5;
    }
  }
  return terms;
}

}  // namespace foreshard::simulator
