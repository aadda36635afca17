// collectives_table [--fit]: the errors of predicted collectives against the published measurements
// of the catalogue, with the catalogue's terms and, for each source, with terms fitted without it.
// --fit prints the terms fitted to all, as rows of catalogue/collectives.csv.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string_view>

#include "tests/simulator/network/measured_collectives.hpp"

namespace foreshard::simulator {
namespace {

using Rows = std::vector<MeasuredCollective>;

void print(const char* what, const Rows& rows, const CollectiveTerms& terms) {
  const ErrorQuantiles errors = error_quantiles(rows, terms);
  std::printf("%-72.72s %4zu rows, median %5.1f %%, nine in ten %6.1f %%\n", what, rows.size(),
              100 * errors.median, 100 * errors.nine_in_ten);
}

void print_terms(const CollectiveTerms& terms) {
  std::printf("NCCL startup_us %.3g filling_mib %.3g\n", terms.launch_us,
              terms.filling_bytes / 1024 / 1024);
  for (const auto& [name, t] : terms.technologies) {
    std::printf("%s,%.3g,%.3g,%.3g,%.3g,%g\n", name.c_str(), t.efficiency, t.startup_us, t.hop_us,
                t.pipeline_us, t.least_ranks);
  }
}

// The weighted quantiles of errors that were made with different terms.
ErrorQuantiles left_out(const Rows& rows, const CollectiveTerms& start) {
  std::set<std::string> sources;
  for (const MeasuredCollective& row : rows) sources.insert(row.source);
  Rows held_out;
  std::vector<std::pair<double, double>> errors;
  double total = 0;
  for (const std::string& source : sources) {
    Rows others, own;
    for (const MeasuredCollective& row : rows) (row.source == source ? own : others).push_back(row);
    const CollectiveTerms terms = fitted_terms(others, start);
    print(source.c_str(), own, terms);
    for (const MeasuredCollective& row : own) {
      errors.emplace_back(std::abs(relative_error(row, terms)), row.weight);
      total += row.weight;
    }
  }
  std::sort(errors.begin(), errors.end());
  ErrorQuantiles all;
  double at = 0;
  for (const auto& [error, weight] : errors) {
    at += weight;
    if (at <= 0.5 * total) all.median = error;
    if (at <= 0.9 * total) all.nine_in_ten = error;
  }
  return all;
}

int run(bool fits) {
  const Rows rows = measured_collectives();
  const CollectiveTerms& terms = bundled_collective_terms();
  const Rows told = with_networks(rows);
  if (fits) {
    Rows both = rows;
    both.insert(both.end(), told.begin(), told.end());
    print_terms(fitted_terms(both, unfitted_terms()));
    return 0;
  }
  std::map<std::string, Rows> tables;
  for (const MeasuredCollective& row : rows) tables[row.table].push_back(row);
  for (const auto& [table, of_table] : tables) print(table.c_str(), of_table, terms);
  print("all, terms of the catalogue", rows, terms);
  print("between nodes, the network's technology told", told, terms);
  std::printf("\nEach source with terms fitted to the others:\n");
  const ErrorQuantiles errors = left_out(rows, unfitted_terms());
  std::printf("all: median %.1f %%, nine in ten %.1f %%\n", 100 * errors.median,
              100 * errors.nine_in_ten);
  return 0;
}

}  // namespace
}  // namespace foreshard::simulator

int main(int argc, char** argv) {
  return foreshard::simulator::run(argc > 1 && std::string_view(argv[1]) == "--fit");
}
