#include "simulator/costs/data_sheet.hpp"

#include <algorithm>

#include "simulator/costs/key_facts.hpp"

namespace foreshard::simulator {
namespace {

double least_collective_ns(const CostKey& key, const Machine& machine, std::int64_t nodes) {
  const auto group = static_cast<double>(std::max<std::int64_t>(1, key.dims[1]));
  const double bytes = payload_bytes(key);
  const double link = machine.link_bandwidth > 0 ? machine.link_bandwidth : machine.host_bandwidth;
  const double node = machine.network_bandwidth * static_cast<double>(machine.gpus_per_node);
  const auto spread = static_cast<double>(std::max<std::int64_t>(1, nodes));
  // Over several nodes a rank's traffic may take both ways.
  const double ways = link + (nodes > 1 ? machine.network_bandwidth : 0);
  const double within = bytes * (group - 1) / group / ways;
  const double between = node > 0 ? bytes * (spread - 1) / spread / node : 0;
  return 1e9 * std::max(within, between);
}

// Operations per second of the vendor's peak; fp32 products may run as TF32.
double peak_of_products(DType type, const Machine& machine) {
  if (type == DType::fp8) return machine.fp8_flops;
  const double peak = machine.peak_flops(type);
  return type == DType::fp32 ? std::max(peak, machine.tf32_flops) : peak;
}

}  // namespace

LeastRates least_rates(Operator op, DType type, const Machine& machine) {
  LeastRates rates;
  if (is_host_copy(op)) {
    // bytes_moved counts what is read and what is written; the link carries it once.
    if (machine.host_bandwidth > 0) rates.ns_per_byte = 0.5e9 / machine.host_bandwidth;
    return rates;
  }
  if (machine.memory_bandwidth > 0) rates.ns_per_byte = 1e9 / machine.memory_bandwidth;
  if (!is_arithmetic(op)) return rates;
  double peak = peak_of_products(type, machine);
  if (type == DType::bf16 && machine.measured_bf16_flops > 0) {
    peak = std::min(peak, machine.measured_bf16_flops);
  }
  if (peak > 0) rates.ns_per_flop = 1e9 / peak;
  return rates;
}

double least_ns(const CostKey& key, const Machine& machine, std::int64_t nodes) {
  if (is_collective(key.op)) return least_collective_ns(key, machine, nodes);
  const LeastRates rates = least_rates(key.op, key.dtype, machine);
  return std::max(rates.ns_per_flop * flops(key), rates.ns_per_byte * bytes_moved(key));
}

bool is_impossible(double ns, const CostKey& key, const Machine& machine, std::int64_t nodes) {
  constexpr double kDoubt = 0.97;  // clocks above the data sheet's, rounding of short times
  if (is_transfer(key.op)) {
    return ns < kDoubt * least_ns(key, machine, nodes);
  }
  const double peak = is_arithmetic(key.op) ? peak_of_products(key.dtype, machine) : 0;
  if (peak > 0 && ns < kDoubt * 1e9 / peak * flops(key)) return true;
  // Twice the cache: part of larger operands may still be in it.
  constexpr double kCacheOfParts = 50e6;  // where the catalogue has none: an H100's
  const auto known = static_cast<double>(machine.l2_cache.count);
  const double cache = 2 * (known > 0 ? known : kCacheOfParts);
  return bytes_moved(key) > cache &&
         ns < kDoubt * least_rates(key.op, key.dtype, machine).ns_per_byte * bytes_moved(key);
}

const Machine& fastest_machine() {
  static const Machine fastest = [] {
    Machine best;
    best.name = "the fastest GPU of the catalogue";
    best.network_bandwidth = 0;
    for (const Machine& machine : bundled_machines()) {
      for (const auto rate :
           {&Machine::memory_bandwidth, &Machine::bf16_flops, &Machine::fp16_flops,
            &Machine::fp8_flops, &Machine::tf32_flops, &Machine::fp32_flops,
            &Machine::link_bandwidth, &Machine::host_bandwidth, &Machine::network_bandwidth}) {
        best.*rate = std::max(best.*rate, machine.*rate);
      }
      best.l2_cache = Bytes{std::max(best.l2_cache.count, machine.l2_cache.count)};
    }
    return best;
  }();
  return fastest;
}

}  // namespace foreshard::simulator
