// The text of `fit --report`.
#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "models/base/figures.hpp"
#include "models/hardware/device_names.hpp"
#include "simulator/costs/cost_model.hpp"
#include "simulator/costs/data_sheet.hpp"
#include "simulator/costs/joined_errors.hpp"
#include "simulator/costs/key_facts.hpp"
#include "simulator/fit/fit.hpp"
#include "simulator/fit/fit_band.hpp"

namespace foreshard::simulator {
namespace {

// What accelerators reached of the data sheet's rates, over all launches and in the best case. Small
// operands may come from caches, which are faster than the memory.
void add_efficiencies(std::string& text, const ThreadCountCosts& regime, const Machine& machine) {
  struct Sum {
    double least = 0, taken = 0, best = 0;
  };
  std::map<std::pair<Operator, DType>, Sum> sums;
  for (const auto& [key, cost] : regime.measured) {
    if (is_transfer(key.op) || cost.ns <= 0) continue;
    Sum& sum = sums[{key.op, key.dtype}];
    const double least = least_ns(key, machine);
    sum.least += least * static_cast<double>(cost.count);
    sum.taken += cost.ns * static_cast<double>(cost.count);
    sum.best = std::max(sum.best, least / cost.ns);
  }
  text += formatted("  efficiency relative to the data sheet of %s:\n", machine.name.c_str());
  for (const auto& [what, sum] : sums) {
    text += formatted("  %-24s %-5s %6.1f %% on average, %5.1f %% at best\n",
                      std::string(name(what.first)).c_str(), std::string(name(what.second)).c_str(),
                      100 * sum.least / sum.taken, 100 * sum.best);
  }
}

void add_regime(std::string& text, const ThreadCountCosts& regime) {
  text += "\n" + plural(regime.threads, "thread") +
          " per rank: " + std::to_string(regime.measured.size()) + " cost keys measured\n";
  text += formatted("  %-24s %-5s %8s %12s %12s %12s %9s\n", "operator", "dtype", "samples",
                    "overhead us", "GFLOP/s", "GB/s", "residual");
  const auto rate = [](double ns) { return ns > 0 ? to_fixed(1 / ns, 1) : "not fitted"; };
  for (const OperatorFit& fit : regime.operators) {
    const std::string where = std::string(name(fit.op)) + (fit.on_host ? " (host)" : "");
    text +=
        formatted("  %-24s %-5s %8lld %12.1f %12s %12s %7.1f %%\n", where.c_str(),
                  std::string(name(fit.dtype)).c_str(), static_cast<long long>(fit.range.samples),
                  fit.overhead_ns / 1e3, rate(fit.ns_per_flop).c_str(),
                  rate(fit.ns_per_byte).c_str(), fit.residual * 100);
  }
  for (const CollectiveFit& fit : regime.collectives) {
    const std::string where = std::string(name(fit.op)) + " of " + std::to_string(fit.group) +
                              (fit.nodes > 1 ? " on " + std::to_string(fit.nodes) : "");
    text +=
        formatted("  %-24s %-5s %8lld %12.1f %12s %12s %7.1f %%\n", where.c_str(),
                  std::string(name(fit.dtype)).c_str(), static_cast<long long>(fit.range.samples),
                  fit.base_ns / 1e3, "", rate(fit.ns_per_byte).c_str(), fit.residual * 100);
  }
  const HostCosts& host = regime.host;
  text += formatted(
      "  host: launch %.2f us, collective %.2f us, alloc %.2f us; latency of a stream %.1f us, "
      "of an event %.1f us, of a host wait %.1f us; gap %.2f us; rendezvous %.1f us\n",
      static_cast<double>(host.issue_ns[static_cast<std::size_t>(Kind::launch)]) / 1e3,
      static_cast<double>(host.issue_ns[static_cast<std::size_t>(Kind::collective)]) / 1e3,
      static_cast<double>(host.issue_ns[static_cast<std::size_t>(Kind::alloc)]) / 1e3,
      static_cast<double>(host.launch_latency_ns) / 1e3,
      static_cast<double>(host.event_latency_ns) / 1e3,
      static_cast<double>(host.wait_latency_ns) / 1e3,
      static_cast<double>(host.stream_gap_ns) / 1e3, static_cast<double>(host.rendezvous_ns) / 1e3);
}

// Of a prediction, at the speed the machine had in the recording.
std::string error_of(std::int64_t predicted, const Calibration& run) {
  if (predicted == 0 || run.measured_ns == 0) return "-";
  const double measured = static_cast<double>(run.measured_ns);
  return signed_percent(static_cast<double>(predicted) * run.slowness - measured, measured);
}

// Of the logarithm of a step whose costs are sure, at 90 %.
double half_width_of(const CostTable& table) {
  const auto part = table.is_accelerator ? machine_reported_as(table.machine_name) : std::nullopt;
  if (!part) return table.band;
  const ErrorSpread errors = joined_errors(machine_costs(*part, 1, 1)->certainty.errors, table);
  return std::max(errors.least_half_width,
                  errors.quantile * std::hypot(errors.deviation, errors.beyond));
}

void add_recordings(std::string& text, const CostTable& table) {
  std::size_t widest = std::string_view("recording").size();
  for (const Calibration& c : table.calibration) widest = std::max(widest, c.trace.size());
  const int width = static_cast<int>(widest);
  text += formatted("\n%-*s %5s %12s %9s %9s %9s %9s\n", width, "recording", "ranks", "step ms",
                    "recorder", "speed", "fitted", "held out");
  bool is_checked = false;
  for (const Calibration& c : table.calibration) {
    is_checked = is_checked || c.held_out_ns != 0;
    text += formatted("%-*s %5d %12.2f %7.1f %% %9s %9s %9s\n", width, c.trace.c_str(), c.ranks,
                      static_cast<double>(c.measured_ns) / 1e6, 100 * c.recorder_share,
                      signed_percent(1 - c.slowness, c.slowness).c_str(),
                      error_of(c.fitted_ns, c).c_str(), error_of(c.held_out_ns, c).c_str());
  }
  if (table.slowness_spread > 0) {
    text += formatted(
        "the machine's speed varied by %.1f %% (standard deviation) between similar recordings\n",
        100 * table.slowness_spread);
  }
  text += formatted(
      "error band: with a probability of 90 %% a step takes up to %.1f %% more or as many times "
      "less than predicted%s\n",
      100 * std::expm1(half_width_of(table)),
      is_checked ? "" : " (assumed: no recorded step could be predicted to check it)");
  const BandCheck check = check_band(table);
  if (check.tried > 0) {
    text += formatted(
        "held out: each recording is predicted from the others alone; at their recorded speed, %d "
        "of "
        "%d are within the error band of the others\n",
        check.inside, check.tried);
  }
  if (table.uncertainty_scale > 1) {
    text += formatted("errors of costs without a recording were %.1f times the assumed errors\n",
                      table.uncertainty_scale);
  }
}

}  // namespace

std::string fit_report(const CostTable& table) {
  std::string text;
  if (table.is_accelerator) {
    text += formatted("device: %s (one per rank)\n",
                      table.machine_name.empty() ? "unnamed" : table.machine_name.c_str());
  } else {
    text += formatted("machine: %s, %d cores\n", table.machine_name.c_str(), table.cores);
  }
  if (table.memory_bytes_per_ns > 0) {
    text += formatted("shared memory bandwidth: %.1f GB/s\n", table.memory_bytes_per_ns);
  }
  if (const auto& host = table.pytorch_host) {
    text += formatted("host of PyTorch: %.2f times the catalogue's host times, by %lld ranges%s\n",
                      host->relative_time, static_cast<long long>(host->ranges),
                      host->is_alone ? "; no work of a device was recorded" : "");
    if (host->is_alone) return text;
  }
  for (const Oversubscription& c : table.crowding)
    if (!table.is_accelerator)
      text += formatted(
          "%s with %s each: tasks take %.2f times as long as alone%s\n",
          plural(c.ranks, "rank").c_str(), plural(c.threads, "thread").c_str(), c.factor,
          c.is_beyond_belief() ? formatted(", and whole steps %.2f times", c.missed).c_str() : "");
  if (const auto& variation = table.variation) {
    text += formatted(
        "%s compute the same within %.1f %% of each other, and %.1f %% more from step to step "
        "(standard deviations, %s)\n",
        plural(variation->ranks, "rank").c_str(), 100 * variation->between_ranks,
        100 * variation->between_steps, plural(variation->steps, "step").c_str());
  }
  const auto machine =
      table.is_accelerator ? machine_reported_as(table.machine_name) : std::nullopt;
  for (const ThreadCountCosts& regime : table.regimes) {
    add_regime(text, regime);
    if (machine) add_efficiencies(text, regime, *machine);
  }

  add_recordings(text, table);
  text +=
      "(recorder: share of the step spent on recording, subtracted; -: could not be simulated)\n";
  return text;
}

}  // namespace foreshard::simulator
