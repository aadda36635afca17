// The text of `fit --report`.
#include <algorithm>
#include <cmath>
#include <cstdio>

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
  line(text, "machine: %s, %d cores", table.cpu_model.c_str(), table.cores);
  if (table.memory_bytes_per_ns > 0) {
    line(text, "memory bandwidth that tasks share: %.1f GB/s", table.memory_bytes_per_ns);
  }
  for (const Crowding& c : table.crowding)
    line(text, "%d ranks: tasks take %.2f times as long", c.ranks, c.factor);
  for (const Regime& regime : table.regimes) add_regime(text, regime);

  line(text, "\n%-32s %5s %12s %9s %9s", "recording", "ranks", "step ms", "fitted", "held out");
  int tried = 0, inside = 0;
  for (const Calibration& c : table.calibration) {
    line(text, "%-32s %5d %12.2f %9s %9s", c.trace.c_str(), c.ranks,
         static_cast<double>(c.measured_ns) / 1e6, percent(c.fitted_ns, c.measured_ns).c_str(),
         percent(c.held_out_ns, c.measured_ns).c_str());
    if (c.held_out_ns == 0) continue;
    ++tried;
    const double ratio = static_cast<double>(c.measured_ns) / static_cast<double>(c.held_out_ns);
    inside += std::abs(ratio - 1) <= table.band ? 1 : 0;
  }
  line(text, "band: a step takes the prediction +- %.1f%% with a probability of 90 %%",
       table.band * 100);
  if (tried > 0) {
    line(text, "held out: each recording predicted from the others alone; %d of %d inside the band",
         inside, tried);
  }
  line(text, "%s",
       "(\"-\": the other recordings say nothing about this one's threads, operators or types)");
  return text;
}

}  // namespace foreshard::simulator
