// The text of `fit --report`.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

#include "models/device_names.hpp"
#include "simulator/fit.hpp"

namespace foreshard::simulator {
namespace {

template <typename... Values>
void line(std::string& text, const char* format, Values... values) {
  char buffer[256];
  const int written = std::snprintf(buffer, sizeof buffer, format, values...);
  if (written > 0)
    text.append(buffer,
                std::min<std::size_t>(static_cast<std::size_t>(written), sizeof buffer - 1));
  text += '\n';
}

// The least time a launch could take by the device's data sheet. fp32 products may run as TF32.
double least_ns(const CostKey& key, const Machine& machine) {
  double peak = machine.peak_flops(key.dtype);
  if (key.dtype == DType::fp32) peak = std::max(peak, machine.tf32_flops);
  if (key.dtype == DType::fp16) peak = machine.fp16_flops;
  if (key.dtype == DType::fp8) peak = machine.fp8_flops;
  const bool is_arithmetic = is_matmul(key.op) || is_attention(key.op);
  const double compute = is_arithmetic && peak > 0 ? flops(key) / peak : 0;
  return 1e9 * std::max(compute, bytes_moved(key) / machine.memory_bandwidth);
}

// What accelerators reached of the data sheet's rates, over all launches and in the best case. Small
// operands may come from caches, which are faster than the memory.
void add_efficiencies(std::string& text, const Regime& regime, const Machine& machine) {
  struct Sum {
    double least = 0, taken = 0, best = 0;
  };
  std::map<std::pair<Operator, DType>, Sum> sums;
  for (const auto& [key, cost] : regime.measured) {
    const bool is_transfer = is_collective(key.op) || key.op == Operator::copy_host_to_device ||
                             key.op == Operator::copy_device_to_host;
    if (is_transfer || cost.ns <= 0) continue;
    Sum& sum = sums[{key.op, key.dtype}];
    const double least = least_ns(key, machine);
    sum.least += least * static_cast<double>(cost.count);
    sum.taken += cost.ns * static_cast<double>(cost.count);
    sum.best = std::max(sum.best, least / cost.ns);
  }
  line(text, "  of what the data sheet of %s allows:", machine.name.c_str());
  for (const auto& [what, sum] : sums) {
    line(text, "  %-24s %-5s %8.1f%% of the time needed, %.1f%% at best",
         std::string(name(what.first)).c_str(), std::string(name(what.second)).c_str(),
         100 * sum.least / sum.taken, 100 * sum.best);
  }
}

void add_regime(std::string& text, const Regime& regime) {
  line(text, "\n%d thread%s per rank: %zu cost keys measured", regime.threads,
       regime.threads == 1 ? "" : "s", regime.measured.size());
  line(text, "  %-24s %-5s %8s %12s %12s %12s %9s", "operator", "dtype", "samples", "overhead us",
       "GFLOP/s", "GB/s", "residual");
  const auto rate = [](double ns) { return ns > 0 ? 1 / ns : 0.0; };
  for (const OperatorFit& fit : regime.operators) {
    const std::string where = std::string(name(fit.op)) + (fit.on_host ? " (host)" : "");
    line(text, "  %-24s %-5s %8lld %12.1f %12.1f %12.1f %8.1f%%", where.c_str(),
         std::string(name(fit.dtype)).c_str(), static_cast<long long>(fit.samples),
         fit.overhead_ns / 1e3, rate(fit.ns_per_flop), rate(fit.ns_per_byte), fit.residual * 100);
  }
  for (const CollectiveFit& fit : regime.collectives) {
    const std::string where = std::string(name(fit.op)) + " of " + std::to_string(fit.group);
    line(text, "  %-24s %-5s %8lld %12.1f %12s %12.1f %8.1f%%", where.c_str(),
         std::string(name(fit.dtype)).c_str(), static_cast<long long>(fit.samples),
         fit.base_ns / 1e3, "", rate(fit.ns_per_byte), fit.residual * 100);
  }
  const HostCosts& host = regime.host;
  line(text,
       "  host: launch %.2f us, collective %.2f us, alloc %.2f us; waking a stream %.1f us, "
       "after an event %.1f us, the host %.1f us; gap %.2f us; rendezvous %.1f us",
       static_cast<double>(host.issue_ns[static_cast<std::size_t>(Kind::launch)]) / 1e3,
       static_cast<double>(host.issue_ns[static_cast<std::size_t>(Kind::collective)]) / 1e3,
       static_cast<double>(host.issue_ns[static_cast<std::size_t>(Kind::alloc)]) / 1e3,
       static_cast<double>(host.launch_latency_ns) / 1e3,
       static_cast<double>(host.event_latency_ns) / 1e3,
       static_cast<double>(host.wait_latency_ns) / 1e3,
       static_cast<double>(host.stream_gap_ns) / 1e3,
       static_cast<double>(host.rendezvous_ns) / 1e3);
}

std::string percent(std::int64_t predicted, std::int64_t measured) {
  if (predicted == 0 || measured == 0) return "-";
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%+.1f%%",
                (static_cast<double>(predicted) / static_cast<double>(measured) - 1) * 100);
  return buffer;
}

}  // namespace

std::string fit_report(const CostTable& table) {
  std::string text;
  if (table.is_accelerator) {
    line(text, "device: %s, one of each rank's own",
         table.cpu_model.empty() ? "not named" : table.cpu_model.c_str());
  } else {
    line(text, "machine: %s, %d cores", table.cpu_model.c_str(), table.cores);
  }
  if (table.memory_bytes_per_ns > 0) {
    line(text, "memory bandwidth that tasks share: %.1f GB/s", table.memory_bytes_per_ns);
  }
  for (const Crowding& c : table.crowding)
    if (!table.is_accelerator)
      line(text, "%d ranks: tasks take %.2f times as long", c.ranks, c.factor);
  const auto machine = table.is_accelerator ? machine_reported_as(table.cpu_model) : std::nullopt;
  for (const Regime& regime : table.regimes) {
    add_regime(text, regime);
    if (machine) add_efficiencies(text, regime, *machine);
  }

  line(text, "\n%-32s %5s %12s %9s %9s", "recording", "ranks", "step ms", "fitted", "held out");
  int tried = 0, inside = 0;
  bool is_checked = false;
  for (const Calibration& c : table.calibration) {
    is_checked = is_checked || c.fitted_ns != 0 || c.held_out_ns != 0;
    line(text, "%-32s %5d %12.2f %9s %9s", c.trace.c_str(), c.ranks,
         static_cast<double>(c.measured_ns) / 1e6, percent(c.fitted_ns, c.measured_ns).c_str(),
         percent(c.held_out_ns, c.measured_ns).c_str());
    if (c.held_out_ns == 0) continue;
    ++tried;
    const double ratio = static_cast<double>(c.measured_ns) / static_cast<double>(c.held_out_ns);
    inside += std::abs(ratio - 1) <= table.band ? 1 : 0;
  }
  line(text, "band: a step takes the prediction +- %.1f%% with a probability of 90 %%%s",
       table.band * 100,
       is_checked ? "" : " (assumed: no recording's step could be predicted to check it)");
  if (tried > 0) {
    line(text, "held out: each recording predicted from the others alone; %d of %d inside the band",
         inside, tried);
  }
  line(text, "%s",
       "(\"-\": the other recordings say nothing about this one's threads, operators or types)");
  return text;
}

}  // namespace foreshard::simulator
